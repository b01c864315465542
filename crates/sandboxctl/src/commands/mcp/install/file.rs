//! The configuration file of a client: it keeps its place, its owner, its mode, its line ends and its byte order mark.

use std::io::{self, Read as _};
use std::path::Path;

use sandbox::host::replaced_file::ReplacedFile;

/// The longest file that is taken for a configuration.
const MOST: u64 = 4 << 20;

/// What some editors begin a file with.
const MARK: char = '\u{feff}';

/// A configuration file, which may not be there yet.
pub(super) struct ConfigurationFile {
    file: ReplacedFile,
    text: String,
    form: Form,
}

/// How a text is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Form {
    mark: Mark,
    lines: LineEnds,
}

/// Whether a text begins with a byte order mark.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mark {
    None,
    Present,
}

/// How lines end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum LineEnds {
    /// With a line feed; or some with one thing and some with the other, which is left as it is.
    LineFeed,
    /// All of them with a carriage return and a line feed.
    Both,
}

impl ConfigurationFile {
    /// Reads a configuration. Where the path is a link, it is the one that the link leads to.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let file = ReplacedFile::find(path)?;
        let mut raw = String::new();
        if let Some(open) = file.open()? {
            open.take(MOST + 1).read_to_string(&mut raw)?;
        }
        if raw.len() as u64 > MOST {
            return Err(io::Error::other(format!("it is longer than {MOST} bytes")));
        }
        let (form, text) = Form::of(&raw);
        Ok(Self { file, text, form })
    }

    /// Returns where it is, without any link.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns what it says, with line feeds alone and without a mark.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Replaces it, unless somebody has changed it since it was read.
    pub(super) fn replace(&self, text: &str) -> io::Result<()> {
        self.file.replace(self.form.written(text).as_bytes())
    }
}

impl Form {
    /// Tells the form of a text from what it says.
    fn of(raw: &str) -> (Self, String) {
        let (mark, text) = match raw.strip_prefix(MARK) {
            Some(text) => (Mark::Present, text),
            None => (Mark::None, raw),
        };
        let (ends, both) = (text.matches('\n').count(), text.matches("\r\n").count());
        if both > 0 && ends == both {
            (Self { mark, lines: LineEnds::Both }, text.replace("\r\n", "\n"))
        } else {
            (Self { mark, lines: LineEnds::LineFeed }, text.to_owned())
        }
    }

    /// Returns a text in this form.
    fn written(self, text: &str) -> String {
        let text = match self.lines {
            LineEnds::LineFeed => text.to_owned(),
            LineEnds::Both => text.replace('\n', "\r\n"),
        };
        match self.mark {
            Mark::None => text,
            Mark::Present => format!("{MARK}{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_has_the_form_of_what_was_read() {
        for raw in ["a\nb\n", "a\r\nb\r\n", "\u{feff}a\r\nb\r\n", "\u{feff}a\n", "a\r\nb\n", ""] {
            let (form, text) = Form::of(raw);
            assert_eq!(form.written(&text), raw);
        }
        assert_eq!(Form::of("\u{feff}a\r\n").1, "a\n");
    }
}
