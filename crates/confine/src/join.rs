//! Joining the mount namespace of a container, to mount what its engine cannot: trees whose owners are mapped.
//!
//! Only root does this, and in a process of its own: a namespace of mounts is joined by a process with one thread.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::enter::Step;
use crate::start::Outside;
use crate::sys;
use crate::view::View;

/// How the program of PID 1 is told to join a container and mount. Its standard input is the control socket.
pub const ARGUMENT: &str = "--join";

/// What is to be mounted. Descriptors: the namespace, then the trees of the view.
#[derive(Debug, Deserialize, Serialize)]
struct Order {
    view: View,
}

/// What became of it.
#[derive(Debug, Deserialize, Serialize)]
enum Answer {
    Mounted,
    Failed { step: Step, errno: i32 },
}

/// Why nothing, or not all, was mounted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A step failed.
    #[error("{}: {source}", step.describe())]
    Step {
        /// What was being done.
        step: Step,
        /// What the system said.
        source: io::Error,
    },
    /// The process that joins could not be started, or has not answered.
    #[error(transparent)]
    Process(#[from] io::Error),
}

/// Mounts a view over what the process `pid` sees. `program` is the program of PID 1.
pub fn mount(program: &OwnedFd, pid: i32, mut view: View) -> Result<(), Error> {
    // 1. The namespace. The process waits for us on its control socket, so its number is still its own.
    let namespace = File::open(format!("/proc/{pid}/ns/mnt"))?;
    if namespace.metadata()?.ino() == Outside::namespace("mnt")? {
        return Err(Error::Process(io::Error::other("the process is in the mount namespace of the host")));
    }

    // 2. A process that joins it.
    let (mut ours, theirs) = Control::pair()?;
    let mut child = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()))
        .arg(ARGUMENT)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;

    // 3. What it is to mount there.
    let trees = view.take_trees();
    let descriptors: Vec<BorrowedFd<'_>> =
        std::iter::once(namespace.as_fd()).chain(trees.iter().map(AsFd::as_fd)).collect();
    let answer = ours.send(&Order { view }, &descriptors).and_then(|()| ours.receive());
    child.wait()?;
    match answer? {
        Some(Answer::Mounted) => Ok(()),
        Some(Answer::Failed { step, errno }) => {
            Err(Error::Step { step, source: io::Error::from_raw_os_error(errno) })
        }
        None => Err(Error::Process(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// The whole life of the process that joins. The returned code is its exit status.
pub fn run() -> io::Result<u8> {
    let mut control = Control::from(sys::inherited(0)?);
    let Some(Order { mut view }) = control.receive()? else { return Ok(125) };
    let mut descriptors = control.take_descriptors();
    if descriptors.is_empty() {
        return Ok(125);
    }
    let namespace = descriptors.remove(0);
    view.claim_trees(&mut descriptors);
    let joined = move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))
        .and_then(|()| {
            rustix::fs::open(c"/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        })
        .map_err(|errno| (Step::Join, errno));
    let mounted = joined.and_then(|root| {
        view.build(root.as_fd()).map_err(|(described, errno)| (Step::View(described), errno))
    });
    let (answer, code) = match mounted {
        Ok(()) => (Answer::Mounted, 0),
        Err((step, errno)) => (Answer::Failed { step, errno: errno.raw_os_error() }, 125),
    };
    control.send(&answer, &[])?;
    Ok(code)
}
