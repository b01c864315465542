//! Values that engines read as a line of CSV: a path in one may hold commas and quotes.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Quotes one field of a line of CSV.
pub(crate) fn field(key: &str, path: &Path) -> Vec<u8> {
    let mut field = [b"\"", key.as_bytes(), b"="].concat();
    for byte in path.as_os_str().as_bytes() {
        field.extend(if *byte == b'"' { &b"\"\""[..] } else { std::slice::from_ref(byte) });
    }
    field.push(b'"');
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_and_quotes_stay_in_their_field() {
        assert_eq!(field("src", Path::new("/a,b/\"c\"")), br#""src=/a,b/""c""""#);
    }
}
