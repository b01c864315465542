//! Secrets in proxy mode: the value never enters, and what has a token in its place reaches one server with it.

use std::process::Command;

use crate::internet::{SERVER, bash, text};
use crate::place::Place;
use crate::{ask, everywhere, natively};

/// The real credential. It must not be seen inside.
const VALUE: &str = "sk-the-real-one-4f1d";

/// Writes a configuration of the caller's with one secret of a server of the internet.
fn configure(place: &Place) {
    let settings =
        std::fs::read_to_string(place.home().join(".config/sandboxctl/sandbox.toml")).unwrap_or_default();
    place.write(
        "home/.config/sandboxctl/sandbox.toml",
        &format!(
            "{settings}[secrets.model]\nmode = \"proxy\"\nprovider = \"custom\"\nupstream = \"http://{SERVER}:8080/api\"\n\
             header = \"x-api-key\"\nurl_var = \"MODEL_URL\"\nenv_var = \"MODEL_KEY\"\nsource = \"env:REAL_KEY\"\n"
        ),
    );
}

fn with_key(mut command: Command) -> Command {
    command.env("REAL_KEY", VALUE);
    command
}

/// A request to the route, with this word of the shell as the key.
fn request(key: &str) -> String {
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/61080; printf 'GET /model/echo HTTP/1.1\\r\\nHost: x\\r\\nx-api-key: %s\\r\\n\
         Connection: close\\r\\n\\r\\n' {key} >&3; timeout 10 cat <&3; exec 3>&-"
    )
}

/// Looks through what a process inside can read: environments, command lines, files. The value is put together, or it would be found
/// in this very command.
const SEARCH: &str = r#"
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
