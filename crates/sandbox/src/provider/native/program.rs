//! The program of PID 1 in a file that is made once: to write it into memory at each start takes as long as to make namespaces.
//!
//! It lies in the directory of this process's own user, where what is believed without asking who has written it lies. No sandbox
//! may write there. Where there can be no such file, the program is written into memory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use confine::init::clone::Program;
use rustix::fs::{CWD, Mode, OFlags, StatVfsMountFlags};

use crate::host::identity::Identity;
use crate::host::init_program;
use crate::state::directory::StateDir;

/// The directory that it lies in.
const PROGRAMS: &str = "programs";

/// Its name, which tells one version of it from every other.
const NAME: &str = concat!("entrypoint-", env!("ENTRYPOINT_HASH"));

/// How old the program of another version is before it is removed. One that is in use is made again.
const OLD: Duration = Duration::from_secs(7 * 24 * 3600);

/// Finds the program, or makes the file for the next start.
pub(super) fn find(own: &Path) -> Program<'static> {
    let directory = own.join(PROGRAMS);
    if let Ok(file) = open(&directory) {
        Program::File(file)
    } else {
        // It is not executed by this start: as long as anybody has it open for writing, nobody can (ETXTBSY). Where it cannot
        // be made, every start is as this one.
        let _ = make(&directory);
        Program::Bytes(init_program::bytes())
    }
}

/// Opens it, if it is the whole of what was made here and can be executed.
fn open(directory: &Path) -> io::Result<OwnedFd> {
    let own = Identity::own();
    StateDir::open(directory, own).map_err(io::Error::other)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(CWD, directory.join(NAME), flags, Mode::empty())?);
    let metadata = file.metadata()?;
    let is_whole = metadata.is_file() && metadata.len() == init_program::bytes().len() as u64;
    let is_own = metadata.uid() == own.uid && metadata.mode() & 0o222 == 0;
    let may_be_executed = !rustix::fs::fstatvfs(&file)?.f_flag.contains(StatVfsMountFlags::NOEXEC);
    if is_whole && is_own && may_be_executed {
        Ok(file.into())
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}

/// Makes it, and removes old ones of other versions: two that are in use take turns. It has its name only once all of it is on
/// the disk.
fn make(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)?.flatten() {
        let age = entry.metadata().and_then(|metadata| metadata.modified()).map(|made| made.elapsed());
        let is_own = entry.file_name() == NAME;
        if is_own || matches!(age, Ok(Ok(age)) if age > OLD) {
            // One that runs stays until it has ended.
            let _ = fs::remove_file(entry.path());
        }
    }
    let draft = directory.join(format!(".{NAME}.{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file
        .write_all(init_program::bytes())
        .and_then(|()| file.set_permissions(fs::Permissions::from_mode(0o555)))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&draft, directory.join(NAME)));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn is_found_once_it_was_made_and_made_again_where_it_is_not_whole() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join(PROGRAMS).join(NAME);
        let is_file = || matches!(find(top.path()), Program::File(_));
        assert!(!is_file(), "there is none");
        assert!(is_file() && fs::read(&path).unwrap() == init_program::bytes());
        let change = |change: &dyn Fn()| {
            change();
            assert!(!is_file() && is_file());
        };
        change(&|| fs::remove_file(&path).unwrap());
        change(&|| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap());
        change(&|| {
            fs::remove_file(&path).unwrap();
            fs::write(&path, "short").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o555)).unwrap();
        });
        change(&|| {
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink("/bin/true", &path).unwrap();
        });
        let other = |name: &str| top.path().join(PROGRAMS).join(name);
        fs::write(other("entrypoint-0"), "").unwrap();
        let old = File::create(other("entrypoint-1")).unwrap();
        old.set_modified(SystemTime::now() - 2 * OLD).unwrap();
        change(&|| fs::remove_file(&path).unwrap());
        assert!(other("entrypoint-0").exists(), "another version that may be in use");
        assert!(!other("entrypoint-1").exists(), "an old one");
        let is_writable =
            |mode| fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(mode)).unwrap();
        is_writable(0o770);
        assert!(!is_file(), "others may write there");
        is_writable(0o700);
        assert!(is_file(), "the control");
    }
}
