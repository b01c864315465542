//! A terminal that goes away under a sandbox: the window is closed, or the connection is lost.

use std::time::Duration;

use crate::machine::callers;
use crate::place::Place;
use crate::traces;

/// Sits before a terminal in which a command runs, and goes away without a word when that is ready.
const WINDOW: &str = r#"
import os, pty, sys
child, master = pty.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
seen = b""
while b"ready" not in seen:
    seen += os.read(master, 4096)
os._exit(0)
"#;

/// An agent that does not want to hear of it has ten seconds, and PID 1 two more.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn everything_inside_ends_with_its_terminal() {
    let trees = [
        "sleep 1000 & echo rea''dy; wait",
        "trap '' HUP TERM; setsid sleep 1000 & echo rea''dy; while :; do sleep 1000; done",
        // Nobody reads what it writes.
        "trap '' HUP TERM; echo rea''dy; while :; do echo line; done",
    ];
    for caller in callers("terminals that hang up") {
        for tree in trees {
            let place = Place::new(caller);
            let flags: [&str; 0] = [];
            let run = place.run(&flags, &["sh", "-c", tree]);
            let words = ["python3", "-c", WINDOW].map(Into::into).into_iter().chain(run);
            let status = place.outside(&words.collect::<Vec<_>>()).status().unwrap();
            assert!(status.success(), "the window of `{tree}`, by {caller:?}: {status}");
            traces::until_no_process_is_left(&place, PATIENCE);
        }
    }
}
