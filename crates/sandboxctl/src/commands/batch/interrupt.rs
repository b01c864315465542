//! Signals that end a batch: the first one cancels every task, and another one ends this process at once.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpid, kill_process};
use sandbox::host::terminal::Signals;

const ENDING: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];

/// The signal that has ended the batch, if one has.
#[derive(Clone, Default)]
pub(super) struct Interrupt(Arc<AtomicI32>);

impl Interrupt {
    pub(super) fn signal(&self) -> Option<i32> {
        Some(self.0.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    /// Watches for signals in a thread of its own, until the process ends. They are blocked in every thread that is made after
    /// them.
    pub(super) fn watch(signals: Signals, cancel: impl Fn() + Send + 'static) -> io::Result<Self> {
        let interrupt = Self::default();
        let seen = interrupt.clone();
        let ignored = ignored();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            while let Some(signal) = next(&signals) {
                if signal == Signal::TSTP {
                    // As if it had not been blocked.
                    let _ = kill_process(getpid(), Signal::STOP);
                } else if !ENDING.contains(&signal) || ignored & (1 << (signal.as_raw() - 1)) != 0 {
                    // Of a window, or one that nohup(1) has seen to.
                } else if seen.0.swap(signal.as_raw(), Ordering::SeqCst) == 0 {
                    cancel();
                } else {
                    // From here on this thread takes it as a process does that has no plans for it.
                    drop(signals);
                    let _ = kill_process(getpid(), signal);
                    return;
                }
            }
        })?;
        Ok(interrupt)
    }
}

/// Waits for a signal.
fn next(signals: &Signals) -> Option<Signal> {
    loop {
        match signals.read() {
            Ok(Some(signal)) => return Signal::from_named_raw(signal as i32),
            Ok(None) => drop(poll(&mut [PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)], None)),
            Err(_) => return None,
        }
    }
}

/// Returns the signals that this process was started to ignore, a bit for each: see `SigIgn` in `proc_pid_status(5)`.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
