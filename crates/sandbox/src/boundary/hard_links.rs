//! Breaking hard links: a protected file that has another name becomes a file of its own, which that name does not reach.
//!
//! A mount covers a path, not a file: through another name in the same boundary the agent would write what is read-only at
//! this one. An agent can give a file that it makes two names, in a run in which the place is not protected yet.

use std::fs::{File, FileTimes};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};

use crate::host::beneath;

/// How much is copied for one boundary. What is protected is small.
const MAX_COPIED: u64 = 64 << 20;

/// Replaces each of the files by a private copy without its other names: its owner, permissions and times stay, and nobody sees a moment
/// without it. Fails with the path that could not be copied.
pub(crate) fn break_all(root: impl AsFd, paths: &[PathBuf]) -> Result<(), (PathBuf, io::Error)> {
    let root = root.as_fd();
    let mut room = MAX_COPIED;
    for path in paths {
        break_hard_links(root, path, &mut room).map_err(|error| (path.clone(), error))?;
    }
    Ok(())
}

fn break_hard_links(root: impl AsFd, path: &Path, room: &mut u64) -> io::Result<()> {
    let (parent, name) = beneath::parent(root.as_fd(), path)?;
    let (file, stat) = beneath::file(root.as_fd(), path)?;
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    *room = room.checked_sub(size).ok_or_else(|| io::Error::other("there is too much to copy"))?;
    let mut draft = name.to_owned();
    draft.push(format!(".{}.draft", std::process::id()));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut copy = File::from(rustix::fs::openat(&parent, &draft, flags, Mode::RUSR | Mode::WUSR)?);
    let mut file = File::from(file);
    let mut finish = || {
        io::copy(&mut file, &mut copy)?;
        let made = rustix::fs::fstat(&copy)?;
        if (made.st_uid, made.st_gid) != (stat.st_uid, stat.st_gid) {
            rustix::fs::fchown(&copy, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)))?;
        }
        rustix::fs::fchmod(&copy, Mode::from_raw_mode(stat.st_mode & 0o777))?;
        let times = file.metadata()?;
        copy.set_times(FileTimes::new().set_accessed(times.accessed()?).set_modified(times.modified()?))?;
        Ok(rustix::fs::renameat(&parent, &draft, &parent, name)?)
    };
    finish().inspect_err(|_: &io::Error| {
        // A draft is of no use; that it cannot be removed adds nothing.
        let _ = rustix::fs::unlinkat(&parent, &draft, AtFlags::empty());
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn a_copy_is_a_file_of_its_own_and_else_the_same() {
        let top = tempfile::tempdir().unwrap();
        let (config, spare) = (top.path().join("config"), top.path().join("spare"));
        fs::write(&config, "text").unwrap();
        fs::set_permissions(&config, fs::Permissions::from_mode(0o640)).unwrap();
        fs::hard_link(&config, &spare).unwrap();
        break_all(File::open(top.path()).unwrap(), &["config".into()]).unwrap();
        fs::write(&spare, "evil").unwrap();
        let copied = fs::metadata(&config).unwrap();
        assert_eq!(fs::read_to_string(&config).unwrap(), "text");
        assert_eq!((copied.mode() & 0o7777, copied.nlink()), (0o640, 1));
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 2, "no draft stays");
    }

    #[test]
    fn what_is_too_large_stays_as_it_is_and_is_named() {
        let top = tempfile::tempdir().unwrap();
        let config = top.path().join("config");
        File::create(&config).unwrap().set_len(MAX_COPIED + 1).unwrap();
        fs::hard_link(&config, top.path().join("spare")).unwrap();
        let (path, _) = break_all(File::open(top.path()).unwrap(), &["config".into()]).unwrap_err();
        assert_eq!(path, Path::new("config"));
        assert_eq!(fs::metadata(&config).unwrap().nlink(), 2);
    }
}
