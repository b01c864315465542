//! Directories of git-annex' objects: there may be hundreds of thousands, so only the last look goes through them, when it has
//! looked at everything else.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::annex::is_ordinary_key;
use rustix::fs::{FileType, Mode, OFlags, RawDir};

use super::data;
use super::progress::{Annex, Search, is};
use crate::boundary::protect::mounts::{AnnexProgram, ProtectionGap};
use crate::boundary::walk::{Extent, Walk};
use crate::host::beneath;

/// How deep below such a directory git-annex has the content of a file: it has one more level, and a directory for the file.
const LEVELS: u32 = 3;

/// How much of a directory is read at once, as in the walk.
const LISTING: usize = 8 << 10;

impl Search<'_> {
    /// Notes a directory that the last look goes through at its end.
    pub(super) fn put_off(&mut self, git: &Path, path: PathBuf, is_gits_alone: bool) {
        if self.extent == Extent::Whole {
            let (base, behind) = (self.base.clone(), self.behind.clone());
            self.annexes.push(Annex { git: git.into(), path, is_gits_alone, base, behind });
        }
    }

    /// Goes through these directories for repositories, links, and what git would wait for. What is old there nobody has looked at,
    /// as beyond the bound of the walk.
    pub(super) fn annexes(&mut self) {
        let before = self.notices.len();
        let mut buffer = Vec::with_capacity(LISTING);
        // A repository among the objects may have objects of git-annex itself.
        while !self.annexes.is_empty() {
            for Annex { git, path, is_gits_alone, base, behind } in std::mem::take(&mut self.annexes) {
                if self.is_out_of_time() {
                    break;
                }
                let Ok(root) = beneath::directory(self.root, &git) else { continue };
                let around = path.parent().unwrap_or(Path::new(""));
                let Ok(parent) = beneath::directory(&root, around) else { continue };
                let Ok(name) = CString::new(path.file_name().unwrap_or_default().as_bytes()) else {
                    continue;
                };
                self.reach.note_beyond(&git.join(&path));
                let mut strange = Vec::new();
                if !self.holds_content(&parent, &name, &path, LEVELS, &mut strange, &mut buffer) {
                    strange = vec![path];
                }
                // It may have ended early.
                self.is_out_of_time();
                let outer = std::mem::replace(&mut self.base, base);
                self.behind = behind;
                self.unlisted_in(&root, &git, is_gits_alone, strange);
                self.behind = None;
                self.base = outer;
            }
            self.all_ahead();
        }
        let notices = self.notices.split_off(before);
        self.notices.extend(notices.into_iter().filter(|notice| *notice == ProtectionGap::OutOfTime));
    }

    /// Returns whether a directory holds nothing but files with content and directories. Directories in it of which that cannot be said
    /// are added to `strange`. There may be very many of the others, so no more is done about them. It ends when time is over.
    fn holds_content(
        &self,
        parent: &OwnedFd,
        name: &CStr,
        path: &Path,
        levels: u32,
        strange: &mut Vec<PathBuf>,
        buffer: &mut Vec<u8>,
    ) -> bool {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(directory) = rustix::fs::openat(parent, name, flags, Mode::empty()) else { return false };
        let mut directories = Vec::new();
        let mut listing = RawDir::new(&directory, buffer.spare_capacity_mut());
        while let Some(entry) = listing.next() {
            if self.until.is_over() {
                return true;
            }
            let Ok(entry) = entry else { return false };
            let name = entry.file_name();
            match entry.file_type() {
                _ if data::is_sign(OsStr::from_bytes(name.to_bytes())) => return false,
                FileType::RegularFile => {}
                FileType::Directory if name == c"." || name == c".." => {}
                FileType::Directory if levels > 0 => directories.push(name.to_owned()),
                _ => return false,
            }
        }
        for name in &directories {
            let path = path.join(OsStr::from_bytes(name.to_bytes()));
            if !self.holds_content(&directory, name, &path, levels - 1, strange, buffer) {
                strange.push(path);
            }
        }
        true
    }

    /// Returns the innermost directory of git's data around a path.
    pub(super) fn data_around<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let mut around = path.ancestors().take_while(|above| *above != Path::new(""));
        around.find(|above| self.seen_git.contains(*above))
    }

    /// Returns the directory of git's data in which git-annex has the content of a file at a path, or will have it: in a directory of
    /// the same name among its objects. It makes links to nothing else there, and an ordinary key runs no program.
    pub(super) fn annex_around<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let git = self.data_around(path)?;
        let directory = path.parent().filter(|directory| directory.starts_with(git.join("annex/objects")))?;
        let is_directory = || beneath::stat(self.root, path).is_ok_and(|stat| is(FileType::Directory, &stat));
        let key = path.file_name()?;
        let is_key = directory.file_name() == Some(key) && is_ordinary_key(key.as_bytes());
        (is_key && !is_directory()).then_some(git)
    }
}

/// Lists the directories in which git-annex may look for programs by their names, with the repository around each. A boundary may itself lie
/// in a work tree.
pub(super) fn programs(walk: &Walk, host: &Path) -> Vec<AnnexProgram> {
    let is_in_work_tree = || host.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok());
    let around = |path: &Path| {
        let above = path.ancestors().skip(1);
        let is_repository =
            |above: &&Path| walk.repositories.iter().any(|repository| repository.path == **above);
        above
            .filter(is_repository)
            .map(Path::to_path_buf)
            .next()
            .or_else(|| is_in_work_tree().then(PathBuf::new))
    };
    let programs = walk.annex_programs.iter();
    programs.map(|path| AnnexProgram { path: path.clone(), repository: around(path) }).collect()
}
