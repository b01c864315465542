//! A persistent sandbox reaches what its rules allow, though nobody on the host but its egress proxy is left.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::internet::{SERVER, text};
use crate::place::Place;
use crate::secrets::{SEARCH, VALUE, configure, request, second, with_key};
use crate::{ask, everywhere, natively};

const PAGE: &str =
    "GET http://up.example.org:8080/page HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n";

/// How long something may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command of ours that ends by itself.
fn ours(place: &Place, words: &[&str]) -> Command {
    let program = place.path("sandboxctl");
    place.outside(&[&[program.to_str().unwrap()], words].concat())
}

/// The words that make a sandbox.
fn create<'a>(place: &Place, name: &'a str, flags: &[&'a str]) -> Vec<&'a str> {
    [&["create", "--name", name], place.provider(), flags].concat()
}

#[test]
fn it_reaches_its_hosts_and_its_model_without_the_client_that_made_it() {
    everywhere("the network of a persistent sandbox", |place, internet, who| {
        configure(place);
        let name = &format!("stays{}", std::process::id());
        let made = with_key(ours(place, &create(place, name, &["--allow-host=up.example.org:8080"])));
        let made = internet.command(&made).output().unwrap();
        assert_eq!(text(&made), format!("{name}\n"), "{who}: {made:?}");
        for _ in 0..2 {
            let script = [
                "echo \"$MODEL_KEY $MODEL_URL $HTTPS_PROXY\"".to_owned(),
                request("\"$MODEL_KEY\""),
                request("wrong"),
                ask(PAGE),
                SEARCH.to_owned(),
            ];
            let output = second(place, &[], name, &script.join("\necho\n"));
            let said = text(&output);
            let token = said.split(' ').next().unwrap().to_owned();
            assert_eq!(token.len(), 64, "{who}: {output:?}");
            let address = "http://127.0.0.1:61080";
            assert!(said.starts_with(&format!("{token} {address}/model {address}\n")), "{who}: {said}");
            assert!(
                said.contains(&format!("served GET /api/echo HTTP/1.1 for {SERVER}:8080")),
                "{who}: {said}"
            );
            assert!(said.contains("HTTP/1.1 401 Unauthorized"), "{who}: {said}");
            assert!(said.contains("served GET /page HTTP/1.1 for up.example.org:8080"), "{who}: {said}");
            assert!(said.ends_with("searched\n") && !said.contains(VALUE), "{who}: {said}");
        }
        // A variable that is a token of the proxy's is not set to anything else.
        let output = ours(place, &["exec", "--env", "MODEL_KEY=x", name, "--", "true"]).output().unwrap();
        assert!(String::from_utf8_lossy(&output.stderr).contains("MODEL_KEY"), "{who}: {output:?}");
        assert_eq!(output.status.code(), Some(77), "{who}: {output:?}");
        let ended = ours(place, &["rm", "--force", name]).output().unwrap();
        assert!(ended.status.success(), "{who}: {ended:?}");
    });
}

#[test]
fn its_rules_are_changed_while_it_lives_and_its_proxy_ends_with_it() {
    natively("rules of a persistent sandbox", |place, internet, who| {
        let name = &format!("rules{}", std::process::id());
        let made = ours(place, &create(place, name, &["--network=allowlist"]));
        let made = internet.command(&made).output().unwrap();
        assert_eq!(text(&made), format!("{name}\n"), "{who}: {made:?}");
        let refused = text(&second(place, &[], name, &ask(PAGE)));
        assert!(refused.contains("403"), "{who}: {refused}");
        let allowed = ours(place, &["egress", "allow", name, "up.example.org:8080"]).output().unwrap();
        assert!(allowed.status.success(), "{who}: {allowed:?}");
        let served = text(&second(place, &[], name, &ask(PAGE)));
        assert!(served.contains("served GET /page HTTP/1.1"), "{who}: {served}");
        let log = text(&ours(place, &["egress", "log", name]).output().unwrap());
        assert!(log.contains("up.example.org"), "{who}: {log}");
        let is_heard = || ours(place, &["egress", "list", name]).output().unwrap().status.success();
        assert!(is_heard(), "{who}");
        let ended = ours(place, &["rm", "--force", name]).output().unwrap();
        assert!(ended.status.success(), "{who}: {ended:?}");
        let until = Instant::now() + PATIENCE;
        while is_heard() {
            assert!(Instant::now() < until, "{who}: the proxy outlives its sandbox");
        }
    });
}
