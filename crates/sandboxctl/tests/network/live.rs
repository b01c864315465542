//! Rules that change while a sandbox runs, by its owner and nobody else.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, ChildStdin, ChildStdout, Output, Stdio};
use std::time::{Duration, SystemTime};

use crate::internet::{Internet, bash, text};
use crate::place::Place;
use crate::{ask, everywhere, natively};

/// What a sandbox does at each line that it reads: what a command of bash says, and `.` after it.
const SHELL: &str = r#"while IFS= read -r line; do eval "$line" 2>&1; echo; echo .; done"#;

/// A sandbox that does one thing after the other.
struct Running {
    process: Child,
    input: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Running {
    /// Starts one of this name.
    fn start(place: &Place, internet: &Internet, name: &str) -> Self {
        let flags = [format!("--name={name}"), "--allow-host=up.example.org:8080".to_owned()];
        let mut command = internet.command(&place.inside(&flags, &bash(SHELL)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let (input, said) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut started = Self { process, input, said: BufReader::new(said) };
        assert_eq!(started.run("echo here"), "here\n\n");
        started
    }

    /// Has it run a line, and returns what that says.
    fn run(&mut self, line: &str) -> String {
        self.input.write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut said = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.said.read_line(&mut line).unwrap(), 0, "it has ended after {said}");
            if line == ".\n" {
                return said;
            }
            said += &line;
        }
    }

    /// Asks the proxy for a page of a host, and says whether it was served.
    fn reaches(&mut self, host: &str) -> bool {
        let request =
            format!("GET http://{host}:8080/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n");
        let said = self.run(&format!("({})", ask(&request)));
        let (served, refused) = (said.contains("served GET /"), said.contains("HTTP/1.1 403"));
        assert!(served != refused, "{said}");
        served
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.process.wait().unwrap().success());
    }
}

/// Calls `egress`.
fn egress(place: &Place, words: &[&str]) -> Output {
    place
        .outside(&[&[place.path("sandboxctl").to_str().unwrap(), "egress"], words].concat())
        .output()
        .unwrap()
}

/// The same, with its answer as JSON.
fn json(place: &Place, words: &[&str]) -> serde_json::Value {
    let output = egress(place, &[words, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn hosts_are_allowed_and_denied_while_it_runs() {
    everywhere("live changes", |place, internet, who| {
        let mut running = Running::start(place, &internet, "live");
        assert!(!running.reaches("other.example.org"), "{who}");
        // What is refused says what the owner types, and what they type.
        let connect =
            "CONNECT other.example.org:8080 HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n";
        let said = running.run(&format!("({})", ask(connect)));
        assert!(said.contains("`sandboxctl egress allow live other.example.org:8080`"), "{who}: {said}");
        let looked_up = "getent ahosts other.example.org | head -n 1 | cut -d' ' -f1";
        assert_eq!(running.run(looked_up), "\n", "{who}");

        // What was refused can be read, and pasted.
        let listed = json(place, &["list", "live"]);
        assert_eq!(listed["allow"][0]["origin"]["at"], "--allow-host", "{who}: {listed}");
        assert_eq!(listed["toml"], "allow = [\"other.example.org:8080\"]", "{who}: {listed}");

        let allowed = egress(place, &["allow", "live", "other.example.org:8080"]);
        assert!(allowed.status.success(), "{who}: {allowed:?}");
        assert!(running.reaches("other.example.org"), "{who}");
        // To programs that know no proxy, the name exists now.
        assert!(running.run(looked_up).starts_with("127.64.0."), "{who}");
        let listed = json(place, &["list", "live"]);
        assert_eq!(listed["allow"][1]["origin"], serde_json::json!({"kind": "live", "at": "egress allow"}));
        assert_eq!((listed["refused"].as_array().map(Vec::len), listed["toml"].is_null()), (Some(0), true));

        let denied = egress(place, &["deny", "live", "other.example.org", "up.example.org"]);
        assert!(denied.status.success(), "{who}: {denied:?}");
        assert!(!running.reaches("other.example.org") && !running.reaches("up.example.org"), "{who}");
        // A rule that denies wins, until what it says is allowed again.
        let refused = json(place, &["allow", "live", "up.example.org:8080"]);
        assert_eq!(refused["error"]["code"], "policy.denied", "{who}: {refused}");
        assert!(egress(place, &["allow", "live", "up.example.org"]).status.success(), "{who}");
        assert!(running.reaches("up.example.org"), "{who}");

        // What was said is taken back as it was said, and what was never said is named.
        let unsaid = json(place, &["forget", "live", "other.example.org:443"]);
        assert_eq!(unsaid["error"]["code"], "policy.denied", "{who}: {unsaid}");
        let forgotten = json(place, &["forget", "live", "other.example.org", "other.example.org:8080"]);
        let started_with = json(place, &["list", "live"]);
        assert_eq!(forgotten["deny"], serde_json::json!([]), "{who}: {forgotten}");
        assert_eq!(started_with["allow"][0]["origin"]["at"], "--allow-host", "{who}: {started_with}");
        assert!(!running.reaches("other.example.org") && running.reaches("up.example.org"), "{who}");

        // Who has forgotten the name finds it.
        let sandboxes = json(place, &["list"]);
        assert_eq!(sandboxes["sandboxes"][0]["sandbox"], "live", "{who}: {sandboxes}");

        // All of it stands in the log, with who has said so.
        let log = text(&egress(place, &["log", "live"]));
        let changes: Vec<serde_json::Value> =
            log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let changes: Vec<_> = changes.iter().filter(|line| line["change"].is_string()).collect();
        assert_eq!(changes.len(), 4, "{who}: {log}");
        assert_eq!(changes[0]["hosts"][0], "other.example.org:8080", "{who}: {log}");
        assert!(
            changes.iter().all(|change| change["uid"].is_u64() && change["time"].is_u64()),
            "{who}: {log}"
        );
        running.end();
        assert_eq!(json(place, &["list"])["sandboxes"], serde_json::json!([]), "{who}");
        assert_eq!(json(place, &["list", "live"])["error"]["code"], "sandbox.not_found", "{who}");
    });
}

#[test]
fn rules_about_requests_are_given_and_taken_back_while_it_runs() {
    natively("live rules about requests", |place, internet, who| {
        let mut running = Running::start(place, &internet, "asking");
        let mut asks = |method: &str, host: &str| {
            let request = format!(
                "{method} http://{host}:8080/a HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n"
            );
            running.run(&format!("({})", ask(&request)))
        };
        let refused = asks("GET", "other.example.org");
        assert!(refused.contains("HTTP/1.1 403"), "{who}: {refused}");
        for (words, method, host, status) in [
            (["allow", "GET http://other.example.org:8080/*"], "GET", "other.example.org", "200 OK"),
            (["deny", "PUT http://up.example.org:8080/*"], "PUT", "up.example.org", "403"),
            (["allow", "PUT http://up.example.org:8080/*"], "PUT", "up.example.org", "200 OK"),
            (["deny", "* http://other.example.org:8080/a"], "GET", "other.example.org", "403"),
        ] {
            let changed = egress(place, &[words[0], "asking", words[1]]);
            assert!(changed.status.success(), "{who}: {changed:?}");
            let said = asks(method, host);
            assert!(said.contains(&format!("HTTP/1.1 {status}")), "{who}: {words:?}: {said}");
        }
        // What is refused says what the owner types, in quotes for their shell, unless that would not help.
        assert!(!asks("GET", "other.example.org").contains("remedy"), "{who}");
        assert!(egress(place, &["allow", "asking", "GET http://mixed.example.org:8080/b"]).status.success());
        let said = asks("GET", "mixed.example.org");
        assert!(said.contains("egress allow asking 'GET http://mixed.example.org:8080/a'"), "{who}: {said}");
        let unseen = json(place, &["allow", "asking", "GET https://other.example.org/*"]);
        assert_eq!(unseen["error"]["code"], "policy.denied", "{who}: {unseen}");
        running.end();
    });
}

#[test]
fn what_is_allowed_for_a_time_is_refused_afterwards() {
    natively("a rule for a time", |place, internet, who| {
        let mut running = Running::start(place, &internet, "timed");
        assert!(egress(place, &["allow", "timed", "other.example.org:8080", "--for", "2s"]).status.success());
        assert!(running.reaches("other.example.org"), "{who}");
        let left = json(place, &["list", "timed"])["allow"][1]["seconds_left"].as_u64();
        assert!(left.is_some_and(|left| left <= 2), "{who}: {left:?}");
        // The log says when it is over.
        let mut following =
            place.outside(&[place.path("sandboxctl").to_str().unwrap(), "egress", "log", "-f", "timed"]);
        let mut following = following.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(following.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.contains(r#""change":"expired""#)), "{who}");
        assert!(!running.reaches("other.example.org"), "{who}");
        // A line as it happens, and the end with that of the sandbox.
        assert!(lines.any(|line| line.contains(r#""verdict":"deny""#)), "{who}");
        running.end();
        assert_eq!(lines.count(), 0, "{who}");
        assert!(following.wait().unwrap().success(), "{who}");
    });
}

#[test]
fn a_connection_ends_when_its_host_is_denied() {
    natively("open connections", |place, internet, who| {
        let mut running = Running::start(place, &internet, "ended");
        assert!(egress(place, &["allow", "ended", "up.example.org:22"]).status.success());
        // A server that waits for more.
        let open = "exec 3<>/dev/tcp/up.example.org/22 && IFS= read -r -u 3 line && echo \"$line\"";
        assert!(running.run(open).contains("SSH-2.0-test"), "{who}");
        // The control: it is open still.
        assert!(running.run("IFS= read -r -t 0.3 -u 3 line; echo $?").starts_with("142"), "{who}");
        assert!(egress(place, &["deny", "ended", "up.example.org"]).status.success());
        assert!(running.run("IFS= read -r -t 20 -u 3 line; echo $?").starts_with('1'), "{who}");
        let log = text(&egress(place, &["log", "ended"]));
        assert!(log.contains("`up.example.org` in `egress deny`"), "{who}: {log}");
        running.end();
    });
}

#[test]
fn nobody_else_changes_the_rules() {
    natively("other users", |place, internet, who| {
        let mut running = Running::start(place, &internet, "mine");
        let directory = place.home().join(".local/state/sandboxctl/egress");
        let sockets = || -> Vec<_> {
            let names = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
            names.filter(|path| path.extension().is_some_and(|suffix| suffix == "socket")).collect()
        };
        let [socket] = &sockets()[..] else { panic!("{who}: {:?}", sockets()) };
        // The agent has the uid of the caller, and no way to the name.
        let connect = format!(
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{}\")'",
            socket.display()
        );
        let inside = running.run(&format!("{connect} && echo connected"));
        assert!(!inside.contains("connected") && inside.contains("Error"), "{who}: {inside}");
        // Another user is not let into the directory, and where they are, not listened to.
        let words = ["setpriv", "--reuid", "1002", "--regid", "1002", "--clear-groups", "--"];
        let program = place.path("sandboxctl");
        let ask = [&words[..], &[program.to_str().unwrap(), "egress", "allow", "mine", "other.example.org"]]
            .concat();
        assert!(!place.command(&ask).output().unwrap().status.success(), "{who}");
        for open in [&directory, directory.parent().unwrap(), &place.home()] {
            let mut open = open.to_owned();
            while open.starts_with(place.home()) {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                std::fs::set_permissions(&open, mode).unwrap();
                open.pop();
            }
        }
        std::fs::set_permissions(socket, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let speak = format!(
            "import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"{}\"); s.sendall(bytes([1, 0, 0, 0, 2])); print(len(s.recv(9)))",
            socket.display()
        );
        let of = |start: &[&str]| {
            let spoken = place.command(&[start, &["python3", "-c", &speak]].concat()).output().unwrap();
            text(&spoken)
        };
        assert_ne!(of(&words), "9\n", "{who}");
        // The control: the same bytes from root.
        assert_eq!(of(&[]), "9\n", "{who}");
        assert!(!running.reaches("other.example.org"), "{who}");
        running.end();
        assert_eq!(sockets(), [""; 0].map(std::path::PathBuf::from), "{who}");
    });
}

#[test]
fn a_name_is_that_of_one_sandbox_and_free_again_when_it_is_left_behind() {
    natively("names of sandboxes", |place, internet, who| {
        let mut first = Running::start(place, &internet, "once");
        let flags = ["--name=once", "--allow-host=up.example.org:8080", "--format=json"];
        let second = internet.command(&place.inside(&flags, &["true"])).output().unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&second.stdout).unwrap();
        assert_eq!(answer["error"]["code"], "sandbox.name_in_use", "{who}: {answer}");
        assert_eq!(json(place, &["list", "once"])["sandbox"], "once", "{who}");
        first.process.kill().unwrap();
        first.process.wait().unwrap();
        // Its proxy goes with it, and its socket by the next command.
        while json(place, &["list", "once"])["error"]["code"] != "sandbox.not_found" {}
        Running::start(place, &internet, "once").end();
    });
}

#[test]
fn old_logs_are_removed_with_time() {
    natively("old logs", |place, internet, who| {
        let living = Running::start(place, &internet, "living");
        let logs = place.home().join(".local/state/sandboxctl/egress");
        let age = |name: &str, days: u64| {
            let file = std::fs::File::options().create(true).append(true).open(logs.join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60)).unwrap();
            let owner = std::fs::metadata(&logs).unwrap();
            std::os::unix::fs::chown(logs.join(name), Some(owner.uid()), Some(owner.gid())).unwrap();
        };
        for (name, days) in [("old", [31, 300]), ("recent", [300, 29]), ("living", [31, 31])] {
            age(&format!("{name}.0.jsonl"), days[0]);
            age(&format!("{name}.1.jsonl"), days[1]);
        }
        let left = || {
            ["old", "recent", "living"].map(|name| {
                [0, 1].map(|number| logs.join(format!("{name}.{number}.jsonl")).exists()) == [true; 2]
            })
        };
        // Once a day is enough, and the first sandbox has looked.
        Running::start(place, &internet, "second").end();
        assert_eq!(left(), [true; 3], "{who}");
        age("swept", 2);
        Running::start(place, &internet, "third").end();
        assert_eq!(left(), [false, true, true], "{who}");
        assert!(!logs.join("old.1.jsonl").exists() && logs.join("third.0.jsonl").exists(), "{who}");
        living.end();
    });
}

#[test]
fn ended_sandboxes_keep_a_bounded_sum_of_logs() {
    natively("many logs", |place, internet, who| {
        let living = Running::start(place, &internet, "living");
        let logs = place.home().join(".local/state/sandboxctl/egress");
        let make = |name: &str, mebibytes: u64, minutes: u64| {
            for number in [0, 1] {
                let path = logs.join(format!("{name}.{number}.jsonl"));
                let file = std::fs::File::options().create(true).append(true).open(&path).unwrap();
                file.set_len(mebibytes << 19).unwrap();
                file.set_modified(SystemTime::now() - Duration::from_secs(minutes * 60)).unwrap();
                let owner = std::fs::metadata(&logs).unwrap();
                std::os::unix::fs::chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
            }
        };
        let left = |name: &str| logs.join(format!("{name}.0.jsonl")).exists();
        make("living", 200, 500);
        make("large", 200, 400);
        make("older", 0, 450);
        for number in 0..12 {
            make(&format!("new{number}"), 4, number);
        }
        // The control: fewer are new than are worth a look.
        Running::start(place, &internet, "second").end();
        assert!(left("large"), "{who}");
        make("another", 9, 13);
        make("one more", 9, 14);
        Running::start(place, &internet, "third").end();
        assert!(["living", "new11", "another", "one more"].into_iter().all(left), "{who}");
        assert!(!left("large") && !left("older"), "{who}");
        assert!(!logs.join("large.1.jsonl").exists(), "{who}");
        living.end();
    });
}

/// A program that asks for one host again and again, by each way there is.
const FLOOD: &str = r#"
import socket
name = b"other.example.org"
for number in range(300):
    for said in [b"CONNECT " + name + b":8080 HTTP/1.1\r\nHost: x\r\n\r\n", b"\x05\x01\x00\x05\x01\x00\x03\x11" + name + b"\x1f\x90"]:
        asked = socket.create_connection(("127.0.0.1", 61080))
        asked.sendall(said)
        asked.makefile("rb").read(12)
        asked.close()
    try:
        socket.getaddrinfo(name.decode(), 8080)
    except socket.gaierror:
        pass
"#;

#[test]
fn a_flood_of_what_is_refused_leaves_the_log_readable() {
    natively("a flood in the log", |place, internet, who| {
        let mut running = Running::start(place, &internet, "flood");
        assert!(running.reaches("up.example.org"), "{who}");
        std::fs::write(place.workspace().join("flood.py"), FLOOD).unwrap();
        assert_eq!(running.run("python3 flood.py"), "\n", "{who}");
        let listed = json(place, &["list", "flood"]);
        let counts: Vec<_> = listed["refused"].as_array().unwrap().iter().map(|one| &one["count"]).collect();
        assert!(counts.len() == 2 && counts[0] == 600 && counts[1].as_u64() >= Some(300), "{who}: {listed}");
        running.end();
        let log = text(&egress(place, &["log", "flood"]));
        let lines: Vec<serde_json::Value> =
            log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let refused: Vec<_> = lines.iter().filter(|line| line["host"] == "other.example.org").collect();
        for via in ["http", "socks", "dns"] {
            let of: Vec<_> = refused.iter().filter(|line| line["via"] == via).collect();
            assert!(of.len() == 2 && of[0]["repeated"].is_null(), "{who}: {log}");
            assert!(of[1]["repeated"].as_u64() >= Some(299), "{who}: {log}");
        }
        assert!(log.contains("up.example.org"), "{who}: {log}");
    });
}
