//! Linux mechanisms of isolation, each in its own module, and the order in which they are put on.

pub mod capabilities;
pub mod cgroup;
pub mod command;
pub mod control;
pub mod enter;
pub mod guard;
pub mod init;
mod inside;
pub mod join;
pub mod kernel_file;
pub mod landlock;
pub mod line;
pub mod lockdown;
pub mod mountinfo;
mod probe;
mod reap;
pub mod report;
pub mod rlimit;
pub mod seccomp;
pub mod start;
pub mod supervise;
pub mod switch;
mod sys;
pub mod terminal;
pub mod user;
pub mod view;

pub use self::sys::{Clearing, clear_variables};
