//! Clients and PID 1 killed, and records that are damaged: what is listed is true all the same.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::machine::callers;
use crate::place::Place;
use crate::{PATIENCE, Staying, error_code, everywhere, name, ours, said};

#[test]
fn a_pid_1_that_is_killed_is_stopped_and_nothing_of_it_runs() {
    for (caller, runner) in everywhere("PID 1 killed") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let mut running = sandbox.exec(&[], &["sleep", "1000"]).spawn().unwrap();
        sandbox.wait_until("it runs", |seen| seen["status"]["commands"] == 1);
        let pid = i32::try_from(sandbox.inspect()["pid"].as_i64().unwrap()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        assert_eq!(running.wait().unwrap().code(), Some(137), "in {runner:?} by {caller:?}");
        let seen = sandbox.wait_until("it has ended", |seen| seen["state"] == "stopped");
        assert_eq!(seen["end"]["ended_by"], "unknown");
        assert_eq!(said(&ours(&place, &["wait", &name(&place)]).output().unwrap()), "137\n");
    }
}

#[test]
fn a_client_killed_while_it_makes_one_leaves_one_that_runs_or_none() {
    for caller in callers("clients killed while they create") {
        let place = Place::new(caller);
        let began = Instant::now();
        drop(Staying::create(&place, &[]));
        let whole = began.elapsed();
        for step in 0..20_u32 {
            let mut client =
                ours(&place, &["create", "--name", &name(&place)]).stdin(Stdio::null()).spawn().unwrap();
            // The moments are the attack itself.
            std::thread::sleep(whole * step / 20);
            client.kill().unwrap();
            client.wait().unwrap();
            let until = Instant::now() + PATIENCE;
            let state = loop {
                let seen = ours(&place, &["inspect", &name(&place)]).output().unwrap();
                let text = String::from_utf8_lossy(&seen.stdout).into_owned();
                // Until PID 1 has noticed that its client is gone, it is being created.
                if !text.contains("\"state\": \"creating\"") {
                    break text;
                }
                assert!(Instant::now() < until, "{text}");
            };
            if state.contains("\"state\": \"running\"") {
                let works = ours(&place, &["exec", &name(&place), "--", "true"]).output().unwrap();
                assert!(works.status.success(), "step {step} by {caller:?}: {works:?}");
                said(&ours(&place, &["rm", "--force", &name(&place)]).output().unwrap());
            }
        }
        said(&ours(&place, &["prune"]).output().unwrap());
        let kept = place.home().join(".local/state/sandboxctl/sandboxes");
        let mut kept: Vec<_> = fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        kept.sort();
        assert_eq!(kept, [".events", ".events.lock", ".names"], "by {caller:?}");
        let left = said(&ours(&place, &["ls", "--all", "--quiet"]).output().unwrap());
        assert!(left.starts_with("no sandbox runs"), "by {caller:?}: {left}");
    }
}

#[test]
fn two_clients_that_race_for_one_name_get_one_sandbox() {
    for caller in callers("a race for a name") {
        let place = Place::new(caller);
        let start =
            |_| ours(&place, &["create", "--format", "json", "--name", &name(&place)]).spawn().unwrap();
        let all: Vec<_> = (0..8).map(start).collect();
        let outputs: Vec<_> = all.into_iter().map(|client| client.wait_with_output().unwrap()).collect();
        let made = outputs.iter().filter(|output| output.status.success()).count();
        let refused = outputs.iter().filter(|output| !output.status.success());
        assert!(refused.into_iter().all(|output| error_code(output) == "sandbox.name_in_use"), "{outputs:?}");
        assert_eq!(made, 1, "by {caller:?}");
        said(&ours(&place, &["rm", "--force", &name(&place)]).output().unwrap());

        // A run that has the name has it for as long as its command takes.
        let start = |_| {
            let words = ["run", "--format", "json", "--name", &name(&place), "--", "sleep", "8"];
            ours(&place, &words).spawn().unwrap()
        };
        let all: Vec<_> = (0..4).map(start).collect();
        let outputs: Vec<_> = all.into_iter().map(|client| client.wait_with_output().unwrap()).collect();
        let ran = outputs.iter().filter(|output| output.status.success()).count();
        let refused = outputs.iter().filter(|output| !output.status.success());
        assert!(refused.into_iter().all(|output| error_code(output) == "sandbox.name_in_use"), "{outputs:?}");
        assert_eq!(ran, 1, "by {caller:?}");
    }
}

#[test]
fn a_record_that_cannot_be_read_is_said_and_stops_nobody() {
    for caller in callers("damaged records") {
        let place = Place::new(caller);
        let sandbox = Staying::create(&place, &[]);
        let id = sandbox.inspect()["id"].as_str().unwrap().to_owned();
        let record = place.home().join(".local/state/sandboxctl/sandboxes").join(&id).join("record.json");
        let whole = fs::read_to_string(&record).unwrap();
        for damaged in
            [whole.replacen("\"version\":1", "\"version\":99", 1), whole[..whole.len() / 2].to_owned()]
        {
            assert_ne!(damaged, whole);
            fs::write(&record, damaged).unwrap();
            let listed = ours(&place, &["ls"]).output().unwrap();
            let stderr = String::from_utf8_lossy(&listed.stderr);
            assert!(
                listed.status.success() && stderr.contains("cannot be read"),
                "by {caller:?}: {listed:?}"
            );
            let other = ours(&place, &["create", "--name", "t"]).output().unwrap();
            assert!(other.status.success(), "{other:?}");
            said(&ours(&place, &["rm", "--force", "t"]).output().unwrap());
            // It lives, so nobody else gets its name, and nobody removes it.
            let words = ["create", "--format", "json", "--name", &name(&place)];
            assert_eq!(error_code(&ours(&place, &words).output().unwrap()), "sandbox.name_in_use");
            let removed = ours(&place, &["rm", "--force", &id]).output().unwrap();
            let stderr = String::from_utf8_lossy(&removed.stderr);
            assert!(!removed.status.success() && stderr.contains("alive"), "by {caller:?}: {removed:?}");
        }
        fs::write(&record, &whole).unwrap();
        assert_eq!(sandbox.inspect()["state"], "running");

        // What is no directory of a sandbox is in nobody's way.
        let stray = record.parent().unwrap().with_file_name("00000000000000ff");
        fs::write(&stray, "").unwrap();
        assert_eq!(sandbox.prints(&["echo", "works"]), "works\n", "by {caller:?}");
        said(&ours(&place, &["create", "--name", "t"]).output().unwrap());
        said(&ours(&place, &["rm", "--force", "t"]).output().unwrap());
        let listed = ours(&place, &["ls"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&listed.stderr).into_owned();
        assert!(listed.status.success() && stderr.contains("00000000000000ff"), "by {caller:?}: {stderr}");
        fs::remove_file(&stray).unwrap();

        // A note of another version is no reason to remove what it is about.
        said(&ours(&place, &["stop", &name(&place)]).output().unwrap());
        fs::write(record.with_file_name("note"), [0xff; 8]).unwrap();
        said(&ours(&place, &["create", "--name", "t"]).output().unwrap());
        said(&ours(&place, &["rm", "--force", "t"]).output().unwrap());
        assert_eq!(sandbox.inspect()["state"], "stopped", "by {caller:?}");
        fs::write(&record, "{}").unwrap();
        let refused = ours(&place, &["rm", &id]).output().unwrap();
        assert!(
            String::from_utf8_lossy(&refused.stderr).contains("rm --force"),
            "by {caller:?}: {refused:?}"
        );
        assert_eq!(said(&ours(&place, &["rm", "--force", &id]).output().unwrap()), format!("{id}\n"));
        assert!(!record.exists(), "by {caller:?}");
    }
}

#[test]
fn a_client_that_says_nothing_holds_nobody_up() {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    for caller in callers("silent clients") {
        let place = Place::new(caller);
        let sandbox = Staying::create(&place, &[]);
        let id = sandbox.inspect()["id"].as_str().unwrap().to_owned();
        let socket = place.home().join(".local/state/sandboxctl/sandboxes").join(id).join("control");
        let mut silent: Vec<UnixStream> = (0..40).map(|_| UnixStream::connect(&socket).unwrap()).collect();
        // Half a request of each kind, and what says nothing.
        for (stream, byte) in silent.iter_mut().zip(b"eeeeestTwx\0\xff".iter().filter(|byte| **byte != b'T'))
        {
            stream.write_all(&[*byte]).unwrap();
        }
        silent[0].write_all(&u32::MAX.to_le_bytes()).unwrap();
        silent[1].write_all(&[3, 0, 0, 0, 1]).unwrap();
        silent[2].write_all(&[3, 0, 0, 0, 0xff, 0xff, 0xff]).unwrap();
        let began = Instant::now();
        assert_eq!(sandbox.prints(&["echo", "served"]), "served\n", "by {caller:?}");
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}

#[test]
fn the_command_of_one_client_does_not_hold_the_connection_of_another() {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    for caller in callers("two clients at once") {
        let place = Place::new(caller);
        let sandbox = Staying::create(&place, &[]);
        let id = sandbox.inspect()["id"].as_str().unwrap().to_owned();
        let socket = place.home().join(".local/state/sandboxctl/sandboxes").join(id).join("control");
        let [mut first, mut second] = [(); 2].map(|()| UnixStream::connect(&socket).unwrap());
        // Both are accepted when a later one is served.
        let pid = i32::try_from(sandbox.inspect()["pid"].as_i64().unwrap()).unwrap();
        let pid_1 = Pid::from_raw(pid).unwrap();
        // It sees both at once.
        kill_process(pid_1, Signal::STOP).unwrap();
        first.write_all(b"e").unwrap();
        second.write_all(b"t").unwrap();
        kill_process(pid_1, Signal::CONT).unwrap();
        second.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        assert_eq!(second.read(&mut [0]).unwrap(), 0, "by {caller:?}");
        drop(first);
    }
}
