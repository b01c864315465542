//! The network of a sandbox, from inside and from outside: what its rules allow is reached through the egress proxy, and nothing else.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

mod agents;
mod ask;
mod clients;
mod closed;
mod ends;
mod interception;
mod internet;
mod live;
mod open;
mod profiles;
mod refused;
mod requests;
mod secrets;
mod stays;
mod transparent;
mod unreached;

#[path = "../support/machine.rs"]
mod machine;
#[path = "../support/place.rs"]
mod place;
#[path = "../support/ready.rs"]
mod ready;
#[path = "../support/toolchain.rs"]
mod toolchain;

use crate::internet::Internet;
use crate::machine::{Feature, Runner, callers, is_there, runners};
use crate::place::Place;

/// Every caller with everything that can run a sandbox here, each with an internet of its own. Only root can make one.
fn everywhere(test: &str, check: impl FnMut(&Place, Internet, &str)) {
    wherever(test, |_| true, check);
}

/// Every caller with every engine.
fn everywhere_but_natively(test: &str, check: impl FnMut(&Place, Internet, &str)) {
    wherever(test, |runner| runner != Runner::Native, check);
}

/// Docker of every caller, which has the image with clients.
fn in_docker(test: &str, check: impl FnMut(&Place, Internet, &str)) {
    wherever(test, |runner| runner == Runner::Docker, check);
}

/// The configuration that names that image.
fn image_with_clients() -> String {
    format!("[image]\nname = {:?}\n", std::env::var("SANDBOX_TEST_CLIENTS").unwrap())
}

fn wherever(test: &str, is_meant: fn(Runner) -> bool, mut check: impl FnMut(&Place, Internet, &str)) {
    if !is_there(Feature::Root, test) {
        return;
    }
    let all = callers(test).into_iter();
    let all = all.flat_map(|caller| runners(caller, test).into_iter().map(move |runner| (caller, runner)));
    for (caller, runner) in all.filter(|(_, runner)| is_meant(*runner)) {
        let place = Place::on(caller, runner);
        check(&place, Internet::of(&place), &format!("in {runner:?} by {caller:?}"));
    }
}

/// The native sandboxes of every caller alone.
fn natively(test: &str, mut check: impl FnMut(&Place, Internet, &str)) {
    if !is_there(Feature::Root, test) {
        return;
    }
    for caller in callers(test) {
        let place = Place::new(caller);
        check(&place, Internet::of(&place), &format!("by {caller:?}"));
    }
}

/// Bash that speaks to the proxy as a program would: prints all that comes back to a request.
fn ask(request: &str) -> String {
    format!("exec 3<>/dev/tcp/127.0.0.1/61080; printf '{request}' >&3; timeout 10 cat <&3; exec 3>&-")
}

/// The same, but prints the first line alone: the connection may stay open.
fn first_line(request: &str) -> String {
    ask(request).replace("cat", "head -n 1")
}
