//! Listeners in the network of the sandbox, which PID 1 opens and the egress proxy outside serves.

use std::fs;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use policy::rules::network::egress::{DNS, PROXY};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

use crate::protocol::{ListenerPort, Listeners};

/// From which port on a program needs no capability to listen there, in the network of this process (ip-sysctl).
const UNPRIVILEGED_PORTS: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

/// How many connections wait to be accepted. The kernel takes its own limit where that is lower (`somaxconn`).
const BACKLOG: i32 = 4096;

/// How much the kernel holds of what passes, each way, in bytes.
const BUFFER: usize = 256 << 10;

/// How many requests are answered in a row: the lifeline must not wait for a proxy that asks without end.
const REQUESTS: usize = 16;

/// The way to the egress proxy, while there is one.
pub(super) struct ProxyListeners(Option<ListenerPort>);

impl ProxyListeners {
    /// Opens the first listeners and hands them out. Afterwards no port is privileged in the network of the sandbox: listeners
    /// on any are opened later, when no capability is left.
    pub(super) fn open(port: Option<OwnedFd>) -> Result<Self, Errno> {
        let Some(port) = port.map(ListenerPort::from) else { return Ok(Self(None)) };
        // An engine has done so already, or has been asked to, and then keeps it from being written.
        let _ = fs::write(UNPRIVILEGED_PORTS, "0");
        if fs::read_to_string(UNPRIVILEGED_PORTS).is_ok_and(|port| port.trim() != "0") {
            return Err(Errno::ACCESS);
        }
        port.send_first(&Listeners {
            proxy: open(SocketType::STREAM, PROXY)?,
            dns_udp: open(SocketType::DGRAM, DNS)?,
            dns_tcp: open(SocketType::STREAM, DNS)?,
        })?;
        Ok(Self(Some(port)))
    }

    /// Returns no way to any proxy.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Returns what requests arrive on.
    pub(super) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(AsFd::as_fd)
    }

    /// Answers what has arrived. A proxy that is gone has closed all listeners with itself: nothing leaves any more.
    pub(super) fn on_ready(&mut self) {
        let Some(port) = &self.0 else { return };
        for _ in 0..REQUESTS {
            match port.request() {
                Ok(None) => return,
                Ok(Some(at)) if port.answer(at, &open(SocketType::STREAM, at)).is_ok() => {}
                Ok(Some(_)) | Err(_) => {
                    self.0 = None;
                    return;
                }
            }
        }
    }
}

/// Opens a socket that listens, where it is one of a stream, at exactly this address: servers inside may have all others.
fn open(kind: SocketType, at: SocketAddrV4) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, kind, flags, None)?;
    if kind == SocketType::STREAM {
        // A connection that was closed a moment ago holds the port no longer.
        rustix::net::sockopt::set_socket_reuseaddr(&socket, true)?;
    }
    // What it accepts has these sizes, too. Nothing is far away in here, and the memory is in no cgroup of the sandbox.
    rustix::net::sockopt::set_socket_recv_buffer_size(&socket, BUFFER)?;
    rustix::net::sockopt::set_socket_send_buffer_size(&socket, BUFFER)?;
    bind(&socket, &at)?;
    if kind == SocketType::STREAM {
        listen(&socket, BACKLOG)?;
    }
    Ok(socket)
}
