//! Small files that a caller names: read with the caller's rights, and not for ever.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, FileType, FsWord, Mode, OFlags};
use rustix::io::Errno;

use crate::host::acting::ActingAs;
use crate::host::deadline::Deadline;
use crate::host::follow::{self, PROC};
use crate::host::identity::Identity;

/// The largest such file, in bytes.
const MAX_SIZE: u64 = 1 << 20;

/// How long whoever has a lease on a file may take to give it back, and how often that is looked at.
const LEASE: Duration = Duration::from_millis(500);
const GLANCE: Duration = Duration::from_millis(10);

/// Reads a regular file of at most 1 MiB as this user could. Under sudo the name, or a link on the way, may be the user's or
/// an agent's.
pub fn read(path: &Path, reader: Identity) -> io::Result<Vec<u8>> {
    let _acting = ActingAs::user(reader)?;
    read_as_this_user(path)
}

/// Reads the same with the rights that this thread has.
pub(crate) fn read_as_this_user(path: &Path) -> io::Result<Vec<u8>> {
    match open_regular(CWD, path, Links::Followed)? {
        Some(file) => content(file),
        None => Err(io::Error::other("no regular file")),
    }
}

/// Opens a file, or a pipe, of any size for reading as this user could.
pub fn open_as(path: &Path, reader: Identity) -> io::Result<File> {
    let _acting = ActingAs::user(reader)?;
    let found = follow::open(CWD, path)?;
    refuse_of_kernel(&found)?;
    File::open(format!("/proc/self/fd/{}", found.as_raw_fd()))
}

/// Opens a regular file of any size for reading with the rights that this thread has; `None` where it is none. Root follows no link of
/// another user's on the way.
pub fn open(path: &Path) -> io::Result<Option<File>> {
    open_regular(CWD, path, Links::Followed)
}

/// Reads how a regular file begins, at most this many bytes of it, with the rights that this thread has.
pub(crate) fn beginning(path: &Path, length: u64) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    let file =
        open_regular(CWD, path, Links::Followed)?.ok_or_else(|| io::Error::other("no regular file"))?;
    file.take(length).read_to_end(&mut start)?;
    Ok(start)
}

/// Creates a file with the rights that this thread has, and this mode as far as the umask leaves it. Nothing is overwritten, and no
/// link is written through; on the way to its directory root follows no link of another user's.
pub fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    let name = path.file_name().ok_or(Errno::ISDIR)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = follow::open(CWD, parent.unwrap_or(Path::new(".")))?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(parent, name, flags, Mode::from_raw_mode(mode))?.into())
}

/// Whether a file may be reached by a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Links {
    /// As far as [`follow`] goes.
    Followed,
    /// Not by one that is called as the file is.
    Refused,
}

/// Opens a regular file for reading; `None` where it is none, `ELOOP` where a link is refused.
///
/// What it is, is asked before it is opened: to open a device may act on it, to open a pipe wakes or hangs, and to open a
/// terminal may make it the controlling one of this process.
pub(crate) fn open_regular(
    directory: impl AsFd,
    path: impl AsRef<Path>,
    links: Links,
) -> io::Result<Option<File>> {
    let found = match links {
        Links::Followed => follow::open(directory, path.as_ref())?,
        Links::Refused => {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(directory, path.as_ref(), flags, Mode::empty())?
        }
    };
    match FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode) {
        // Reading one of the kernel's may act, too: `/proc/kmsg` gives each message once.
        FileType::RegularFile if is_of_kernel(&found)? => Ok(None),
        FileType::RegularFile => Ok(Some(open_for_reading(&found)?.into())),
        FileType::Symlink => Err(Errno::LOOP.into()),
        _ => Ok(None),
    }
}

/// Opens what was found for reading. Whoever holds a lease on it is given a moment to give that back, and not the 45 seconds for which
/// the kernel would wait at each file (fcntl(2), "Leases"): `EAGAIN`.
pub(crate) fn open_for_reading(found: &OwnedFd) -> Result<OwnedFd, Errno> {
    let again = format!("/proc/self/fd/{}", found.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    patiently(flags, |flags| rustix::fs::open(&again, flags, Mode::empty()))
}

/// Opens a regular file to write in it, which is made where there is none; anything else in its place is refused. Who has a lease on it
/// is given a moment, and who has put a named pipe there is not waited for.
pub(crate) fn open_to_write(directory: impl AsFd, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let no_file = || io::Error::other("no regular file");
    match patiently(flags, |flags| rustix::fs::openat(&directory, name, flags, mode)) {
        Ok(opened) => {
            let kind = FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
            if kind == FileType::RegularFile { Ok(opened) } else { Err(no_file()) }
        }
        // A pipe that nobody reads.
        Err(Errno::NXIO) => Err(no_file()),
        Err(errno) => Err(errno.into()),
    }
}

/// Opens something without waiting, again and again until whoever has a lease has had a moment.
fn patiently(
    flags: OFlags,
    mut open: impl FnMut(OFlags) -> Result<OwnedFd, Errno>,
) -> Result<OwnedFd, Errno> {
    let until = Deadline::after(LEASE);
    loop {
        match open(flags | OFlags::NONBLOCK) {
            Err(Errno::AGAIN) if !until.is_over() => std::thread::sleep(GLANCE),
            opened => return opened,
        }
    }
}

/// Returns whether a file shows something of the kernel's and lies on no disk. Whose rights count there differs: `/proc/sys` goes by the
/// effective user, which stays root's while it acts for somebody.
pub(crate) fn is_of_kernel(file: impl AsFd) -> Result<bool, Errno> {
    // See statfs(2): proc, sysfs, debugfs, tracefs, securityfs, cgroup of both versions, bpf, configfs, pstore, efivarfs,
    // selinuxfs, binfmt_misc.
    const OF_KERNEL: [FsWord; 13] = [
        PROC, 0x6265_6572, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0x0027_e0eb, 0x6367_7270, 0xcafe_4a11,
        0x6265_6570, 0x6165_676c, 0xde5e_81e4, 0xf97c_ff8c, 0x4249_4e4d,
    ];
    Ok(OF_KERNEL.contains(&rustix::fs::fstatfs(file)?.f_type))
}

/// Refuses a file of the kernel's, where it is named by a user.
pub(crate) fn refuse_of_kernel(file: &OwnedFd) -> io::Result<()> {
    if is_of_kernel(file)? {
        return Err(io::Error::other("a file of the kernel's, such as one in /proc or /sys"));
    }
    Ok(())
}

/// Reads a regular file that is open, of at most 1 MiB.
pub(crate) fn content(file: File) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(MAX_SIZE + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_SIZE {
        return Err(io::Error::other(format!("larger than {MAX_SIZE} bytes")));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rustix::fs::inotify;

    use super::*;

    #[test]
    fn only_what_ends_is_read() {
        let top = tempfile::tempdir().unwrap();
        let message = |path: &Path| read(path, Identity::own()).map_err(|error| error.to_string());
        let file = top.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(message(&file), Ok(b"text".to_vec()));
        std::fs::write(&file, vec![0; 2 << 20]).unwrap();
        assert!(message(&file).unwrap_err().contains("larger"));
        let pipe = top.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(message(&pipe).unwrap_err(), "no regular file");
        for special in ["/dev/zero", "/proc/version", "/sys/kernel/uevent_seqnum"] {
            assert_eq!(message(Path::new(special)).unwrap_err(), "no regular file");
        }
    }

    /// Matters because opening a device may act on it, opening a pipe wakes its writer, and opening a terminal takes it.
    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let top = tempfile::tempdir().unwrap();
        let pipe = top.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&watch, &pipe, inotify::WatchFlags::OPEN).unwrap();
        let was_opened = || rustix::io::read(&watch, &mut [0_u8; 1024]).is_ok();
        let own = Identity::own();
        assert_eq!(read(&pipe, own).unwrap_err().to_string(), "no regular file");
        assert!(!was_opened());
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        drop(rustix::fs::open(&pipe, flags, Mode::empty()).unwrap());
        assert!(was_opened(), "the control");
    }

    #[test]
    fn whoever_has_a_lease_on_a_file_holds_nobody_up() {
        use std::io::{BufRead, BufReader};
        use std::process::{Command, Stdio};
        use std::time::Instant;

        // It gives the lease back when it is asked for that, or never.
        let script = "import fcntl, os, signal, sys\n\
            file = os.open(sys.argv[1], os.O_RDWR)\n\
            give_back = lambda *_: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)\n\
            signal.signal(signal.SIGIO, give_back if sys.argv[2] == 'polite' else signal.SIG_IGN)\n\
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n\
            print('leased', flush=True)\n\
            sys.stdin.read()\n";
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join("file");
        std::fs::write(&file, "text").unwrap();
        for (who, is_read) in [("polite", true), ("hostile", false)] {
            let mut holder = Command::new("python3");
            holder.args(["-c", script]).arg(&file).arg(who).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut holder = holder.spawn().unwrap();
            let mut line = String::new();
            BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
            assert_eq!(line, "leased\n", "{who}");
            let began = Instant::now();
            assert_eq!(read(&file, Identity::own()).is_ok(), is_read, "{who}");
            assert!(began.elapsed() < Duration::from_secs(10), "{who}");
            drop(holder.stdin.take());
            holder.wait().unwrap();
        }
    }

    #[test]
    fn root_reads_for_somebody_only_what_they_could() {
        if !crate::host::root_only::can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        std::fs::set_permissions(top.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let file = top.path().join("file");
        std::fs::write(&file, "root's").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let error = read(&file, Identity { uid: 1001, gid: 1001 }).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(read(&file, Identity::own()).unwrap(), b"root's");
    }
}
