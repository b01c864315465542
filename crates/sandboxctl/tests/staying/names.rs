//! Names of sandboxes, wherever one is used.

use serde_json::Value;

use crate::machine::callers;
use crate::place::Place;
use crate::{Staying, error_code, everywhere, name, ours, said};

#[test]
fn a_name_with_capitals_and_dots_is_that_of_one_sandbox_everywhere() {
    for (caller, runner) in everywhere("names") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let named = format!("{}.Web_1-x.", name(&place).to_uppercase());
        let words = [&["create", "--name", &named], place.provider()].concat();
        assert_eq!(said(&ours(&place, &words).output().unwrap()), format!("{named}\n"), "{who}");
        let sandbox = Staying { place: &place, name: named.clone() };
        let other = Staying { place: &place, name: named.to_lowercase() };
        said(
            &ours(&place, &[&["create", "--name", &other.name], place.provider()].concat()).output().unwrap(),
        );
        sandbox.prints(&["sh", "-c", "echo one >/tmp/file:x"]);
        assert_eq!(other.prints(&["ls", "-A", "/tmp"]), "", "{who}");
        said(&ours(&place, &["cp", &format!("{named}:/tmp/file:x"), "./copy:x"]).output().unwrap());
        said(&ours(&place, &["cp", "./copy:x", &format!("{}:/tmp/", other.name)]).output().unwrap());
        assert_eq!(other.prints(&["cat", "/tmp/copy:x"]), "one\n", "{who}");
        drop(other);
        // One that differs by case alone is another one, and there is none any more.
        let output = ours(&place, &["inspect", "--format", "json", &named.to_lowercase()]).output().unwrap();
        assert_eq!(error_code(&output), "sandbox.not_found", "{who}");
        assert_eq!(sandbox.inspect()["name"], named, "{who}");
    }
}

#[test]
fn the_longest_name_and_one_with_dots_reach_their_egress_proxy() {
    for caller in callers("names of sandboxes with an egress proxy") {
        let place = Place::new(caller);
        let long = "L".repeat(63);
        for named in [long.as_str(), "v1.2.socket"] {
            said(&ours(&place, &["create", "--network", "allowlist", "--name", named]).output().unwrap());
            let _sandbox = Staying { place: &place, name: named.to_owned() };
            said(&ours(&place, &["egress", "allow", named, "example.org"]).output().unwrap());
            let listed = said(&ours(&place, &["egress", "list", "--format", "json"]).output().unwrap());
            assert!(listed.contains(&format!("\"{named}\"")), "by {caller:?}: {listed}");
            let other = ours(&place, &["egress", "list", "v1"]).output().unwrap();
            assert!(!other.status.success(), "by {caller:?}: {other:?}");
        }
    }
}

#[test]
fn what_cannot_be_a_name_is_refused_and_the_error_says_what_can() {
    for caller in callers("names that are none") {
        let place = Place::new(caller);
        let long = "n".repeat(64);
        for named in ["", ".", "..", ".a", "_a", "a/b", "a:b", "a b", "grün", &long] {
            let words = ["create", "--format", "json", &format!("--name={named}")];
            let output = ours(&place, &words).output().unwrap();
            assert_eq!(error_code(&output), "usage.invalid", "{named:?} by {caller:?}");
            let object: Value = serde_json::from_slice(&output.stdout).unwrap();
            let said = object.to_string();
            assert!(
                said.contains("at most 63, beginning with a letter or digit"),
                "{named:?} by {caller:?}: {said}"
            );
        }
        let home = ours(&place, &["create", "--format", "json", "--home", "Work.1"]).output().unwrap();
        assert_eq!(error_code(&home), "usage.invalid", "names of homes are as they were, by {caller:?}");
    }
}
