//! A terminal that goes away under a sandbox, because the window is closed or the connection is lost, and one that answers.

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

/// Sits before a terminal in which a shell runs a script, answers where the cursor is, and prints what the shell would read next.
const ANSWERS: &str = r#"
import os, pty, sys, termios, tty
child, master = pty.fork()
if child == 0:
    tty.setraw(0)
    os.system(sys.argv[1])
    # Whatever was asked has been answered: an answer to this question comes behind it.
    os.write(1, b"\x1b[5n")
    left = b""
    while b"LAST" not in left:
        left += os.read(0, 4096)
    os.write(1, b"LEFT" + left + b"END")
    os._exit(0)
seen, answers = b"", [(b"\x1b[6n", b"ANSWER"), (b"\x1b[5n", b"LAST")]
while b"END" not in seen:
    seen += os.read(master, 4096)
    for question, answer in [one for one in answers if one[0] in seen]:
        answers.remove((question, answer))
        os.write(master, answer)
print(seen.decode(errors="replace"))
"#;

#[test]
fn what_a_terminal_answers_to_the_agent_is_not_for_whoever_reads_from_it_next() {
    for caller in callers("what a terminal answers") {
        let place = Place::new(caller);
        let run = |redirected: &str| {
            let shown = |words: &[std::ffi::OsString]| {
                let quoted = words.iter().map(|word| format!("'{}'", word.to_str().unwrap()));
                quoted.collect::<Vec<_>>().join(" ")
            };
            let flags = ["--quiet"];
            let run = place.run(&flags, &["printf", "shown\\033[6n\\033[1mbold"]);
            let script = if redirected == "control" {
                "printf 'shown\\033[6n\\033[1mbold'".to_owned()
            } else {
                redirected.replace("RUN", &shown(&run))
            };
            let output =
                place.outside(&["timeout", "60", "python3", "-c", ANSWERS, &script]).output().unwrap();
            assert!(output.status.success(), "{redirected}: {output:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert!(run("control").contains("LEFTANSWERLAST"), "the control: {}", run("control"));
        for redirected in
            ["RUN", "RUN </dev/null", "echo x | RUN", "RUN </dev/null >&2", "RUN </dev/null 2>/dev/null"]
        {
            let seen = run(redirected);
            assert!(seen.contains("LEFTLASTEND"), "{redirected} by {caller:?}: {seen:?}");
            assert!(
                seen.contains("shown") && seen.contains("\x1b[1mbold"),
                "{redirected} by {caller:?}: {seen:?}"
            );
        }
    }
}
