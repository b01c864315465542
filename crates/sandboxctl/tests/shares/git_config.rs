//! The configuration of a repository, which is read-only inside: what is said when git cannot change it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::machine::callers;
use crate::place::Place;

/// Places for native sandboxes: the image of the tests has no git.
fn places(test: &str) -> impl Iterator<Item = (Place, String)> {
    callers(test).into_iter().map(|caller| (Place::new(caller), format!("by {caller:?}")))
}

#[test]
fn a_command_of_git_that_cannot_change_its_configuration_says_what_to_do() {
    for (place, what) in places("the configuration of git") {
        assert!(place.outside(&["git", "init", "-q", "."]).status().unwrap().success());
        let run = |argv: &[&str]| {
            let output = place.inside(&[""; 0], argv).output().unwrap();
            (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let warning = "warning: git's configuration is read-only inside";
        let (code, said) = run(&["git", "config", "a.b", "c"]);
        assert!(code == 4 && said.contains(warning), "{what}: {said}");
        let (code, said) = run(&["git", "remote", "add", "origin", "https://example.org/x"]);
        assert!(code == 128 && said.contains(warning), "{what}: {said}");
        // The controls: what only reads.
        for argv in [&["git", "config", "no.such"][..], &["git", "config", "core.bare"], &["git", "remote"]] {
            let (_, said) = run(argv);
            assert!(!said.contains("warning"), "{argv:?} {what}: {said}");
        }
    }
}

#[test]
fn a_program_of_a_long_run_that_wants_to_change_it_is_noticed_at_once() {
    for (place, what) in places("the configuration of git in a long run") {
        assert!(place.outside(&["git", "init", "-q", "."]).status().unwrap().success());
        let script = "until [ -e stop ]; do git config a.b c 2>/dev/null; done; git status --short";
        let mut command = place.inside(&["--timeout", "60s"], &["sh", "-c", script]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let noticed = lines.find(|line| line.contains("gave up changing"));
        fs::write(place.workspace().join("stop"), "").unwrap();
        let again = lines.filter(|line| line.contains("gave up changing")).count();
        assert!(child.wait().unwrap().success(), "{what}");
        let noticed = noticed.unwrap_or_default();
        assert!(noticed.contains("/.git/config: inside it is read-only"), "{what}: {noticed}");
        assert_eq!(again, 0, "it is said once, {what}");
    }
}
