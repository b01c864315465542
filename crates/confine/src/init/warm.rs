//! PID 1 of a sandbox that is made ahead: it has nothing of any command yet, and waits for the client that is going to use it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

use super::exec::timespec;
use crate::protocol::{ControlSocket, Event, Request, Warm};

/// What a PID 1 has that a client has taken.
pub(super) struct Taken {
    /// The socket to that client, and its lifeline.
    pub(super) control: ControlSocket,
    /// Never read: what is locked through them is locked for as long as this process lives.
    pub(super) held: Vec<OwnedFd>,
}

/// Waits for the client that is going to use this sandbox; `None` where nobody has come in time, or the first client has gone before
/// it has left.
pub(super) fn wait_for_client(mut control: ControlSocket, warm: Warm) -> io::Result<Option<Taken>> {
    let mut held = control.take_descriptors();
    if held.len() != 1 + usize::from(warm.held) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a sandbox that waits without its files"));
    }
    let listener = held.remove(0);
    // Until its client has noted that it is there, this process ends with it: nobody would find it.
    control.send(&Event::Ready, &[])?;
    let Some(Request::Leave) = control.receive()? else { return Ok(None) };
    rustix::process::set_parent_process_death_signal(None)?;
    control.send(&Event::Stays, &[])?;
    drop(control);

    let began = Instant::now();
    loop {
        let left = warm.max_age.saturating_sub(began.elapsed());
        if left == Duration::ZERO {
            return Ok(None);
        }
        match poll(&mut [PollFd::new(&listener, PollFlags::IN)], Some(&timespec(left))) {
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        let stream = match accept_with(listener.as_fd(), SocketFlags::CLOEXEC) {
            Ok(stream) => stream,
            Err(Errno::INTR | Errno::CONNABORTED | Errno::AGAIN) => continue,
            Err(errno) => return Err(errno.into()),
        };
        // A process of another PID namespace has no number in this one. Nothing of a command runs here, but an engine lets its other
        // users start programs in any container.
        if getsockopt(&stream, PeerCredentials).is_ok_and(|peer| peer.pid() == 0) {
            let mut control = ControlSocket::from(stream);
            // The first says that this process lives; what the others lock is the client's too from here on.
            let shared: Vec<_> = held.iter().skip(1).map(AsFd::as_fd).collect();
            control.send(&Event::Ready, &shared)?;
            return Ok(Some(Taken { control, held }));
        }
    }
}
