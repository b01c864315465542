//! Making persistent sandboxes: what is printed, what is refused, and when one is used again.

use serde_json::Value;

use crate::machine::callers;
use crate::place::Place;
use crate::{Staying, error_code, everywhere, name, ours, said, wherever};

#[test]
fn it_is_listed_and_outlives_who_made_it() {
    for (caller, runner) in wherever("what is listed") {
        let place = Place::on(caller, runner);
        let list = |all: &[&str]| -> Vec<Value> {
            let words = [&["ls", "--format", "json"], all].concat();
            let object: Value = serde_json::from_str(&said(&ours(&place, &words).output().unwrap())).unwrap();
            object["sandboxes"].as_array().unwrap().clone()
        };
        assert_eq!(list(&["--all"]), [] as [Value; 0]);
        let sandbox = Staying::create(&place, &[]);
        let [one] = &list(&[])[..] else { panic!("one in {runner:?} by {caller:?}") };
        assert_eq!(
            (&one["name"], &one["state"], &one["commands"]),
            (&name(&place).into(), &"running".into(), &0.into())
        );
        said(&ours(&place, &["stop", &name(&place)]).output().unwrap());
        assert_eq!(list(&[]).len(), 0);
        assert_eq!(list(&["--all"])[0]["state"], "stopped");
        drop(sandbox);
        assert_eq!(list(&["--all"]).len(), 0);
    }
}

#[test]
fn its_report_says_what_nobody_watches() {
    for (caller, runner) in everywhere("the report of a persistent sandbox") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &[]);
        let report = sandbox.inspect()["report"].clone();
        let layer = |name: &str| {
            report.as_array().unwrap().iter().find(|line| line["layer"] == name).cloned().unwrap()
        };
        assert_eq!(layer("pid")["status"], "enforced", "{report:#}");
        assert_eq!(layer("protect")["status"], "partly", "{report:#}");
        assert!(layer("protect")["reason"].as_str().unwrap().contains("nobody watches"), "{report:#}");
    }
}

#[test]
fn one_of_this_name_is_reused_if_it_was_made_from_the_same() {
    for (caller, runner) in wherever("reuse") {
        let place = Place::on(caller, runner);
        let sandbox = Staying::create(&place, &["--env", "A=1"]);
        let reuse = |flags: &[&str]| {
            let name = name(&place);
            let words =
                [&["create", "--format", "json", "--reuse", "--name", &name], place.provider(), flags]
                    .concat();
            ours(&place, &words).output().unwrap()
        };
        let same = reuse(&["--env", "A=1"]);
        let object: Value = serde_json::from_slice(&same.stdout).unwrap();
        assert_eq!(
            (&object["sandbox"]["made"], &object["sandbox"]["id"]),
            (&"reused".into(), &sandbox.inspect()["id"])
        );
        let other = reuse(&["--env", "A=2", "--memory", "64m"]);
        assert_eq!(error_code(&other), "sandbox.name_in_use");
        let object: Value = serde_json::from_slice(&other.stdout).unwrap();
        assert_eq!(object["error"]["details"]["differing"], serde_json::json!(["env", "limits"]));
    }
}

#[test]
fn a_start_that_fails_leaves_no_name_taken() {
    for (caller, runner) in wherever("starts that fail") {
        let place = Place::on(caller, runner);
        let run = |argv: &[&str]| {
            ours(
                &place,
                &[&["run", "--detach", "--name", &name(&place)], place.provider(), &["--"], argv].concat(),
            )
            .output()
            .unwrap()
            .status
            .code()
        };
        assert_eq!(run(&["no-such-command"]), Some(127));
        assert_eq!(run(&["/etc/passwd"]), Some(126));
        let sandbox = Staying::create(&place, &[]);
        assert_eq!(sandbox.inspect()["state"], "running", "in {runner:?} by {caller:?}");
    }
}

#[test]
fn what_would_need_a_process_on_the_host_is_refused() {
    for caller in callers("what cannot stay") {
        let place = Place::new(caller);
        place.write("strict.toml", "[native]\nrequire = [\"protect\"]\n");
        let strict = place.path("strict.toml");
        let strict = strict.to_str().unwrap();
        for (words, code) in [
            // Nobody watches, which a `run` with the same file has.
            (&["create", "--config", strict, "--trust"][..], "layer.unenforceable"),
            (&["run", "--detach", "--die-with-parent", "--", "true"], "usage.invalid"),
            (&["run", "--detach", "--ask", "--", "true"], "usage.invalid"),
        ] {
            let output = ours(&place, &[&["--format", "json"], words].concat()).output().unwrap();
            assert_eq!(error_code(&output), code, "{words:?}: {output:?}");
        }
        let run = ours(&place, &["run", "--config", strict, "--trust", "--", "true"]).output().unwrap();
        assert!(run.status.success(), "the control by {caller:?}: {run:?}");
    }
}
