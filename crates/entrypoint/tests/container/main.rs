//! The real program as PID 1 of a throw-away container.
//!
//! `SANDBOX_TEST_FEATURES`, a list with commas (`root,userns,landlock,cgroup`), names what this machine offers. Tests of a
//! feature that is named and absent fail; of one that is neither named nor there they print that they were not run.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]
#![expect(clippy::print_stdout, reason = "what was not run is said")]

mod credentials;
#[path = "../support/ended.rs"]
mod ended;
mod environment;
mod execution;
mod image;
mod init;
mod start_modes;
mod users;

use std::process::Command;

/// What some tests need of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Feature {
    /// To be root, with mounts, namespaces and other users.
    Root,
    /// User namespaces.
    Userns,
    /// Landlock, by the newest kernel that this code knows or an older one.
    Landlock,
}

/// Whether the machine offers a feature.
#[track_caller]
pub(crate) fn offers(feature: Feature) -> bool {
    let (name, there) = match feature {
        Feature::Root => ("root", rustix::process::geteuid().is_root()),
        Feature::Userns => (
            "userns",
            Command::new("unshare").args(["--user", "true"]).status().is_ok_and(|status| status.success()),
        ),
        Feature::Landlock => ("landlock", confine::landlock::abi().is_some()),
    };
    let declared = std::env::var("SANDBOX_TEST_FEATURES").unwrap_or_default();
    assert!(there || !declared.split(',').any(|one| one == name), "`{name}` is declared and absent");
    if !there {
        println!("not run: this machine does not offer `{name}`");
    }
    there
}
