//! A client whose parent ends, or for whom nobody waits any more.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::machine::callers;
use crate::place::Place;
use crate::traces;

const PATIENCE: Duration = Duration::from_secs(30);

/// Goes on when it is told to, and leaves word that it does.
const AGENT: [&str; 3] = ["sh", "-c", ": > ready; until [ -e go ]; do sleep 0.1; done; : > went-on"];

/// Starts what its arguments say and waits for it.
const PARENT: &str = "\"$@\" > /dev/null 2>&1 < /dev/null & wait";

/// Starts what its arguments say, its input and both outputs pipes of its own. A first argument names a file that takes
/// the outputs instead.
const FRAMEWORK: &str = r#"
import os, signal, subprocess, sys
out = open(sys.argv[1], "w") if sys.argv[1] else subprocess.PIPE
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT)
print("started", flush=True)
signal.pause()
"#;

fn until(what: &Path, name: &str) {
    let asked = Instant::now();
    while !what.exists() {
        assert!(asked.elapsed() < PATIENCE, "{name}: {} is not there", what.display());
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_sandbox_dies_with_the_parent_of_its_client_where_that_is_asked_for() {
    for caller in callers("the death of a parent") {
        for (flags, dies) in [(&["-q", "--die-with-parent"][..], true), (&["-q"], false)] {
            let place = Place::new(caller);
            let start = ["sh", "-c", PARENT, "sh"].map(Into::into).into_iter();
            let words: Vec<_> = start.chain(place.run(flags, &AGENT)).collect();
            let mut parent = place.outside(&words).stdin(Stdio::null()).spawn().unwrap();
            let name = format!("{flags:?} by {caller:?}");
            until(&place.workspace().join("ready"), &name);
            traces::kill(parent.id(), Signal::KILL);
            parent.wait().unwrap();
            if dies {
                traces::until_no_process_is_left(&place, PATIENCE);
            } else {
                place.write("workspace/go", "");
                until(&place.workspace().join("went-on"), &name);
                traces::until_no_process_is_left(&place, PATIENCE);
            }
        }
    }
}

#[test]
fn a_start_ends_with_the_parent_of_its_client_where_that_is_asked_for() {
    for caller in callers("the death of a parent during the start") {
        for (flags, dies) in [(&["-q", "--die-with-parent"][..], true), (&["-q"], false)] {
            let place = Place::new(caller);
            // The start waits for what a secret's command reads, and the command for whoever writes that.
            let pipe = place.home().join("pipe");
            assert!(place.outside(&["mkfifo".as_ref(), pipe.as_os_str()]).status().unwrap().success());
            let secret =
                format!("mode = \"inject\"\nenv_var = \"S\"\nsource = \"command:cat {}\"\n", pipe.display());
            place.write("home/.config/sandboxctl/sandbox.toml", &format!("[secrets.s]\n{secret}"));
            let start = ["sh", "-c", PARENT, "sh"].map(Into::into).into_iter();
            let words: Vec<_> = start.chain(place.run(flags, &AGENT)).collect();
            let mut parent = place.outside(&words).stdin(Stdio::null()).spawn().unwrap();
            let name = format!("{flags:?} by {caller:?}");
            // Opened once somebody reads.
            let mut writer = File::options().write(true).open(&pipe).unwrap();
            traces::kill(parent.id(), Signal::KILL);
            parent.wait().unwrap();
            if dies {
                traces::until_no_process_is_left(&place, PATIENCE);
                assert!(!place.workspace().join("ready").exists(), "{name}");
                assert!(!place.home().join(".local/state/sandboxctl/runs").exists(), "{name}");
            } else {
                writer.write_all(b"value").unwrap();
                drop(writer);
                until(&place.workspace().join("ready"), &name);
                place.write("workspace/go", "");
                until(&place.workspace().join("went-on"), &name);
                traces::until_no_process_is_left(&place, PATIENCE);
            }
        }
    }
}

#[test]
fn a_sandbox_ends_when_its_input_has_closed_and_nobody_reads_its_output() {
    for caller in callers("frameworks that die") {
        for (file, dies) in [("", true), ("output", false)] {
            let place = Place::new(caller);
            let start = ["python3", "-c", FRAMEWORK, file].map(Into::into).into_iter();
            let words: Vec<_> = start.chain(place.run(&["-q"], &AGENT)).collect();
            let mut framework = place.outside(&words).stdout(Stdio::piped()).spawn().unwrap();
            let mut line = String::new();
            BufReader::new(framework.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
            let name = format!("output to {file:?} by {caller:?}");
            until(&place.workspace().join("ready"), &name);
            traces::kill(framework.id(), Signal::KILL);
            framework.wait().unwrap();
            if dies {
                traces::until_no_process_is_left(&place, PATIENCE);
                assert!(!place.workspace().join("went-on").exists(), "{name}");
            } else {
                place.write("workspace/go", "");
                until(&place.workspace().join("went-on"), &name);
                traces::until_no_process_is_left(&place, PATIENCE);
            }
        }
    }
}
