//! The library as another program uses it: with a plan that `sandboxctl` has printed, and from several threads at once.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::thread;
use std::time::Duration;

use policy::plan::Plan;
use sandbox::host::clock::now_ms;
use sandbox::host::identity::Identity;
use sandbox::secrets::SecretValue;
use sandbox::session::error::StartError;
use sandbox::session::staying::events::EventStream;
use sandbox::state::event::EventKind;
use sandbox::state::sandboxes::Sandboxes;
use sandbox::{Caller, Command, End, Sandbox};

use crate::everywhere;
use crate::machine::{Caller as Who, Runner};
use crate::place::Place;

/// Whoever runs the tests, with every provider that isolates: a library has the user of its process.
pub(crate) fn as_ourselves(test: &str) -> Vec<(Who, Runner)> {
    let who = if rustix::process::geteuid().is_root() { Who::Root } else { Who::Normal };
    everywhere(test).into_iter().filter(|(caller, _)| *caller == who).collect()
}

pub(crate) fn plan(place: &Place, flags: &[&str]) -> Plan {
    let output =
        place.outside(&place.words("plan", &[&["--format", "json"], flags].concat(), &["true"])).output();
    serde_json::from_slice(&output.as_ref().unwrap().stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

pub(crate) fn caller(place: &Place) -> Caller {
    let path = OsString::from("/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    Caller::new(place.path("state"), place.home(), [("PATH".into(), path)])
}

fn shell(script: &str) -> Command {
    Command::new("sh").args(["-c", script])
}

fn text(sandbox: &Sandbox, command: Command) -> String {
    let outcome = sandbox.output(command).unwrap();
    assert_eq!(outcome.end, End::Exited(0), "{outcome:?}");
    String::from_utf8(outcome.output.unwrap().stdout.bytes).unwrap()
}

#[test]
fn a_program_has_a_sandbox_for_its_commands() {
    for (who, runner) in as_ourselves("sandboxes of a library") {
        let place = Place::on(who, runner);
        let caller = caller(&place);
        let plan = plan(&place, &["--name", "mine", "--env", "GIVEN=1"]);
        let sandbox = caller.create(&plan, &mut |_| ()).unwrap();
        assert_eq!(caller.find("mine").unwrap().name(), "mine");
        assert_eq!(text(&sandbox, shell("echo $GIVEN; pwd; echo kept > /tmp/kept")), "1\n/workspace\n");
        let elsewhere = shell("echo $GIVEN; pwd; cat kept").workdir("/tmp").env("GIVEN", "2");
        assert_eq!(text(&sandbox, elsewhere), "2\n/tmp\nkept\n");

        // How it ends.
        let end = |command| sandbox.output(command).unwrap().end;
        assert_eq!(end(shell("exit 7")), End::Exited(7));
        assert_eq!(end(Command::new("no-such-command")), End::NotFound("no-such-command".to_owned()));
        let late = sandbox
            .output(shell("echo begun; sleep 1000 & sleep 1000").timeout(Duration::from_millis(300)))
            .unwrap();
        assert_eq!(late.end, End::TimedOut(Duration::from_millis(300)), "in {runner:?}: {late:?}");
        assert_eq!(late.output.unwrap().stdout.bytes, b"begun\n");
        let much =
            sandbox.output(shell("head -c 100000 /dev/zero").output_bytes(1000)).unwrap().output.unwrap();
        assert_eq!(
            (much.stdout.bytes.len(), much.stdout.total, much.stdout.truncated),
            (1000, 100_000, true)
        );

        // One that is talked with.
        let mut running = sandbox.spawn(shell("while read line; do echo got $line; done; echo end")).unwrap();
        let (mut stdin, mut stdout) =
            (running.stdin.take().unwrap(), BufReader::new(running.stdout.take().unwrap()));
        for word in ["one", "two"] {
            writeln!(stdin, "{word}").unwrap();
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            assert_eq!(line, format!("got {word}\n"), "in {runner:?}");
        }
        drop(stdin);
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!((rest.as_str(), running.wait().unwrap().end), ("end\n", End::Exited(0)));

        // And one that nobody waits for.
        let mut dropped = sandbox.spawn(shell("echo ready; sleep 1000")).unwrap();
        let mut out = dropped.stdout.take().unwrap();
        out.read_exact(&mut [0; 6]).unwrap();
        drop(dropped);
        assert_eq!(out.read_to_end(&mut Vec::new()).unwrap(), 0, "what it writes to ends with it");

        caller.remove(&sandbox, Duration::ZERO, &mut |_| ()).unwrap();
        assert!(caller.find("mine").is_err());

        // What whoever follows events is told of all that.
        let sandboxes = Sandboxes::open(&place.path("state"), Identity::own()).unwrap();
        let mut stream = EventStream::begin(&sandboxes, Some(0)).unwrap();
        let events = stream.next(Some(now_ms())).unwrap().unwrap().events;
        let ends = events.iter().filter_map(|event| match event.kind {
            EventKind::ExecEnd { exit_code, .. } => Some(exit_code),
            _ => None,
        });
        let codes = [Some(0), Some(0), Some(7), Some(127), Some(124), Some(0), Some(0), None];
        assert_eq!(ends.collect::<Vec<_>>(), codes, "in {runner:?}");
        let words: Vec<_> = events.iter().map(|event| event.kind.word()).collect();
        assert_eq!((words[0], &words[words.len() - 3..]), ("create", &["stop", "die", "remove"][..]));
        assert_eq!(words.iter().filter(|word| **word == "exec_start").count(), codes.len(), "in {runner:?}");
    }
}

#[test]
fn threads_have_sandboxes_and_commands_at_once() {
    for (who, runner) in as_ourselves("threads of a library") {
        let place = Place::on(who, runner);
        let caller = caller(&place);
        place.write("key", "value");
        let key = format!("file:{}", place.path("key").display());
        let secret = format!("[secrets.key]\nmode = \"inject\"\nenv_var = \"KEY\"\nsource = {key:?}\n");
        place.configure(&secret);
        let plans: Vec<Plan> =
            (0..4).map(|number| plan(&place, &["--name", &format!("t-{number}")])).collect();
        thread::scope(|scope| {
            for plan in &plans {
                let caller = &caller;
                scope.spawn(move || {
                    let sandbox = &caller.create(plan, &mut |_| ()).unwrap();
                    thread::scope(|scope| {
                        for number in 0..4 {
                            scope.spawn(move || {
                                let value = format!("of {} {number}", plan.name);
                                let command = shell("echo $KEY")
                                    .secret("KEY", SecretValue::from(value.clone().into_bytes()));
                                assert_eq!(text(sandbox, command), format!("{value}\n"), "in {runner:?}");
                            });
                        }
                    });
                    // Nobody keeps a secret for others.
                    let error = sandbox.output(shell("true")).unwrap_err();
                    let StartError::Refused { remedy, .. } = &error else { panic!("{error}") };
                    assert!(remedy.contains("Command::secret(\"KEY\""), "{remedy}");
                    caller.remove(sandbox, Duration::ZERO, &mut |_| ()).unwrap();
                });
            }
        });
        let left: Vec<_> = fs::read_dir(place.path("state/sandboxes")).unwrap().flatten().collect();
        assert!(left.iter().all(|entry| entry.file_name().to_string_lossy().starts_with('.')), "{left:?}");
    }
}
