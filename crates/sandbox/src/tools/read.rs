//! `read`: the text of a file, or an image or document as what it is.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};

use policy::query::{Denial, FileKind, Resolved, TextFault};
use policy::rules::path::PathAccess;
use policy::text::escape;
use serde::Serialize;

use super::file_tools::{FileTools, MAX_FILE_BYTES, ToolError};
use super::place::Opened;

/// How much of a text is read, unless somebody says otherwise.
pub const MAX_CHARS: usize = 20_000;

/// Which part of a text is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ReadOptions {
    /// How many characters are left out at its beginning.
    pub offset: usize,
    /// How many are returned at most.
    pub max_chars: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { offset: 0, max_chars: MAX_CHARS }
    }
}

/// What a file has.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Content {
    Text(Text),
    Media(Media),
}

/// A part of a text.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Text {
    pub text: String,
    /// How many characters come before it.
    pub offset: usize,
    /// How many characters the whole has.
    pub total: usize,
    /// Whether more come after it.
    pub truncated: bool,
}

/// An image or a document.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Media {
    pub media_type: &'static str,
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

impl FileTools {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A rule is against it, there is no such file, or it is neither text nor a known kind of image or document.
    pub fn read(&self, path: impl AsRef<OsStr>, options: ReadOptions) -> Result<Content, ToolError> {
        let _acting = self.begin()?;
        let (opened, resolved) = self.open_beneath(path.as_ref(), PathAccess::Read)?;
        let bytes = self.content(&opened, &resolved, PathAccess::Read)?;
        if let Some(media_type) = media_type(&bytes) {
            return Ok(Content::Media(Media { media_type, bytes }));
        }
        let text = text(&bytes, &resolved)?;
        Ok(Content::Text(part(text, options)))
    }

    /// Reads all of a regular file that was opened, as far as the tools touch it.
    pub(super) fn content(
        &self,
        opened: &Opened,
        resolved: &Resolved,
        access: PathAccess,
    ) -> Result<Vec<u8>, ToolError> {
        let path = || escape::path(resolved.guest.as_path());
        let found = opened.kind();
        if found != FileKind::File {
            let expected = FileKind::File;
            return Err(Denial::WrongKind { access: access.into(), path: path(), found, expected }.into());
        }
        self.query().check_suffix(resolved, access)?;
        let size = u64::try_from(opened.stat.st_size).unwrap_or_default();
        self.check_bytes(resolved, access, size)?;
        let failed = |source: io::Error| ToolError::System { access: access.into(), path: path(), source };
        let file = opened.reader().map_err(|errno| failed(errno.into()))?;
        let bytes = up_to(file, size, MAX_FILE_BYTES).map_err(failed)?;
        // It may have grown since.
        self.check_bytes(resolved, access, bytes.len() as u64)?;
        Ok(bytes)
    }

    /// Checks that the tools touch files of this size.
    pub(super) fn check_bytes(
        &self,
        resolved: &Resolved,
        access: PathAccess,
        size: u64,
    ) -> Result<(), Denial> {
        self.query().check_size(resolved, access, size)?;
        if size > MAX_FILE_BYTES {
            let path = escape::path(resolved.guest.as_path());
            return Err(Denial::TooLarge { access: access.into(), path, size, limit: MAX_FILE_BYTES });
        }
        Ok(())
    }
}

/// Reads a file to its end, and one byte beyond `limit` at most.
fn up_to(file: File, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(limit)).unwrap_or_default() + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the bytes of a file as text.
pub(super) fn text<'b>(bytes: &'b [u8], resolved: &Resolved) -> Result<&'b str, Denial> {
    check_no_nul(bytes, resolved)?;
    std::str::from_utf8(bytes).map_err(|error| {
        let fault = TextFault::Encoding { at: error.valid_up_to() };
        Denial::NotText { path: escape::path(resolved.guest.as_path()), fault }
    })
}

/// Checks that a file is not binary.
pub(super) fn check_no_nul(bytes: &[u8], resolved: &Resolved) -> Result<(), Denial> {
    match bytes.iter().position(|byte| *byte == 0) {
        None => Ok(()),
        Some(at) => {
            let fault = TextFault::Binary { at };
            Err(Denial::NotText { path: escape::path(resolved.guest.as_path()), fault })
        }
    }
}

/// Returns a part of a text.
fn part(text: &str, options: ReadOptions) -> Text {
    let ReadOptions { offset, max_chars } = options;
    let (total, begin, end) = if text.is_ascii() {
        let begin = offset.min(text.len());
        (text.len(), begin, begin.saturating_add(max_chars).min(text.len()))
    } else {
        let at = |text: &str, count: usize| text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
        let begin = at(text, offset);
        (text.chars().count(), begin, begin + at(&text[begin..], max_chars))
    };
    Text { text: text[begin..end].to_owned(), offset: offset.min(total), total, truncated: end < text.len() }
}

/// Returns the kind of an image or document, by how it begins.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let begins = |signature: &[u8]| bytes.starts_with(signature);
    if begins(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if begins(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if begins(b"GIF87a") || begins(b"GIF89a") {
        Some("image/gif")
    } else if begins(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else if begins(b"%PDF-") {
        Some("application/pdf")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_in_characters() {
        let read = |text: &str, offset, max_chars| part(text, ReadOptions { offset, max_chars });
        for text in ["abcdef", "äböde€"] {
            let Text { text: middle, offset, total, truncated } = read(text, 2, 3);
            assert_eq!((middle.chars().count(), offset, total, truncated), (3, 2, 6, true), "{text}");
            assert!(text.contains(&middle));
            let end = read(text, 4, usize::MAX);
            assert_eq!((end.text.chars().count(), end.truncated), (2, false), "{text}");
            let beyond = read(text, usize::MAX, usize::MAX);
            assert_eq!((beyond.text.as_str(), beyond.offset, beyond.truncated), ("", 6, false), "{text}");
        }
    }
}
