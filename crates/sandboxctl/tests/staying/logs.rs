//! What a detached command writes.

use std::io::{BufRead, BufReader, Read};

use serde_json::Value;

use crate::machine::callers;
use crate::place::Place;
use crate::{Staying, name, ours, said, wherever};

#[test]
fn both_streams_are_kept_in_order_and_apart() {
    for (caller, runner) in wherever("logs") {
        let place = Place::on(caller, runner);
        let script = "echo one; echo two >&2; printf '\\377'; printf three";
        let _sandbox = Staying::run(&place, &[], &["sh", "-c", script]);
        said(&ours(&place, &["wait", &name(&place)]).output().unwrap());
        let output = ours(&place, &["logs", &name(&place)]).output().unwrap();
        assert_eq!(
            (&output.stdout[..], &output.stderr[..]),
            (&b"one\n\xffthree"[..], &b"two\n"[..]),
            "in {runner:?} by {caller:?}"
        );
        let lines = said(&ours(&place, &["logs", "--format", "json", &name(&place)]).output().unwrap());
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let streams: Vec<_> = lines.iter().map(|line| line["stream"].as_str().unwrap()).collect();
        assert!(streams.contains(&"stdout") && streams.contains(&"stderr"), "{lines:?}");
        let tail = ours(&place, &["logs", "--tail", "1", &name(&place)]).output().unwrap();
        assert!(tail.stdout.ends_with(b"three") && !tail.stdout.starts_with(b"one"), "{tail:?}");
        let stamped = ours(&place, &["logs", "--timestamps", &name(&place)]).output().unwrap();
        assert!(String::from_utf8_lossy(&stamped.stderr).ends_with(" two\n"), "{stamped:?}");
        let late = ours(&place, &["logs", "--since", "1ms", &name(&place)]).output().unwrap();
        assert_eq!(late.stdout, b"");
    }
}

#[test]
fn a_log_that_is_followed_ends_with_its_sandbox() {
    for caller in callers("logs --follow") {
        let place = Place::new(caller);
        let script = "echo first; until test -e go; do :; done; echo last";
        let _sandbox = Staying::run(&place, &[], &["sh", "-c", script]);
        let mut following = ours(&place, &["logs", "--follow", &name(&place)]).spawn().unwrap();
        let mut stdout = BufReader::new(following.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "first\n");
        std::fs::write(place.workspace().join("go"), "").unwrap();
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "last\n", "by {caller:?}");
        assert!(following.wait().unwrap().success());
    }
}

#[test]
fn a_log_holds_what_was_written_last_and_no_more() {
    for caller in callers("the size of logs") {
        let place = Place::new(caller);
        place.write("home/.config/sandboxctl/sandbox.toml", "[limits]\noutput_bytes = \"64k\"\n");
        let _sandbox = Staying::run(&place, &[], &["seq", "1", "200000"]);
        said(&ours(&place, &["wait", &name(&place)]).output().unwrap());
        let log = said(&ours(&place, &["logs", &name(&place)]).output().unwrap());
        assert!(
            log.ends_with("\n199999\n200000\n") && log.len() <= 64 << 10,
            "{} bytes by {caller:?}",
            log.len()
        );
        assert!(log.len() > 16 << 10, "{}", log.len());
        let kept = std::fs::read_dir(place.home().join(".local/state/sandboxctl/sandboxes")).unwrap();
        let sizes = kept.filter_map(|entry| std::fs::metadata(entry.unwrap().path().join("stdout")).ok());
        assert!(sizes.map(|file| file.len()).sum::<u64>() <= 65 << 10);
    }
}
