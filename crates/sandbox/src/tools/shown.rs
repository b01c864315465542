//! How paths are shown: so that what is shown is the same path again, where a text can be.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::Serialize;

/// A path, as a text.
pub(super) struct Shown {
    pub(super) path: String,
    pub(super) spelling: Spelling,
}

/// Whether a text is the path itself.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Spelling {
    Exact,
    /// The path is not UTF-8, and `\xNN` stands for each byte that is none. Tools that take the text look for a file of that name.
    Escaped,
}

impl Spelling {
    /// Returns whether the text is the path itself.
    pub fn is_exact(&self) -> bool {
        *self == Self::Exact
    }
}

impl Shown {
    /// Shows a path: from the working directory on, where it lies in that.
    pub(super) fn new(path: &Path, workdir: &Path) -> Self {
        let relative = path.strip_prefix(workdir).unwrap_or(path).as_os_str().as_bytes();
        if relative.is_empty() {
            return Self { path: ".".to_owned(), spelling: Spelling::Exact };
        }
        // Tools take no `~` at the beginning for a name.
        let mut path = if relative.starts_with(b"~") { "./".to_owned() } else { String::new() };
        let mut spelling = Spelling::Exact;
        for chunk in relative.utf8_chunks() {
            path.push_str(chunk.valid());
            for byte in chunk.invalid() {
                // Writing to a string cannot fail.
                let _ = write!(path, "\\x{byte:02x}");
                spelling = Spelling::Escaped;
            }
        }
        Self { path, spelling }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn what_is_shown_is_the_path_again_or_says_that_it_is_not() {
        let shown = |path: &[u8]| {
            let Shown { path, spelling } = Shown::new(Path::new(OsStr::from_bytes(path)), Path::new("/w"));
            (path, spelling)
        };
        assert_eq!(shown(b"/w"), (".".to_owned(), Spelling::Exact));
        assert_eq!(shown(b"/w/a/b"), ("a/b".to_owned(), Spelling::Exact));
        assert_eq!(shown(b"/tmp/a"), ("/tmp/a".to_owned(), Spelling::Exact));
        assert_eq!(shown(b"/w/~x"), ("./~x".to_owned(), Spelling::Exact));
        assert_eq!(shown(b"/w/a\xff\n"), ("a\\xff\n".to_owned(), Spelling::Escaped));
        assert_eq!(shown(b"/w/a\xef\xbf\xbd"), ("a\u{fffd}".to_owned(), Spelling::Exact));
    }
}
