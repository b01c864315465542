//! The configuration file of a client: it keeps its place, its owner, its mode, its line ends and its byte order mark.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use sandbox::state::record::RunId;

/// The longest file that is taken for a configuration.
const MOST: u64 = 4 << 20;

/// How many links one may go through, as the kernel has it.
const MOST_LINKS: usize = 40;

/// What some editors begin a file with.
const MARK: char = '\u{feff}';

/// A configuration file, which may not be there yet.
pub(super) struct ConfigurationFile {
    path: PathBuf,
    text: String,
    form: Form,
    /// None where it is not there.
    metadata: Option<fs::Metadata>,
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
        let path = followed(path)?;
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let form = Form { mark: Mark::None, lines: LineEnds::LineFeed };
                return Ok(Self { path, text: String::new(), form, metadata: None });
            }
            file => file?,
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() > MOST {
            return Err(io::Error::other(format!("it is no regular file of at most {MOST} bytes")));
        }
        let mut raw = String::new();
        file.take(MOST).read_to_string(&mut raw)?;
        let (form, text) = Form::of(&raw);
        Ok(Self { path, text, form, metadata: Some(metadata) })
    }

    /// Returns where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what it says, with line feeds alone and without a mark.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Replaces it as a whole: whoever reads it sees the old content or the new one.
    pub(super) fn replace(&self, text: &str) -> io::Result<()> {
        let directory = self.path.parent().ok_or_else(|| io::Error::other("it has no directory"))?;
        fs::create_dir_all(directory)?;
        let id = RunId::generate().map_err(io::Error::other)?;
        let draft = directory.join(format!(".sandboxctl-{}", id.as_str()));
        // A new one has the mode that the umask leaves; one that is there may be closed to others.
        let mode = if self.metadata.is_some() { 0o600 } else { 0o666 };
        let written = (|| {
            let mut file = File::options().write(true).create_new(true).mode(mode).open(&draft)?;
            file.write_all(self.form.written(text).as_bytes())?;
            if let Some(before) = &self.metadata {
                let ours = file.metadata()?;
                if (ours.uid(), ours.gid()) != (before.uid(), before.gid()) {
                    fchown(&file, Some(before.uid()), Some(before.gid())).map_err(|error| {
                        io::Error::new(error.kind(), format!("its owner or group cannot be kept: {error}"))
                    })?;
                }
                file.set_permissions(Permissions::from_mode(before.mode() & 0o7777))?;
            }
            file.sync_all()?;
            fs::rename(&draft, &self.path)
        })();
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written
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

/// Follows the links that a path ends in, also where nothing is at their end.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            // It is no link, or not there.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("it leads through too many links"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_written_has_the_form_of_what_was_read() {
        for raw in ["a\nb\n", "a\r\nb\r\n", "\u{feff}a\r\nb\r\n", "\u{feff}a\n", "a\r\nb\n", ""] {
            let (form, text) = Form::of(raw);
            assert_eq!(form.written(&text), raw);
        }
        assert_eq!(Form::of("\u{feff}a\r\n").1, "a\n");
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_changes_and_keeps_its_mode() {
        let place = tempfile::tempdir().unwrap();
        let (link, file) = (place.path().join("link"), place.path().join("real/file"));
        symlink("real/file", &link).unwrap();
        // At first nothing is at its end.
        ConfigurationFile::read(&link).unwrap().replace("one").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "one");
        fs::set_permissions(&file, Permissions::from_mode(0o664)).unwrap();
        let read = ConfigurationFile::read(&link).unwrap();
        assert_eq!((read.path(), read.text()), (&*file, "one"));
        read.replace("two").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o664);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn links_that_lead_in_a_circle_are_an_error() {
        let place = tempfile::tempdir().unwrap();
        symlink("b", place.path().join("a")).unwrap();
        symlink("a", place.path().join("b")).unwrap();
        assert!(ConfigurationFile::read(&place.path().join("a")).is_err());
    }
}
