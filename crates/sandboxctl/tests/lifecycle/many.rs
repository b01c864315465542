//! Many runs, beside each other and one after another.

use std::process::Stdio;

use crate::machine::callers;
use crate::place::Place;
use crate::traces;

/// Runs one after another, of all callers together.
const IN_A_ROW: usize = 1000;

const NO_FLAGS: [&str; 0] = [];

#[test]
fn twenty_runs_beside_each_other_leave_nothing() {
    for caller in callers("parallel runs") {
        let place = Place::new(caller);
        let runs: Vec<_> = (0..20)
            .map(|number| {
                let script = format!("echo {number}; cat");
                let run = place
                    .inside(&NO_FLAGS, &["sh", "-c", &script])
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .spawn();
                (number, run.unwrap())
            })
            .collect();
        let mut clients = Vec::new();
        for (number, mut run) in runs {
            clients.push(run.id());
            drop(run.stdin.take());
            let output = run.wait_with_output().unwrap();
            assert!(output.status.success(), "run {number} by {caller:?}");
            assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{number}\n"));
        }
        assert_eq!(traces::of(&place, &clients), Vec::<String>::new(), "by {caller:?}");
    }
}

#[test]
fn a_thousand_runs_in_a_row_leave_nothing() {
    let callers = callers("runs in a row");
    for caller in &callers {
        let place = Place::new(*caller);
        let mut clients = Vec::new();
        for number in 0..IN_A_ROW / callers.len() {
            let mut client = place.inside(&NO_FLAGS, &["true"]).spawn().unwrap();
            clients.push(client.id());
            let status = client.wait().unwrap();
            assert!(status.success(), "run {number} by {caller:?}: {status}");
        }
        assert_eq!(traces::of(&place, &clients), Vec::<String>::new(), "by {caller:?}");
    }
}
