//! What `[protect] paths` or a configuration of git's names, file by file: a program may run it, whatever it holds.

use std::ffi::{CString, OsStr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use policy::classify::{MAX_CONTENT, Reason, is_inert};
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use super::{Classifier, Keeping, LEVELS, MAX_KEPT_FILE, Watched, hex, list, read};
use crate::boundary::detect::classified::Classified;
use crate::host::beneath;

/// How much of it is kept of one boundary.
const MAX_KEPT: usize = 512 << 10;

impl Keeping {
    fn note_configured(&mut self, path: &Path, stat: &Stat, content: &[u8]) {
        if content.len() <= MAX_KEPT_FILE && self.configured_bytes + content.len() <= MAX_KEPT {
            self.configured_bytes += content.len();
            self.keep(path, stat, content);
        }
    }
}

impl Classifier {
    /// Lists each file, link and directory at a path that the settings protect, with a sum of its content: whatever it holds, a program
    /// may run it.
    pub(crate) fn configured(&mut self, root: BorrowedFd<'_>, one: &Watched<'_>) -> Vec<Classified> {
        if let Ok((parent, name)) = beneath::parent(root, one.path) {
            self.configured_entry(&parent, name, one.path, LEVELS);
        }
        std::mem::take(&mut self.verdicts)
    }

    fn configured_entry(&mut self, parent: &OwnedFd, name: &OsStr, path: &Path, levels: u32) {
        let Ok(mut stat) = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        if self.configured.entries == 0 {
            self.is_not_all = true;
            return self.unseen(path, Reason::Hidden, &stat);
        }
        self.configured.entries -= 1;
        // That of a single file is copied, however large it is.
        let is_itself = levels == LEVELS;
        if let Some(keeping) = self.keeping.as_mut().filter(|_| is_itself) {
            keeping.note_names(path, &stat);
        }
        let has_other_names = !is_itself && stat.st_nlink > 1;
        let mut content = Vec::new();
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => "directory".to_owned(),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(parent, name, Vec::new());
                content = target.map(CString::into_bytes).unwrap_or_default();
                "link".to_owned()
            }
            FileType::RegularFile => {
                let most = MAX_CONTENT.min(self.configured.bytes);
                match read(parent, name, most, &mut content) {
                    Some(of_what_was_read) if content.len() <= most => stat = of_what_was_read,
                    Some(_) => {
                        self.is_not_all |= has_other_names;
                        return self.unseen(path, Reason::TooLarge { bytes: content.len() }, &stat);
                    }
                    // A program may be executed that cannot be read.
                    None => {
                        self.is_not_all |= has_other_names;
                        return self.unseen(path, Reason::Listed, &stat);
                    }
                }
                self.configured.bytes = self.configured.bytes.saturating_sub(content.len());
                if let Some(keeping) = &mut self.keeping {
                    if !is_itself {
                        keeping.note_names(path, &stat);
                    }
                    keeping.note_configured(path, &stat, &content);
                }
                // Whether it may be executed says what it is, too.
                format!("file {:o}", stat.st_mode & 0o111)
            }
            _ => return self.unseen(path, Reason::Listed, &stat),
        };
        let essence = Some(hex(&[kind.as_bytes(), b"\0", &content].concat()));
        self.verdicts.push(Classified { essence, ..Classified::of(path.into(), Reason::Listed) });
        // No program obeys anything in some directories, such as those of git's objects.
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory && !is_inert(path) {
            if let Some(levels) = levels.checked_sub(1) {
                self.configured_directory(parent, name, path, &stat, levels);
            } else {
                self.is_not_all = true;
                self.unseen(path, Reason::Hidden, &stat);
            }
        }
    }

    fn configured_directory(
        &mut self,
        parent: &OwnedFd,
        name: &OsStr,
        path: &Path,
        stat: &Stat,
        levels: u32,
    ) {
        let most = usize::try_from(self.configured.entries).unwrap_or(usize::MAX).saturating_add(1);
        let (directory, mut entries) = match list(parent, name, most) {
            Ok(listed) => listed,
            Err(Errno::NOENT | Errno::NOTDIR) => return,
            // Of one that cannot be listed, programs may be executed by their names.
            Err(_) => return self.unseen(path, Reason::Listed, stat),
        };
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (name, _) in entries {
            if self.is_out_of_time() {
                return;
            }
            self.configured_entry(&directory, &name, &path.join(&name), levels);
            if self.configured.entries == 0 {
                self.is_not_all = true;
                return self.unseen(path, Reason::Hidden, stat);
            }
        }
    }
}
