//! Questions about hosts that no rule says anything of: to a program, to the terminal of a run, and to another terminal.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::internet::{Internet, bash, text};
use crate::place::Place;
use crate::{ask, everywhere, natively};

/// Sits before a terminal of its own in which a command runs: waits for each text that is shown, says so, and types what is meant
/// to follow. Says at the end all that was shown, and ends as the command did.
const PERSON: &str = r#"
import os, pty, select, sys
at = sys.argv.index("--")
steps, command = sys.argv[1:at], sys.argv[at + 1:]
# It is held open here as well: the command may open it only now and then.
master, held = pty.openpty()
child = os.fork()
if child == 0:
    os.login_tty(os.dup(held))
    os.execvp(command[0], command)
end = os.pidfd_open(child)
seen, shown = b"", b""
def more():
    global seen, shown
    ready, _, _ = select.select([master, end], [], [], 60)
    chunk = os.read(master, 4096) if master in ready else b""
    seen, shown = seen + chunk, shown + chunk
    return chunk
for step in steps:
    wanted, _, answer = step.encode().partition(b" => ")
    while wanted not in seen:
        if not more():
            sys.exit(f"{wanted!r} was not shown, but {seen!r}")
    seen = seen[seen.index(wanted) + len(wanted):]
    print("shown", flush=True)
    os.write(master, answer + b"\n")
while more():
    pass
print(shown.decode(), flush=True)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"#;

/// Runs a command before a person who takes these steps.
fn person(place: &Place, steps: &[&str], command: &Command) -> Command {
    let words = ["python3", "-c", PERSON].iter().chain(steps).map(OsString::from);
    let words = words.chain([OsString::from("--")]);
    let words = words.chain([command.get_program()].into_iter().chain(command.get_args()).map(Into::into));
    place.command(&words.collect::<Vec<_>>())
}

/// Calls `egress`.
fn egress(place: &Place, words: &[&str]) -> Command {
    place.outside(&[&[place.path("sandboxctl").to_str().unwrap(), "egress"], words].concat())
}

fn done(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    text(&output)
}

/// Bash that asks the proxy for a page of a host.
fn page(host: &str) -> String {
    let request = format!("GET http://{host}:8080/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n");
    format!("({})", ask(&request))
}

/// Runs a command with its output in files, before a person on the terminal that is left.
fn redirected(
    place: &Place,
    internet: &Internet,
    steps: &[&str],
    flags: &[&str],
    script: &str,
) -> (Output, String) {
    let run = place.inside(&[&["--ask", "--allow-host=up.example.org:8080"], flags].concat(), &bash(script));
    let words = ["sh", "-c", "exec \"$@\" </dev/null >said 2>&1", "sh"].map(OsString::from).into_iter();
    let words = words.chain([run.get_program()].into_iter().chain(run.get_args()).map(Into::into));
    let shell = place.command(&words.collect::<Vec<_>>());
    let output = internet.command(&person(place, steps, &shell)).output().unwrap();
    (output, std::fs::read_to_string(place.workspace().join("said")).unwrap())
}

#[test]
fn a_program_is_asked_by_events_and_answers_by_commands() {
    everywhere("questions to a program", |place, internet, who| {
        let script =
            ["up", "other", "private", "host-1.wild"].map(|name| page(&format!("{name}.example.org")));
        let flags = ["--ask", "--format=json", "--name=asked", "--allow-host=up.example.org:8080"];
        let mut command = internet.command(&place.inside(&flags, &bash(&script.join("\n"))));
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap());
        let mut next = || -> Value {
            let mut line = String::new();
            said.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{who}: {line:?}: {error}"))
        };
        for (answer, host) in [
            ("allow", "other.example.org"),
            ("allow", "private.example.org"),
            ("deny", "host-1.wild.example.org"),
        ] {
            let event = next();
            assert_eq!(
                (&event["event"], &event["host"]),
                (&"egress.ask".into(), &host.into()),
                "{who}: {event}"
            );
            assert_eq!(
                (&event["port"], &event["sandbox"]),
                (&8080.into(), &"asked".into()),
                "{who}: {event}"
            );
            done(egress(place, &[answer, "asked", &format!("{host}:8080")]));
            let settled = next();
            assert_eq!(
                (&settled["event"], &settled["id"]),
                (&"egress.settled".into(), &event["id"]),
                "{who}"
            );
        }
        let outcome = next();
        assert!(process.wait().unwrap().success(), "{who}: {outcome}");
        let output = outcome.to_string();
        assert_eq!(output.matches("served GET / HTTP/1.1").count(), 2, "{who}: {output}");
        assert!(output.contains("for other.example.org:8080"), "{who}: {output}");
        // A name that is allowed still leads nowhere inwards, and one that is denied is refused for that.
        assert!(output.contains("`private.example.org` resolves to `10.1.2.3`"), "{who}: {output}");
        assert!(output.contains("`host-1.wild.example.org:8080` in `egress deny`"), "{who}: {output}");
        let mut rest = String::new();
        said.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "{who}");

        let log = done(egress(place, &["log", "asked"]));
        let questions = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let questions: Vec<_> = questions.filter(|line| line["question"].is_u64()).collect();
        assert_eq!(questions.len(), 6, "{who}: {log}");
        assert_eq!(questions.iter().filter(|line| line["answer"] == "rules").count(), 3, "{who}: {log}");
    });
}

#[test]
fn a_person_answers_on_the_terminal_that_the_command_does_not_have() {
    natively("questions on the terminal", |place, internet, who| {
        let script = [page("other.example.org"), page("other.example.org"), page("host-1.wild.example.org")]
            .join("\n");
        let steps = [
            // What was typed before the question is no answer to it.
            " => s",
            "asks for other.example.org, port 8080 => o",
            "asks for other.example.org, port 8080 => what?",
            "o (once) => 10m",
            "asks for host-1.wild.example.org, port 8080 => d",
        ];
        let (output, said) = redirected(place, &internet, &steps, &["--name=shown"], &script);
        assert!(output.status.success(), "{who}: {output:?} {said}");
        assert_eq!(said.matches("for other.example.org:8080").count(), 2, "{who}: {said}");
        assert!(said.contains("`host-1.wild.example.org:8080` in `egress deny`"), "{who}: {said}");
        let log = done(egress(place, &["log", "shown"]));
        assert!(
            log.contains(r#""answer":"once","uid":"#) && log.contains(r#""seconds":600"#),
            "{who}: {log}"
        );
        assert!(log.contains("`other.example.org:8080` in `egress ask`"), "{who}: {log}");
    });
}

#[test]
fn an_answer_to_a_question_that_was_withdrawn_is_none_to_the_next() {
    natively("a question that is withdrawn", |place, internet, who| {
        // The first client goes away once it was asked about, and another one comes.
        let script = format!(
            "exec 3<>/dev/tcp/127.0.0.1/61080
             printf 'GET http://other.example.org:8080/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3
             until test -e asked; do :; done; exec 3>&-; {}",
            page("host-1.wild.example.org")
        );
        let steps = ["Press Enter to go on. => s", "asks for host-1.wild.example.org, port 8080 => d"];
        let (output, said) = std::thread::scope(|scope| {
            scope.spawn(|| {
                let is_asked = || {
                    let log = egress(place, &["log", "withdrawn"]).output().unwrap();
                    text(&log).contains("\"question\"")
                };
                while !is_asked() {}
                std::fs::write(place.workspace().join("asked"), "").unwrap();
            });
            redirected(place, &internet, &steps, &["--name=withdrawn"], &script)
        });
        assert!(output.status.success(), "{who}: {output:?} {said}");
        assert!(said.contains("`host-1.wild.example.org:8080` in `egress deny`"), "{who}: {said}");
        let log = done(egress(place, &["log", "withdrawn"]));
        assert!(!log.contains(r#""change":"allow""#), "{who}: {log}");
    });
}

#[test]
fn nothing_is_asked_where_the_command_has_the_terminal_or_nobody_could_answer() {
    natively("questions that cannot be asked", |place, internet, who| {
        let run = |flags: &[&str]| place.inside(&[&["--ask"], flags].concat(), &bash("echo ran"));
        let listed = ["--allow-host=up.example.org:8080"];
        for redirected in ["exec \"$@\"", "exec \"$@\" </dev/null", "exec \"$@\" </dev/null 2>errors | cat"] {
            let words = ["sh", "-c", redirected, "sh"].map(OsString::from).into_iter();
            let run = run(&listed);
            let words = words.chain([run.get_program()].into_iter().chain(run.get_args()).map(Into::into));
            let shell = place.command(&words.collect::<Vec<_>>());
            let output = internet.command(&person(place, &[], &shell)).output().unwrap();
            let errors = std::fs::read_to_string(place.workspace().join("errors")).unwrap_or_default();
            let said = format!("{}{errors}", text(&output));
            assert!(said.contains("could pass for a question") && !said.contains("ran\r"), "{who}: {said}");
            assert!(said.contains("sandboxctl egress ask NAME"), "{who}: {said}");
        }
        // No terminal at all, and no list.
        let files = || std::fs::File::create(place.workspace().join("said")).unwrap();
        for (flags, reason) in
            [(&listed[..], "there is no terminal to ask on"), (&["--format=json"], "no allow-list of hosts")]
        {
            let mut command = Command::new("setsid");
            let run = internet.command(&run(flags));
            command.arg("--wait").arg(run.get_program()).args(run.get_args()).current_dir(place.workspace());
            command.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let status = command.stdin(Stdio::null()).stdout(files()).stderr(files()).status().unwrap();
            let said = std::fs::read_to_string(place.workspace().join("said")).unwrap();
            assert!(said.contains(reason), "{who}: {status} {said}");
            assert_eq!(status.code(), Some(2), "{who}: {said}");
        }
    });
}

#[test]
fn another_terminal_answers_for_a_sandbox_that_runs() {
    natively("questions in another terminal", |place, internet, who| {
        // A program that knows no proxy finds the name as long as somebody can answer, and waits when it connects.
        let script = r#"
            getent ahosts other.example.org || echo "no such name"
            read -r
            connect() { exec 3<>/dev/tcp/other.example.org/22 && IFS= read -r -u 3 line && echo "$line"; exec 3>&-; }
            connect; connect
            getent ahosts never.connected.example.org | head -n 1 | cut -d. -f1-2
        "#;
        let flags = ["--name=elsewhere", "--allow-host=up.example.org:8080"];
        let mut command = internet.command(&place.inside(&flags, &bash(script)));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap());
        let mut first = String::new();
        said.read_line(&mut first).unwrap();
        assert_eq!(first, "no such name\n", "{who}");
        let asking = egress(place, &["ask", "elsewhere"]);
        let steps = [
            "are shown here => ",
            "asks for other.example.org, port 22 => o",
            "asks for other.example.org, port 22 => d",
        ];
        let mut asking = person(place, &steps, &asking).stdout(Stdio::piped()).spawn().unwrap();
        let mut shown = BufReader::new(asking.stdout.take().unwrap());
        let mut first = String::new();
        shown.read_line(&mut first).unwrap();
        // What is asked for after that is asked about: the proxy takes one request after the other.
        done(egress(place, &["list", "elsewhere"]));
        process.stdin.take().unwrap().write_all(b"\n").unwrap();
        let mut rest = String::new();
        said.read_to_string(&mut rest).unwrap();
        assert!(process.wait().unwrap().success(), "{who}: {rest}");
        assert_eq!(rest, "SSH-2.0-test\r\n127.64\n", "{who}");
        let mut rest = String::new();
        shown.read_to_string(&mut rest).unwrap();
        assert!(asking.wait().unwrap().success(), "{who}: it ends with the sandbox: {first}{rest}");
    });
}
