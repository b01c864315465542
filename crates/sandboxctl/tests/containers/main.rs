//! Sandboxes in containers of real engines, from outside: what they answer, whose files they write, and that nothing of
//! them stays.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

mod answers;
mod behind_sudo;
mod device_nodes;
mod doctor;
mod elsewhere;
mod environment;
mod exec;
mod exec_ends;
mod exec_isolation;
mod hostile_images;
mod ids;
mod images;
mod killed;
mod moved_images;
mod owners;
mod pool;
mod process_limits;
mod shortages;
mod swapped;

#[path = "../support/machine.rs"]
mod machine;
#[path = "../support/place.rs"]
mod place;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/ready.rs"]
mod ready;
#[path = "../support/system_path.rs"]
mod system_path;

use crate::machine::{Caller, Runner, callers, runners};

/// Every caller with every engine that it can use here.
fn everywhere(test: &str) -> Vec<(Caller, Runner)> {
    let all = callers(test).into_iter();
    let all = all.flat_map(|caller| runners(caller, test).into_iter().map(move |runner| (caller, runner)));
    all.filter(|(_, runner)| *runner != Runner::Native).collect()
}
