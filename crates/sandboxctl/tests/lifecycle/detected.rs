//! Detection: how much it takes, how much it says, and what is said where it could not see everything.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::machine::callers;
use crate::place::Place;

const NO_FLAGS: [&str; 0] = [];

/// How old a directory is at least that is not read twice.
const OLD: Duration = Duration::from_millis(150);

/// Links cost nothing to make, and each is one more file to be classified.
const LINKS: &str = r#"
import os, sys, time
os.mkdir(".claude")
with open(".claude/0.json", "w") as file:
    file.write("[" + "0," * 340_000 + "0]")
for number in range(1, 500):
    os.link(".claude/0.json", f".claude/{number}.json")
began = time.monotonic()
with open("lived", "w") as lived:
    while True:
        lived.seek(0)
        lived.write(f"{time.monotonic() - began:9.3f}")
        lived.flush()
"#;

#[test]
fn looking_at_what_the_agent_makes_does_not_give_it_more_time() {
    for caller in callers("looks that take long") {
        let place = Place::new(caller);
        let output = place.inside(&["--timeout", "4s"], &["python3", "-c", LINKS]).output().unwrap();
        assert_eq!(output.status.code(), Some(124), "by {caller:?}");
        let lived = fs::read_to_string(place.workspace().join("lived")).unwrap();
        // Classifying all of them takes 25 s in a release build, and four minutes in this one.
        let lived: f64 = lived.trim().parse().unwrap();
        assert!(lived < 15.0, "by {caller:?}: it lived for {lived} s");
        // It may have been one of them that runs a program; and where the last look has run out of time, that is said.
        let said = String::from_utf8_lossy(&output.stderr);
        let is_there = place.workspace().join(".claude").exists();
        assert!(
            !is_there || said.contains("not all that the agent made was searched"),
            "by {caller:?}: {said}"
        );
    }
}

/// Makes that many things that would run on the host, and waits until it is told to end.
const MANY: &str = r#"
import os, sys
for number in range(300):
    os.makedirs(f"r{number}/.git/hooks")
    with open(f"r{number}/.git/hooks/pre-commit", "w") as hook:
        hook.write("evil")
sys.stdin.read()
"#;

#[test]
fn however_much_is_found_little_is_said_and_all_is_moved() {
    for caller in callers("much that is found") {
        let place = Place::new(caller);
        let mut client = place
            .inside(&NO_FLAGS, &["python3", "-c", MANY])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(client.stderr.take().unwrap()).lines();
        // It is looked at while it runs: the first look says something.
        let first = stderr.next().unwrap().unwrap();
        assert!(first.contains("the agent has made"), "by {caller:?}: {first}");
        drop(client.stdin.take());
        let mut lines = vec![first];
        lines.extend(stderr.map(Result::unwrap));
        assert!(client.wait().unwrap().success(), "by {caller:?}");
        let (moved, told): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.contains("; moved to"));
        assert!(told.len() <= 21, "by {caller:?}: {} lines while it ran: {told:#?}", told.len());
        assert!(moved.len() <= 100, "by {caller:?}: {} lines when it had ended", moved.len());
        let rest = "200 more such things, of which 200 were moved";
        assert!(told.iter().any(|line| line.contains(rest)), "by {caller:?}: {told:#?}");
        for number in 0..300 {
            let hook = place.workspace().join(format!("r{number}/.git/hooks/pre-commit"));
            assert!(!hook.exists(), "by {caller:?}: {} is still there", hook.display());
        }
    }
}

#[test]
fn where_nothing_was_searched_in_the_end_is_in_the_report() {
    for caller in callers("what is not searched") {
        // The control is the first one: there everything is searched.
        for (path, gap) in [
            ("a/b", None),
            ("a/b/c/d/e", Some("directories deeper than protect.depth (a/b/c/d)")),
            ("node_modules/x", Some("directories of dependencies and builds not entered (node_modules)")),
        ] {
            let place = Place::new(caller);
            let script = format!("mkdir -p {path}/.git/hooks; echo evil > {path}/.git/hooks/pre-commit");
            let output = place.inside(&["--format", "json"], &["sh", "-c", &script]).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{path} by {caller:?}: the command's own");
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            let report = answer["report"].as_array().unwrap();
            let line = report.iter().find(|line| line["layer"] == "protect").unwrap();
            let reason = line["reason"].as_str().unwrap();
            match gap {
                None => assert_eq!(line["status"], "enforced", "{path} by {caller:?}: {line}"),
                Some(gap) => {
                    assert_eq!(line["status"], "partly", "{path} by {caller:?}: {line}");
                    assert!(reason.contains("not searched for new ones in the end"), "by {caller:?}: {line}");
                    assert!(reason.contains(gap), "{path} by {caller:?}: {line}");
                }
            }
            // git's own data is searched everywhere in the end, and nothing else.
            let detected = answer["detected"].as_array().unwrap();
            let hook = format!("/workspace/{path}/.git/hooks/pre-commit");
            assert_eq!(detected.iter().map(|one| one["path"].as_str().unwrap()).collect::<Vec<_>>(), [hook]);
            assert!(!place.workspace().join(path).join(".git/hooks/pre-commit").exists(), "{path}");
        }
    }
}

/// Directories that were read at the start and have not changed since are not read again at the end.
#[test]
fn what_is_made_in_an_old_directory_is_found_and_that_of_the_user_is_left() {
    for caller in callers("old directories") {
        let place = Place::new(caller);
        for name in ["old/a/file", "old/b/file", "theirs/.git/keep"] {
            place.write(&format!("workspace/{name}"), "");
        }
        // The clock of file systems ticks every few milliseconds: what is younger than several ticks is always read again.
        let made = fs::symlink_metadata(place.workspace().join("theirs/.git/keep")).unwrap();
        while SystemTime::now().duration_since(made.modified().unwrap()).unwrap_or_default() < OLD {}
        let attack = "cd old/a; git init -q .; git config core.fsmonitor ./evil; mkdir -p ../b/c; cd ../b/c; git init -q --bare .; \
                      git config core.fsmonitor ./evil";
        let output = place.inside(&[""; 0], &["sh", "-ec", attack]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        for path in ["old/a/.git", "old/b/c/config"] {
            assert!(said.contains(&format!("/workspace/{path}")), "by {caller:?}: {said}");
        }
        assert!(place.workspace().join("theirs/.git/keep").exists(), "by {caller:?}: {said}");
    }
}

/// What is known of them lasts until the next start.
#[test]
fn what_has_been_made_in_old_directories_since_the_last_start_is_protected() {
    for caller in callers("old directories at a second start") {
        let place = Place::new(caller);
        for number in 0..300 {
            place.write(&format!("workspace/many/{number}/in/file"), "");
        }
        let made = fs::symlink_metadata(place.workspace().join("many/299/in/file")).unwrap();
        while SystemTime::now().duration_since(made.modified().unwrap()).unwrap_or_default() < OLD {}
        let run = |script: &str| place.inside(&NO_FLAGS, &["sh", "-c", script]).output().unwrap();
        assert!(run("true").status.success(), "by {caller:?}");
        let walks = place.home().join(".local/state/sandboxctl/walks");
        let written = || fs::read_dir(&walks).unwrap().map(|entry| entry.unwrap().path()).next().unwrap();
        let (file, known) = (written(), fs::read(written()).unwrap());
        let attack = "git -C many/7/in config core.fsmonitor evil; echo evil >many/8/in/.git/hooks/pre-commit; ls many/7/in";
        for (content, more) in [(known, &["file"][..]), (b"garbage".to_vec(), &["file"])] {
            fs::write(&file, content).unwrap();
            for directory in ["many/7/in", "many/8/in"] {
                assert!(place.outside(&["git", "init", "-q", directory]).status().unwrap().success());
            }
            let output = run(attack);
            assert_eq!(String::from_utf8_lossy(&output.stdout).lines().collect::<Vec<_>>(), more);
            let config = fs::read_to_string(place.workspace().join("many/7/in/.git/config")).unwrap();
            let hook = place.workspace().join("many/8/in/.git/hooks/pre-commit");
            assert!(!config.contains("evil") && !hook.exists(), "by {caller:?}: {output:?}");
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!told.contains("moved to"), "it was protected, and nothing had to be moved: {told}");
            for directory in ["many/7/in/.git", "many/8/in/.git"] {
                fs::remove_dir_all(place.workspace().join(directory)).unwrap();
            }
        }
    }
}

/// Makes more repositories than one search has room for, where nobody looks before the end. Each has a hook.
const FAR_TOO_MANY: &str = r#"
import os
deep = "node_modules/" + "/".join(["n" * 200] * 19)
os.makedirs(deep)
os.chdir(deep)
for number in range(1200):
    for directory in ["objects", "refs", "hooks"]:
        os.makedirs(f"{number}/{directory}")
    for name, content in [("HEAD", "ref: refs/heads/main"), ("hooks/post-receive", "evil")]:
        with open(f"{number}/{name}", "w") as file:
            file.write(content)
"#;

/// Leaves some of those that still have their hooks, and nothing else.
const FEW_ARE_LEFT: &str = r#"
import os, shutil
os.chdir("node_modules/" + "/".join(["n" * 200] * 19))
left = 0
for number in os.listdir():
    left += os.path.exists(f"{number}/hooks/post-receive")
    if left > 20 or not os.path.exists(f"{number}/hooks/post-receive"):
        shutil.rmtree(number)
assert left > 20
"#;

#[test]
fn what_neither_the_last_look_nor_the_next_command_could_search_the_next_run_searches() {
    for caller in callers("a search that was not whole twice") {
        let place = Place::new(caller);
        let run = |script: &str| {
            let output = place.inside(&NO_FLAGS, &["python3", "-c", script]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "by {caller:?}: {said}");
            said
        };
        let hooks = || {
            let find = place.outside(&["find", "node_modules", "-name", "post-receive"]).output().unwrap();
            String::from_utf8_lossy(&find.stdout).lines().count()
        };
        let not_whole = "not all that the agent made was searched";
        assert!(run(FAR_TOO_MANY).contains(not_whole), "the control, by {caller:?}");
        assert!(hooks() > 20, "the control, by {caller:?}");
        let said = run(FEW_ARE_LEFT);
        assert_eq!(said.matches(not_whole).count(), 1, "of the first run, by {caller:?}: {said}");
        assert_eq!(hooks(), 0, "by {caller:?}: {said}");
        assert!(said.contains("hooks/post-receive: it is a git hook"), "by {caller:?}: {said}");
        // Whatever the user makes from now on is theirs.
        let made = "mkdir -p node_modules/x/hooks; cd node_modules/x; echo ref: refs/heads/x >HEAD; mkdir objects refs; echo x >hooks/update";
        assert!(place.outside(&["sh", "-c", made]).status().unwrap().success());
        let said = run("");
        assert!(!said.contains("moved to"), "by {caller:?}: {said}");
        assert!(place.workspace().join("node_modules/x/hooks/update").exists(), "by {caller:?}");
    }
}
