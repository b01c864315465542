//! Hosts that a rule allows and that are not reached: a person reads it while the program inside still tries.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::internet::{bash, text};
use crate::{ask, everywhere, natively};

/// A name that nobody knows, and a port that nobody listens on.
const TARGETS: [(&str, &str); 2] = [
    ("nowhere.example.org:80", "the name could not be resolved"),
    ("up.example.org:9", "the host could not be reached"),
];

/// What an agent meets whose provider cannot be reached: it has no other way than a route.
const ROUTE: &str = "[secrets.model]\nmode = \"proxy\"\nprovider = \"custom\"\nheader = \"x-api-key\"\nurl_var = \"MODEL_URL\"\n\
    upstream = \"http://gone.example.org:8080\"\nenv_var = \"MODEL_KEY\"\nsource = \"env:REAL_KEY\"\n";
const OF_ROUTE: &str =
    r"GET /model/x HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: '$MODEL_KEY'\r\nConnection: close\r\n\r\n";
const UPSTREAM: (&str, &str) = ("gone.example.org:8080", "the name could not be resolved");

fn requests() -> String {
    let request = |(target, _): (&str, &str)| {
        ask(&format!("GET http://{target}/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n"))
    };
    TARGETS.map(request).join("\n")
}

#[test]
fn what_is_not_reached_is_said_once_while_it_is_tried() {
    everywhere("hosts that are not reached", |place, internet, who| {
        let file = "home/.config/sandboxctl/sandbox.toml";
        let image = fs::read_to_string(place.path(file)).unwrap_or_default();
        place.write(file, &[image.as_str(), ROUTE].concat());
        let fifo = place.workspace().join("said");
        let requests = format!("{}\n{}", requests(), ask(OF_ROUTE));
        let script = format!("{requests}\n{requests}\nread -r _ < said; echo told");
        let made = place.outside(&["mkfifo", fifo.to_str().unwrap()]).status().unwrap();
        assert!(made.success());
        place.give(&fifo);
        let flags = ["--name=far", "--allow-host=nowhere.example.org", "--allow-host=up.example.org"];
        let mut command = internet.command(&place.inside(&flags, &bash(&script)));
        let mut client =
            command.env("REAL_KEY", "value").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It ends only once it was said: what is said at the end would never come.
        let mut warnings = BufReader::new(client.stderr.take().unwrap());
        for (target, why) in TARGETS.into_iter().chain([UPSTREAM]) {
            let named = format!("{target} is allowed, and was not reached: {why}");
            let mut said = String::new();
            while !said.contains(&named) {
                assert_ne!(warnings.read_line(&mut said).unwrap(), 0, "{who}: it has ended after {said}");
            }
        }
        let list = [place.path("sandboxctl").into_os_string(), "egress".into(), "list".into(), "far".into()];
        let listed = text(&place.outside(&list).output().unwrap());
        for (target, why) in TARGETS.into_iter().chain([UPSTREAM]) {
            let shown = listed.lines().find(|line| line.starts_with(&format!("failed   {target}  ")));
            assert!(shown.is_some_and(|line| line.contains(why)), "{who}: {listed}");
        }
        fs::write(&fifo, "go on\n").unwrap();
        let mut rest = String::new();
        warnings.read_to_string(&mut rest).unwrap();
        assert!(!rest.contains("was not reached"), "{who}: {rest}");
        assert!(text(&client.wait_with_output().unwrap()).ends_with("told\n"), "{who}");
    });
}

#[test]
fn what_is_not_reached_is_said_at_the_end_to_who_has_a_screen() {
    natively("hosts that are not reached, on a terminal", |place, internet, who| {
        let script = format!("{}\necho done", requests());
        let flags = ["--tty", "--allow-host=nowhere.example.org", "--allow-host=up.example.org"];
        let quoted = |word: &OsString| format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''"));
        let line: Vec<_> = place.run(&flags, &bash(&script)).iter().map(quoted).collect();
        let command = place.outside(&["script", "-qec", &line.join(" "), "/dev/null"]);
        let said = text(&internet.command(&command).output().unwrap());
        for (target, _) in TARGETS {
            let (done, warned) = (said.find("done\r\n"), said.find(&format!("{target} is allowed")));
            assert!(done.is_some() && done < warned, "{who}: {said}");
        }
    });
}
