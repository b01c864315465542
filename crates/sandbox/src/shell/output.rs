//! What a command has written, as text that nothing of it is lost in.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::host::capture::Captured;

/// A stream as text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShellText {
    /// The text. Where the bytes are no UTF-8, U+FFFD stands for what is none, and `base64` has the bytes.
    pub text: String,
    /// The exact bytes, where they are no UTF-8.
    pub base64: Option<String>,
    /// How many bytes were written in all.
    pub total: u64,
    pub is_truncated: bool,
}

impl From<Captured> for ShellText {
    fn from(captured: Captured) -> Self {
        let Captured { mut bytes, total, truncated } = captured;
        if truncated {
            bytes.truncate(whole(&bytes));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Self { text, base64: None, total, is_truncated: truncated },
            Err(error) => Self {
                text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
                base64: Some(STANDARD.encode(error.as_bytes())),
                total,
                is_truncated: truncated,
            },
        }
    }
}

/// Returns how many of these bytes there are without a character at the end that was cut.
pub(super) fn whole(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], truncated: bool) -> ShellText {
        Captured { bytes: bytes.to_vec(), total: 99, truncated }.into()
    }

    #[test]
    fn text_is_text_and_has_no_second_form() {
        assert_eq!(
            text("grüße".as_bytes(), false),
            ShellText { text: "grüße".into(), base64: None, total: 99, is_truncated: false }
        );
    }

    #[test]
    fn a_character_that_the_limit_has_cut_is_left_out_and_is_not_called_binary() {
        let cut = text(&"grüße".as_bytes()[..3], true);
        assert_eq!((cut.text.as_str(), cut.base64, cut.is_truncated), ("gr", None, true));
    }

    #[test]
    fn what_is_no_text_keeps_its_bytes() {
        let binary = text(b"\xff\x00a", false);
        assert_eq!(binary.text, "\u{fffd}\0a");
        assert_eq!(STANDARD.decode(binary.base64.unwrap()).unwrap(), b"\xff\0a");
        // A cut character at the end that was not cut by the limit is what the command has written.
        assert!(text(b"a\xc3", false).base64.is_some());
    }
}
