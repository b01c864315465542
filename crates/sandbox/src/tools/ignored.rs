//! What `.gitignore` files say of the paths of a walk: read beneath its descriptors, as far as they are regular files.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use policy::query::FileKind;

use super::place::Opened;

/// How much of one file is read: an agent may write many, and each line is compiled.
const MAX_BYTES: u64 = 64 << 10;

/// The rules of a directory, and those of the ones around it.
pub(super) struct Ignored {
    rules: Gitignore,
    around: Option<Arc<Ignored>>,
}

impl Ignored {
    /// Adds the rules of a directory, at this path, to those around it. One without rules has those.
    pub(super) fn within(around: Option<Arc<Self>>, directory: impl AsFd, path: &Path) -> Option<Arc<Self>> {
        let rules = Opened::at(directory, OsStr::new(".gitignore"))
            .ok()
            .filter(|opened| opened.kind() == FileKind::File)
            .and_then(|opened| opened.reader().ok())
            .map(|file| rules(file, path));
        match rules {
            Some(rules) if !rules.is_empty() => Some(Arc::new(Self { rules, around })),
            Some(_) | None => around,
        }
    }

    /// Returns whether a path is ignored: the innermost rule about it decides.
    pub(super) fn ignores(&self, path: &Path, is_directory: bool) -> bool {
        let mut at = Some(self);
        while let Some(one) = at {
            match one.rules.matched(path, is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => at = one.around.as_deref(),
            }
        }
        false
    }
}

fn rules(file: File, path: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(path);
    for line in BufReader::new(file.take(MAX_BYTES)).split(b'\n').map_while(Result::ok) {
        // A line that is no pattern is none for git, either.
        let _ = builder.add_line(None, &String::from_utf8_lossy(&line));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
