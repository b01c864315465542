//! The supervisor of a persistent sandbox without isolation: it does for processes of the host what PID 1 does for those of a
//! namespace, and everything that it starts stays below it.

use std::io;

use nix::sys::signal::SigSet;
use rustix::process::{Signal, getpid, set_child_subreaper, set_parent_process_death_signal, setsid};

use super::descriptors::{Descriptors, StayDescriptors};
use super::listeners::ProxyListeners;
use super::scope::Scope;
use super::stay::{InitialCommand, Staying};
use crate::capabilities;
use crate::process::reap;
use crate::process::start::{self, Neighbours, NotStarted};
use crate::process::stdio;
use crate::protocol::{ControlSocket, Event, HostSpec};
use crate::report::Report;

/// Runs it, with the control socket as standard input. The returned code is its exit status.
pub fn run() -> io::Result<u8> {
    // 1. Nobody may look into this process, which gets secrets. Until its client leaves it, it ends with that.
    capabilities::not_dumpable().map_err(io::Error::other)?;
    reap::keep_ended_children();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut control = ControlSocket::from(rustix::stdio::stdin().try_clone_to_owned()?);

    // 2. No terminal of the client's, and every orphan below.
    setsid()?;
    set_child_subreaper(Some(getpid()))?;

    // 3. What to run. The streams of the first command become those of this process, which hands them on.
    let Some(HostSpec { stay, command }) = control.receive()? else { return Ok(125) };
    let mut descriptors = control.take_descriptors();
    let stays = StayDescriptors::take(stay, &mut descriptors)?;
    stdio::replace(&descriptors)?;
    drop(descriptors);

    // 4. Signals are read from a descriptor. Nothing was confined, which the client says.
    SigSet::all().thread_block()?;
    control.send(&Event::Started { report: Report::default(), namespaces: Vec::new() }, &[])?;

    let given = Descriptors { cgroups: Vec::new(), passed: Vec::new() };
    let listeners = ProxyListeners::none();
    let scope = Scope::Descendants;
    let first = command.map(|command| InitialCommand { command, terminal: None });
    match Staying::begin(stays, first, given, Neighbours::Unprotected, listeners, scope, &control) {
        Ok(staying) => staying.serve(control),
        Err(NotStarted::Unexecutable { command, errno }) => {
            control.send(&Event::Unexecutable { command, errno }, &[])?;
            Ok(start::exit_code(errno))
        }
        Err(NotStarted::Failed(failure)) => {
            control.send(&Event::Failed(failure), &[])?;
            Ok(125)
        }
    }
}
