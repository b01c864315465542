//! Linux mechanisms of isolation, each in its own module, and the order in which they are put on.

pub mod account;
pub mod capabilities;
pub mod cgroup;
pub mod credentials;
pub mod file_id;
pub mod guard;
pub mod init;
pub mod kernel_file;
pub mod landlock;
pub mod lockdown;
pub mod log_ring;
pub mod mount;
pub mod process;
pub mod protocol;
pub mod report;
pub mod rlimit;
pub mod seccomp;
mod sys;
pub mod tree;
pub mod trust_store;

pub use self::sys::{
    Clearing, become_user_in, clear_variables, close_from_on_exec, duplicate_passed, leave_behind,
    leave_behind_in,
};
