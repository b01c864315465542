//! Secrets in proxy mode: the value never enters, and what has a token in its place reaches one server with it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::internet::{Internet, SERVER, bash, text};
use crate::place::Place;
use crate::{ask, everywhere, natively, ready};

/// The real credential. It must not be seen inside.
pub(crate) const VALUE: &str = "sk-the-real-one-4f1d";

/// Writes a configuration of the caller's with one secret of a server of the internet.
pub(crate) fn configure(place: &Place) {
    configure_from(place, "env:REAL_KEY");
}

/// The same, with another source.
fn configure_from(place: &Place, source: &str) {
    let settings =
        std::fs::read_to_string(place.home().join(".config/sandboxctl/sandbox.toml")).unwrap_or_default();
    place.write(
        "home/.config/sandboxctl/sandbox.toml",
        &format!(
            "{settings}[secrets.model]\nmode = \"proxy\"\nprovider = \"custom\"\nupstream = \"http://{SERVER}:8080/api\"\n\
             header = \"x-api-key\"\nurl_var = \"MODEL_URL\"\nenv_var = \"MODEL_KEY\"\nsource = \"{source}\"\n"
        ),
    );
}

pub(crate) fn with_key(mut command: Command) -> Command {
    command.env("REAL_KEY", VALUE);
    command
}

/// A request to the route, with this word of the shell as the key.
pub(crate) fn request(key: &str) -> String {
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/61080; printf 'GET /model/echo HTTP/1.1\\r\\nHost: x\\r\\nx-api-key: %s\\r\\n\
         Connection: close\\r\\n\\r\\n' {key} >&3; timeout 10 cat <&3; exec 3>&-"
    )
}

/// Looks through what a process inside can read: environments, command lines, files. The value is put together, or it would be found
/// in this very command.
pub(crate) const SEARCH: &str = r#"
part=$(printf %s%s the-re al-one)
for found in /proc/*/environ /proc/*/cmdline; do tr '\0' '\n' <$found 2>/dev/null | grep -F "$part"; done
grep -rF --devices=skip "$part" /etc /run /tmp /home /workspace 2>/dev/null
echo searched"#;

#[test]
fn the_value_is_added_outside_and_never_enters() {
    everywhere("secrets in proxy mode", |place, internet, who| {
        configure(place);
        let script = [
            "echo \"${#MODEL_KEY} $MODEL_URL\"".to_owned(),
            request("\"$MODEL_KEY\""),
            request("wrong"),
            SEARCH.to_owned(),
        ]
        .join("\necho\n");
        let command = with_key(place.inside(&[] as &[&str], &bash(&script)));
        let output = internet.command(&command).output().unwrap();
        let said = text(&output);
        assert!(said.starts_with("64 http://127.0.0.1:61080/model\n"), "{who}: {said} {output:?}");
        assert!(said.contains(&format!("served GET /api/echo HTTP/1.1 for {SERVER}:8080")), "{who}: {said}");
        assert!(said.contains("HTTP/1.1 401 Unauthorized"), "{who}: {said}");
        assert!(said.ends_with("searched\n"), "{who}: {said}");
        assert!(!said.contains(VALUE), "{who}: {said}");
        let came = internet.requests();
        let keys: Vec<_> = came.iter().filter_map(|line| line.strip_prefix("key ")).collect();
        assert_eq!(keys, [VALUE], "{who}: {came:?}");
    });
}

/// A command in a sandbox that runs, by a caller who has no key.
pub(crate) fn second(place: &Place, flags: &[&str], name: &str, script: &str) -> Output {
    let program = place.path("sandboxctl");
    let words = [&[program.to_str().unwrap(), "exec"], flags, &[name, "--"], &bash(script)].concat();
    place.outside(&words).output().unwrap()
}

#[test]
fn a_second_command_has_what_the_first_has() {
    everywhere("an exec and a secret in proxy mode", |place, internet, who| {
        let plain =
            fs::read_to_string(place.home().join(".config/sandboxctl/sandbox.toml")).unwrap_or_default();
        configure(place);
        let name = format!("second{}", std::process::id());
        let flags = [format!("--name={name}"), "--allow-host=up.example.org:8080".to_owned()];
        let first = with_key(place.inside(&flags, &["sh", "-c", "echo ready; cat"]));
        let mut first = ready::start(&mut internet.command(&first));

        let page =
            "GET http://up.example.org:8080/page HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n";
        let script = [
            "echo \"$MODEL_KEY $MODEL_URL $HTTPS_PROXY\"".to_owned(),
            request("\"$MODEL_KEY\""),
            request("wrong"),
            ask(page),
            SEARCH.to_owned(),
        ];
        let output = second(place, &[], &name, &script.join("\necho\n"));
        let said = text(&output);
        let token = said.split(' ').next().unwrap().to_owned();
        assert_eq!(token.len(), 64, "{who}: {output:?}");
        let address = "http://127.0.0.1:61080";
        assert!(said.starts_with(&format!("{token} {address}/model {address}\n")), "{who}: {said}");
        assert!(said.contains(&format!("served GET /api/echo HTTP/1.1 for {SERVER}:8080")), "{who}: {said}");
        assert!(said.contains("HTTP/1.1 401 Unauthorized"), "{who}: {said}");
        assert!(said.contains("served GET /page HTTP/1.1 for up.example.org:8080"), "{who}: {said}");
        assert!(said.ends_with("searched\n") && !said.contains(VALUE), "{who}: {said}");
        let warned = String::from_utf8_lossy(&output.stderr).contains("warning");
        assert!(!warned, "{who}: {output:?}");

        // On the host it lies in no file of the caller's.
        let mut search = place.command(&["grep", "-rlF", "--devices=skip", &token]);
        let found = search.args([place.home(), place.workspace()]).output().unwrap();
        assert_eq!((found.status.code(), text(&found)), (Some(1), String::new()), "{who}");

        // What is configured now changes nothing of it, and neither a key nor an address is put in its place.
        place.write("home/.config/sandboxctl/sandbox.toml", &plain);
        let output = second(place, &["--env=HTTPS_PROXY=mine"], &name, "echo \"$MODEL_KEY $HTTPS_PROXY\"");
        assert_eq!(text(&output), format!("{token} mine\n"), "{who}: {output:?}");
        for own in ["--env=MODEL_KEY=mine", "--env=MODEL_URL=http://other.example.org"] {
            let output = second(place, &[own], &name, "echo started");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.stdout.is_empty() && error.contains("the sandbox has it already"),
                "{who}: {output:?}"
            );
        }
        drop(first.stdin.take());
        assert!(first.wait().unwrap().success(), "{who}");
        let came = internet.requests();
        assert_eq!(came.iter().filter(|line| **line == format!("key {VALUE}")).count(), 1, "{who}: {came:?}");
    });
}

#[test]
fn an_exec_has_no_variables_of_a_proxy_that_is_not_there() {
    everywhere("an exec without a proxy", |place, internet, who| {
        let name = format!("closed{}", std::process::id());
        let first = place.inside(&[format!("--name={name}")], &["sh", "-c", "echo ready; cat"]);
        let mut first = ready::start(&mut internet.command(&first));
        // A secret that came into the configuration later.
        configure(place);
        let output = second(place, &[], &name, "env | grep -ci -e proxy -e model");
        assert_eq!(text(&output), "0\n", "{who}: {output:?}");
        drop(first.stdin.take());
        assert!(first.wait().unwrap().success(), "{who}");
    });
}

#[test]
fn a_route_alone_opens_nothing_else() {
    natively("a route without a list", |place, internet, who| {
        configure(place);
        let script = [
            ask("GET http://up.example.org:8080/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n"),
            ask(&format!("CONNECT {SERVER}:8080 HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")),
        ];
        let command = with_key(place.inside(&[] as &[&str], &bash(&script.join("\n"))));
        let output = internet.command(&command).output().unwrap();
        let said = text(&output);
        assert_eq!(said.matches("HTTP/1.1 403 Forbidden").count(), 2, "{who}: {said} {output:?}");
        assert!(!internet.requests().iter().any(|line| line.starts_with("http")), "{who}");
    });
}

/// Says what a server answers that wants this key: the status.
fn wants(key: &str) -> String {
    let request = request("\"$MODEL_KEY\"").replace("/model/echo", &format!("/model/wants/{key}"));
    format!("status=$({request} | head -n 1); status=${{status#* }}; status=${{status%% *}}")
        .replace("; exec 3>&-", "")
}

/// What an agent does whose key was exchanged: it tries the old one, waits, and tries until the new one is taken.
fn exchanged() -> String {
    let [first, second, third] = ["sk-first", "sk-second", "sk-third"].map(wants);
    format!(
        "{first}; echo ready $status; read -r line; {second}; echo then $status
        for attempt in $(seq 500); do {second}; [ $status = 401 ] || break; done; echo at last $status
        for attempt in 1 2 3 4 5; do {third}; echo $status; done"
    )
}

/// What comes of it: the first answer is the server's, and none is worth more than one look at the source in half a minute.
const EXCHANGED: &str = "then 401\nat last 200\n401\n401\n401\n401\n401\n";

/// Runs an agent whose key the caller exchanges.
fn exchange(place: &Place, internet: &Internet, name: &str, who: &str) {
    let write = |value: &str| {
        let file = place.write("home/keys/model", value);
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    };
    write("sk-first\n");
    let flags = [format!("--name={name}")];
    let mut command = internet.command(&place.inside(&flags, &bash(&exchanged())));
    let mut running = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(running.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "ready 200\n", "{who}");
    write("sk-second\n");
    running.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, EXCHANGED, "{who}");
    assert!(running.wait().unwrap().success(), "{who}");
    let words = [place.path("sandboxctl").into_os_string(), "egress".into(), "log".into(), name.into()];
    let log = text(&place.outside(&words).output().unwrap());
    assert_eq!(log.matches(r#""change":"renewed","route":"model""#).count(), 1, "{who}: {log}");
}

#[test]
fn a_value_that_a_server_refuses_is_read_again() {
    everywhere("a file that is exchanged", |place, internet, who| {
        configure_from(place, "file:~/keys/model");
        exchange(place, &internet, "exchanged", who);
        let came = internet.requests();
        let keys: BTreeSet<_> = came.iter().filter_map(|line| line.strip_prefix("key ")).collect();
        assert_eq!(keys, BTreeSet::from(["sk-first", "sk-second"]), "{who}");
    });
}

#[test]
fn a_command_is_run_again_at_most_twice_a_minute() {
    natively("a command that is run again", |place, internet, who| {
        let keys = place.home().join("keys");
        let keys = keys.display();
        configure_from(place, &format!("command:echo run >>{keys}/runs; cat {keys}/model"));
        exchange(place, &internet, "again", who);
        assert_eq!(fs::read_to_string(place.home().join("keys/runs")).unwrap(), "run\nrun\n", "{who}");
    });
}

#[test]
fn a_source_that_cannot_be_read_again_is_said_to_be_so() {
    natively("a file that is gone", |place, internet, who| {
        configure_from(place, "file:~/keys/model");
        let file = place.write("home/keys/model", "sk-first");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let script = format!(
            "echo ready; read -r line; {}; echo $status; read -r line; {}; echo $status",
            wants("x"),
            wants("sk-first")
        );
        let mut command = internet.command(&place.inside(&[] as &[&str], &bash(&script)));
        let mut running = ready::start(&mut command);
        fs::remove_file(&file).unwrap();
        let mut input = running.stdin.take().unwrap();
        input.write_all(b"go\n").unwrap();
        let mut warned = BufReader::new(running.stderr.take().unwrap()).lines();
        let warning = warned.find(|line| line.as_ref().unwrap().contains("still in use")).unwrap().unwrap();
        assert!(warning.contains("secret `model` from file:"), "{who}: {warning}");
        input.write_all(b"go\n").unwrap();
        let mut said = String::new();
        running.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "401\n200\n", "{who}");
        assert!(running.wait().unwrap().success(), "{who}");
    });
}

#[test]
fn a_command_that_is_run_again_ends_with_the_sandbox() {
    natively("a command that waits", |place, internet, who| {
        let keys = place.home().join("keys");
        place.write("home/keys/model", "sk-first");
        let pipe = keys.join("pipe");
        assert!(place.outside(&["mkfifo".as_ref(), pipe.as_os_str()]).status().unwrap().success());
        // At the start it answers at once. Then it says that it is there, and goes on for as long as it may: the pipe is open till then.
        let command = r"cd KEYS; test -e slow && { exec 3>pipe; echo ready >&3; sleep 600; }; cat KEYS/model";
        configure_from(place, &format!("command:{}", command.replace("KEYS", keys.to_str().unwrap())));
        let script = format!("echo ready; read -r line; {}; echo $status; read -r line", wants("x"));
        let mut running = ready::start(&mut internet.command(&place.inside(&[] as &[&str], &bash(&script))));
        place.write("home/keys/slow", "");
        let mut input = running.stdin.take().unwrap();
        input.write_all(b"go\n").unwrap();
        let mut said = BufReader::new(fs::File::open(&pipe).unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{who}");
        drop(input);
        let began = Instant::now();
        said.read_to_string(&mut line).unwrap();
        let output = running.wait_with_output().unwrap();
        assert!(
            output.stderr.is_empty(),
            "{who}: that nobody waits for it any more is no failure: {output:?}"
        );
        // Less than the 30 seconds after which every command is ended.
        assert!(began.elapsed() < Duration::from_secs(20), "{who}: {:?}", began.elapsed());
    });
}

#[test]
fn a_value_is_in_no_plan_no_log_and_no_answer() {
    natively("where a value is not", |place, internet, who| {
        configure(place);
        let plan = with_key(place.outside(&place.words("plan", &["--format=json"], &["true"])));
        let plan = text(&internet.command(&plan).output().unwrap());
        let routes = &serde_json::from_str::<serde_json::Value>(&plan).unwrap()["routes"];
        assert_eq!(routes[0]["name"], "model", "{who}: {plan}");
        let flags = ["--format=json", "--name=logged"];
        let command = with_key(place.inside(&flags, &bash(&request("\"$MODEL_KEY\""))));
        let outcome = text(&internet.command(&command).output().unwrap());
        let counts = &serde_json::from_str::<serde_json::Value>(&outcome).unwrap()["egress"];
        assert_eq!((&counts["requests"], &counts["connections"]), (&1.into(), &1.into()), "{who}: {outcome}");
        let words =
            [place.path("sandboxctl").into_os_string(), "egress".into(), "log".into(), "logged".into()];
        let log = text(&place.outside(&words).output().unwrap());
        assert!(log.contains(r#""path":"/model/echo""#), "{who}: {log}");
        for seen in [&plan, &outcome, &log] {
            assert!(!seen.contains(VALUE), "{who}: {seen}");
        }
    });
}
