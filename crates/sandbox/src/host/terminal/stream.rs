//! What a standard stream is, and whether it may be passed to an agent.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{FileType, SealFlags, major, minor};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, sockopt};

/// What a standard stream is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StreamKind {
    /// A terminal: it is relayed.
    Terminal,
    /// A pipe, with or without a name.
    Pipe,
    Socket,
    File,
    Null,
    Zero,
    Full,
}

/// Why a stream is not passed on.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    #[error(
        "it is a directory, from which everything on the host can be reached; a pipe, a file or /dev/null would be allowed"
    )]
    Directory,
    #[error(
        "it is the device {major}:{minor}; terminals, pipes, sockets, files, /dev/null, /dev/zero and /dev/full \
         are passed on; pass others through a pipe, such as `cat DEVICE | …`"
    )]
    Device { major: u32, minor: u32 },
    #[error(
        "it is a socket that is not a connected Unix stream: a socket keeps the network of whoever made it, and \
         through this one the agent could leave its own; pass the bytes through a pipe"
    )]
    Socket,
    /// A file in memory, which no rule of landlock's reaches.
    #[error(
        "it is a file in memory (memfd_create(2)), which could be opened for writing though it is given for reading, or for \
         reading though it is given for writing; pass the bytes through a pipe, or seal it against writing first"
    )]
    Memory,
    /// Something without a type, such as an event descriptor.
    #[error("it is neither a terminal nor a pipe, socket or file; redirect it to /dev/null")]
    Nameless,
    #[error("it cannot be examined: {0}")]
    Stat(#[source] io::Error),
}

/// Classifies a standard stream. Device numbers are Linux's, see null(4) and full(4).
pub fn check_stream(stream: impl AsFd) -> Result<StreamKind, StreamError> {
    let failed = |errno: Errno| StreamError::Stat(errno.into());
    let stat = rustix::fs::fstat(&stream).map_err(failed)?;
    let device = (major(stat.st_rdev), minor(stat.st_rdev));
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => Ok(StreamKind::Pipe),
        FileType::Socket if is_connected_pair(&stream) => Ok(StreamKind::Socket),
        FileType::Socket => Err(StreamError::Socket),
        FileType::RegularFile if stat.st_nlink == 0 && is_in_memory(&stream) => Err(StreamError::Memory),
        FileType::RegularFile => Ok(StreamKind::File),
        FileType::Directory => Err(StreamError::Directory),
        FileType::CharacterDevice if rustix::termios::isatty(&stream) => Ok(StreamKind::Terminal),
        FileType::CharacterDevice if device == (1, 3) => Ok(StreamKind::Null),
        FileType::CharacterDevice if device == (1, 5) => Ok(StreamKind::Zero),
        FileType::CharacterDevice if device == (1, 7) => Ok(StreamKind::Full),
        FileType::CharacterDevice | FileType::BlockDevice => {
            Err(StreamError::Device { major: device.0, minor: device.1 })
        }
        FileType::Symlink | FileType::Unknown => Err(StreamError::Nameless),
    }
}

/// Returns whether a socket is a Unix stream that has a peer: the only kind that can never be connected elsewhere.
fn is_connected_pair(socket: impl AsFd) -> bool {
    let unix = matches!(sockopt::socket_domain(&socket), Ok(AddressFamily::UNIX));
    let stream = matches!(sockopt::socket_type(&socket), Ok(SocketType::STREAM));
    unix && stream && rustix::net::getpeername(&socket).is_ok_and(|peer| peer.is_some())
}

/// Checks whether a file is one of the kernel's own, on no file system that is mounted, and can be written.
fn is_in_memory(file: impl AsFd) -> bool {
    let sealed = SealFlags::WRITE | SealFlags::FUTURE_WRITE;
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    // A name that cannot be read is none that a file system has given.
    !rustix::fs::fcntl_get_seals(&file).is_ok_and(|seals| seals.intersects(sealed))
        && std::fs::read_link(link).map_or(true, |name| name.as_os_str().as_bytes().starts_with(b"/memfd:"))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};

    use super::*;

    #[test]
    fn a_socket_that_could_be_connected_elsewhere_is_refused() {
        // The control: this is how a socket of the host's network gets into a sandbox without a network, if it may.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(matches!(check_stream(tcp), Err(StreamError::Socket)));
        assert!(matches!(check_stream(listener), Err(StreamError::Socket)));
        assert!(matches!(
            check_stream(std::net::UdpSocket::bind("127.0.0.1:0").unwrap()),
            Err(StreamError::Socket)
        ));
        assert!(matches!(
            check_stream(std::os::unix::net::UnixDatagram::unbound().unwrap()),
            Err(StreamError::Socket)
        ));
    }

    fn kind(path: &str) -> Result<StreamKind, StreamError> {
        check_stream(File::open(path).unwrap())
    }

    #[test]
    fn classifies_standard_streams() {
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        unlockpt(&master).unwrap();
        let terminal = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        assert_eq!(check_stream(reader).unwrap(), StreamKind::Pipe);
        assert_eq!(check_stream(socket).unwrap(), StreamKind::Socket);
        assert_eq!(check_stream(terminal).unwrap(), StreamKind::Terminal);
        assert_eq!(kind("/etc/passwd").unwrap(), StreamKind::File);
        assert_eq!(kind("/dev/null").unwrap(), StreamKind::Null);
        assert_eq!(kind("/dev/zero").unwrap(), StreamKind::Zero);
        assert_eq!(kind("/dev/full").unwrap(), StreamKind::Full);
    }

    #[test]
    fn refuses_directories_other_devices_and_what_has_no_type() {
        assert!(matches!(kind("/"), Err(StreamError::Directory)));
        assert!(matches!(kind("/dev/urandom"), Err(StreamError::Device { major: 1, minor: 9 })));
        let event = rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).unwrap();
        assert!(matches!(check_stream(event), Err(StreamError::Nameless)));
    }

    #[test]
    fn a_file_in_memory_is_refused_unless_nobody_can_write_it() {
        use rustix::fs::{MemfdFlags, fcntl_add_seals, memfd_create};
        let file = memfd_create(c"file", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        // The control: what is given for reading alone can be written, and landlock does not look.
        let reading = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        let link = format!("/proc/self/fd/{}", reading.as_raw_fd());
        File::options().write(true).open(&link).unwrap();
        assert!(matches!(check_stream(&reading), Err(StreamError::Memory)));
        fcntl_add_seals(&file, SealFlags::WRITE).unwrap();
        assert_eq!(check_stream(&reading).unwrap(), StreamKind::File);
        // A shell's here-document is a file of a file system that was deleted.
        assert_eq!(check_stream(tempfile::tempfile().unwrap()).unwrap(), StreamKind::File);
    }

    #[test]
    fn a_directory_opened_only_as_a_path_is_one_too() {
        let path = rustix::fs::open("/", rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
        assert!(matches!(check_stream(path), Err(StreamError::Directory)));
    }
}
