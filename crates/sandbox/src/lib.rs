//! Providers of sandboxes, and what they need on the host.
//!
//! A provider gets a [`policy::plan::Plan`], never configuration. This crate returns data: it does not print,
//! and it reads neither the home directory nor the environment of its caller. It may be called by any number of threads at once.
//!
//! A program that wants sandboxes for its commands needs a plan, which `sandboxctl plan --format json` prints and
//! [`policy::Policy`] makes, and a directory for records:
//!
//! ```no_run
//! use std::io::{Read, Write};
//! use std::time::Duration;
//!
//! use sandbox::{Caller, Command, Notice};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let plan_as_json = String::new();
//! let plan: policy::plan::Plan = serde_json::from_str(&plan_as_json)?;
//! let caller = Caller::new("/home/me/.local/state/my-agent", "/home/me", std::env::vars_os());
//! let mut notice = |notice| {
//!     if let Notice::Warning(warning) = notice {
//!         eprintln!("{warning}");
//!     }
//! };
//! let sandbox = caller.create(&plan, &mut notice)?;
//!
//! // A command to its end. Its deadline is enforced beside it, and the sandbox lives on.
//! let tests = Command::new("make").args(["test"]).timeout(Duration::from_secs(600));
//! let outcome = sandbox.output(tests)?;
//! println!("{:?} after {:?}", outcome.end, outcome.duration);
//!
//! // One that is talked with. Others may run beside it, from other threads too.
//! let mut python = sandbox.spawn(Command::new("python3").args(["-u", "-c", "print(int(input()) * 2)"]))?;
//! if let Some(stdin) = &mut python.stdin {
//!     stdin.write_all(b"21\n")?;
//! }
//! let mut answer = String::new();
//! if let Some(stdout) = &mut python.stdout {
//!     stdout.read_to_string(&mut answer)?;
//! }
//! python.wait()?;
//!
//! caller.remove(&sandbox, Duration::from_secs(10), &mut notice)?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod batch;
pub mod boundary;
pub mod doctor;
pub mod engine;
pub mod host;
pub mod image;
pub mod provider;
pub mod secrets;
pub mod session;
pub mod shell;
pub mod state;
pub mod tools;

pub use confine::protocol::{Attachment, EndCause};

pub use self::provider::create::Caller;
pub use self::session::outcome::{End, Notice, Outcome};
pub use self::session::staying::spawn::{Command, RunningCommand};
pub use self::state::sandboxes::StayingSandbox as Sandbox;
pub use self::tools::FileTools;
