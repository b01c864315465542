//! What a copy makes before it has its place, under a name that nobody else has. A process that is killed meanwhile leaves it;
//! whoever knows the name and the directory can remove it.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, StatxFlags, fchmod, fstat, mkdirat, openat, renameat,
    renameat_with, statx, unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::entry::{Passage, TreeError, open_directory, remove_contents, stat};

/// The mode with which its owner can work in a directory.
pub(super) const WORKABLE: Mode = Mode::RWXU;

const PREFIX: &str = ".sandboxctl-cp-";

/// The name that a copy gives to whatever is not in its place yet: one thing at a time.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct DraftName(OsString);

impl DraftName {
    /// Returns a name that nobody else has.
    ///
    /// # Errors
    ///
    /// The kernel gives no random number.
    pub fn generate() -> Result<Self, Errno> {
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        Ok(Self(format!("{PREFIX}{:016x}", u64::from_ne_bytes(random)).into()))
    }

    pub(super) fn as_os_str(&self) -> &OsStr {
        &self.0
    }
}

impl TryFrom<String> for DraftName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let digits = text.strip_prefix(PREFIX).ok_or("it is no name of a draft")?;
        if digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(text.into()))
        } else {
            Err("it is no name of a draft")
        }
    }
}

impl From<DraftName> for String {
    fn from(name: DraftName) -> Self {
        name.0.to_string_lossy().into_owned()
    }
}

/// What tells a directory from every other one, an earlier one with its number included.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct DirectoryId {
    device: (u32, u32),
    inode: u64,
    /// Its time of birth, in seconds and nanoseconds, see statx(2); 0 where the file system keeps none.
    born: (i64, u32),
}

impl DirectoryId {
    /// Identifies an open directory.
    ///
    /// # Errors
    ///
    /// The kernel does not describe it.
    pub fn of(directory: impl AsFd) -> Result<Self, Errno> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let found = statx(directory, c"", AtFlags::EMPTY_PATH, wanted)?;
        Ok(Self {
            device: (found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            born: (found.stx_btime.tv_sec, found.stx_btime.tv_nsec),
        })
    }
}

/// A directory that is made under another name than it will have. Only its owner gets into it until it is whole.
#[derive(Debug)]
pub(super) struct DraftDirectory {
    name: DraftName,
    pub(super) becomes: OsString,
    /// The directory itself: whoever may write in the one above can give its name to another.
    pub(super) made: OwnedFd,
}

impl DraftDirectory {
    pub(super) fn make(directory: &OwnedFd, name: DraftName, becomes: OsString) -> Result<Self, TreeError> {
        let make = || {
            mkdirat(directory, name.as_os_str(), WORKABLE)?;
            let made = open_directory(directory, name.as_os_str())?;
            Ok::<_, Errno>((is_fresh(directory, &made)?, made))
        };
        match make() {
            Ok((true, made)) => Ok(Self { name, becomes, made }),
            Ok((false, _)) => Err(TreeError::replaced(&becomes)),
            Err(errno) => {
                // Nothing is in it, if it was made.
                let _ = unlinkat(directory, name.as_os_str(), AtFlags::REMOVEDIR);
                Err(TreeError::at(&becomes)(errno))
            }
        }
    }

    /// Gives it the name that it is to have.
    pub(super) fn commit(&self, directory: &OwnedFd) -> Result<(), TreeError> {
        let Self { name, becomes, made } = self;
        let is_made = |name: &OsStr| is_at(made, directory, name);
        if !is_made(name.as_os_str()) {
            return Err(TreeError::replaced(becomes));
        }
        let renamed =
            match renameat_with(directory, name.as_os_str(), directory, becomes, RenameFlags::NOREPLACE) {
                // Some file systems have no such flag.
                Err(Errno::INVAL | Errno::NOSYS) => renameat(directory, name.as_os_str(), directory, becomes),
                renamed => renamed,
            };
        renamed.map_err(TreeError::at(becomes))?;
        if is_made(becomes) { Ok(()) } else { Err(TreeError::replaced(becomes)) }
    }

    /// Removes it with all that is in it, and nothing else: another directory of its name is only removed where it is empty.
    pub(super) fn remove(&self, directory: &OwnedFd) -> Result<(), Errno> {
        // It may have its mode already.
        let _ = fchmod(&self.made, WORKABLE);
        remove_contents(&self.made, 0)?;
        unlinkat(directory, self.name.as_os_str(), AtFlags::REMOVEDIR)
    }
}

/// Removes what a copy that was killed has left in a directory: a file or a link, or a directory with all that is in it, where it is the
/// one that the copy had made. Another one may have been given its name; it is removed only where it is empty.
///
/// # Errors
///
/// Something of that name is left.
pub fn remove_draft(
    directory: BorrowedFd<'_>,
    name: &DraftName,
    made: Option<DirectoryId>,
) -> Result<(), Errno> {
    let name = name.as_os_str();
    match stat(directory, name) {
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno),
        Ok(found) if FileType::from_raw_mode(found.st_mode) != FileType::Directory => {
            return unlinkat(directory, name, AtFlags::empty());
        }
        Ok(_) => {}
    }
    // Its mode may keep its owner out already.
    let draft = Passage::open(directory, name)?;
    if made.is_some() && made == DirectoryId::of(&draft).ok() {
        remove_contents(&draft.enter()?, 0)?;
    }
    unlinkat(directory, name, AtFlags::REMOVEDIR)
}

/// Returns whether a directory is one that this process has just made in another: nothing is in it, and it belongs to whom everything
/// belongs that this process makes there. Whoever may write in the directory above can put one of theirs in its place.
pub(super) fn is_fresh(above: &OwnedFd, made: &OwnedFd) -> Result<bool, Errno> {
    let mut names = Dir::read_from(made)?;
    while let Some(entry) = names.read() {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    // Some file systems have owners of their own, and this process may act for another user: what it makes says who that is.
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    match openat(above, c".", flags, Mode::RUSR | Mode::WUSR) {
        Ok(own) => Ok(fstat(made)?.st_uid == fstat(own)?.st_uid),
        // Network file systems and those of other systems have no files without a name, and most say themselves who owns what.
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => Ok(true),
        Err(errno) => Err(errno),
    }
}

/// Returns whether an open directory is what has this name in another one.
fn is_at(directory: &OwnedFd, above: &OwnedFd, name: &OsStr) -> bool {
    let (Ok(own), Ok(found)) = (fstat(directory), stat(above, name)) else { return false };
    (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino)
}
