//! The control socket between a client on the host and PID 1 inside.
//!
//! A stream of frames: length and body. The socket is also the lifeline: when either side is gone the other
//! reads the end of the stream, and PID 1 then ends everything inside. The agent never holds it.
//!
//! Frames hold secrets, so both sides clear what they have made of one: no buffer grows, because growing leaves a copy behind.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use postcard::ser_flavors::Size;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::{Serialize, de::DeserializeOwned};
use zeroize::Zeroizing;

use crate::sys;

/// The largest body of a frame: arguments and environment together stay below what `execve` takes.
const MAX_FRAME: u32 = 16 << 20;

/// How many descriptors travel with one frame at most: what the kernel takes (`SCM_MAX_FD`, unix(7)).
const MAX_DESCRIPTORS: usize = 253;

impl From<ControlSocket> for OwnedFd {
    fn from(control: ControlSocket) -> Self {
        control.stream.into()
    }
}

/// One side of the socket.
#[derive(Debug)]
pub struct ControlSocket {
    stream: UnixStream,
    received: Vec<OwnedFd>,
}

impl ControlSocket {
    /// Connects to a client that listens at this path.
    pub(crate) fn connect(path: &Path) -> io::Result<Self> {
        Ok(Self::from(OwnedFd::from(UnixStream::connect(path)?)))
    }

    /// Makes both sides of a new socket, closed on exec.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((Self::from(OwnedFd::from(ours)), Self::from(OwnedFd::from(theirs))))
    }

    /// Returns the supplementary groups that whoever has connected had then.
    pub fn peer_groups(&self) -> io::Result<Vec<u32>> {
        Ok(sys::peer_groups(self.stream.as_fd())?)
    }

    /// Sends one frame with its descriptors.
    pub fn send(&mut self, message: &impl Serialize, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let length = postcard::serialize_with_flavor(message, Size::default()).map_err(io::Error::other)?;
        let header = u32::try_from(length).ok().filter(|length| *length <= MAX_FRAME).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "arguments and environment are larger than 16 MiB")
        })?;
        let header = header.to_le_bytes();
        let mut body = Zeroizing::new(vec![0; length]);
        postcard::to_slice(message, &mut body).map_err(io::Error::other)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many descriptors for one frame"));
        }
        let parts = [IoSlice::new(&header), IoSlice::new(&body)];
        let sent =
            rustix::io::retry_on_intr(|| sendmsg(&self.stream, &parts, &mut ancillary, SendFlags::NOSIGNAL))?;
        // The descriptors went with the first byte; what did not fit follows as plain bytes.
        if sent < header.len() {
            self.stream.write_all(&header[sent..])?;
        }
        self.stream.write_all(&body[sent.saturating_sub(header.len())..])
    }

    /// Receives one frame; `None` when the other side is gone.
    pub fn receive<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        let mut header = [0; 4];
        if !self.fill(&mut header)? {
            return Ok(None);
        }
        let length = u32::from_le_bytes(header);
        if length > MAX_FRAME {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is larger than 16 MiB"));
        }
        let mut body = Zeroizing::new(vec![0; length as usize]);
        if !self.fill(&mut body)? {
            return Ok(None);
        }
        postcard::from_bytes(&body)
            .map(Some)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Takes the descriptors that have arrived since the last call.
    pub fn take_descriptors(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.received)
    }

    /// Writes bytes outside of any frame: the one byte that notifies the new process that its ids are mapped.
    pub(crate) fn write_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Fills the buffer, collecting descriptors; false at the end of the stream.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let mut filled = 0;
        while filled < buffer.len() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let got = rustix::io::retry_on_intr(|| {
                recvmsg(
                    &self.stream,
                    &mut [IoSliceMut::new(&mut buffer[filled..])],
                    &mut ancillary,
                    RecvFlags::CMSG_CLOEXEC,
                )
            });
            let got = match got {
                Ok(got) => got.bytes,
                // The other side died with bytes of ours unread: gone is gone.
                Err(rustix::io::Errno::CONNRESET) => 0,
                Err(error) => return Err(error.into()),
            };
            for message in ancillary.drain() {
                if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                    self.received.extend(descriptors);
                }
            }
            if got == 0 {
                return Ok(false);
            }
            filled += got;
        }
        Ok(true)
    }
}

impl From<OwnedFd> for ControlSocket {
    fn from(socket: OwnedFd) -> Self {
        Self { stream: socket.into(), received: Vec::new() }
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Read for ControlSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;

    use super::*;
    use crate::protocol::{Ending, Event, FileRequest, Shortage};

    #[test]
    fn frames_carry_bodies_and_descriptors() {
        let (mut ours, mut theirs) = ControlSocket::pair().unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        ours.send(&Event::Terminal, &[file.as_fd()]).unwrap();
        ours.send(&Event::Ended(Ending::Exited(7)), &[]).unwrap();
        assert!(matches!(theirs.receive::<Event>().unwrap(), Some(Event::Terminal)));
        assert_eq!(theirs.take_descriptors().len(), 1);
        assert!(matches!(theirs.receive::<Event>().unwrap(), Some(Event::Ended(Ending::Exited(7)))));
        assert_eq!(theirs.take_descriptors().len(), 0);
        drop(ours);
        assert!(theirs.receive::<Event>().unwrap().is_none());
    }

    #[test]
    fn paths_need_not_be_text() {
        let path = PathBuf::from(OsStr::from_bytes(b"/caf\xe9"));
        let (mut ours, mut theirs) = ControlSocket::pair().unwrap();
        ours.send(&Event::Short(Shortage::Tmpfs(path.clone())), &[]).unwrap();
        let received = theirs.receive::<Event>().unwrap();
        assert!(matches!(received, Some(Event::Short(Shortage::Tmpfs(other))) if other == path));
        let directories = vec![path, "/".into()];
        ours.send(&FileRequest::Open { directories: directories.clone() }, &[]).unwrap();
        let received = theirs.receive::<FileRequest>().unwrap();
        assert!(matches!(received, Some(FileRequest::Open { directories: others }) if others == directories));
    }

    #[test]
    fn a_frame_larger_than_the_socket_buffer_arrives_whole() {
        let (mut ours, mut theirs) = ControlSocket::pair().unwrap();
        let command = "x".repeat(3 << 20);
        let sent = command.clone();
        let sender = std::thread::spawn(move || {
            ours.send(&Event::Unexecutable { command, errno: 2 }, &[]).unwrap();
        });
        match theirs.receive().unwrap() {
            Some(Event::Unexecutable { command, errno: 2 }) => assert_eq!(command, sent),
            other => panic!("{other:?}"),
        }
        sender.join().unwrap();
    }

    #[test]
    fn refuses_a_frame_that_claims_to_be_huge() {
        let (mut ours, mut theirs) = ControlSocket::pair().unwrap();
        ours.write_raw(&u32::MAX.to_le_bytes()).unwrap();
        assert_eq!(theirs.receive::<Event>().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
