//! A protected file that a program of the host replaces while the sandbox runs has lost its mount: what is said, what is
//! ended, and what lies there in the end.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Output, Stdio};

use serde_json::Value;

use crate::elsewhere::{directory_in, inside};
use crate::machine::{Caller, callers};
use crate::place::Place;
use crate::ready;

/// Not in memory, on most machines.
const DISK: &str = "/var/tmp";

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tpager = less\n";

const EVIL: &str = "[core]\n\tfsmonitor = touch owned\n";

/// A repository, and a command in a sandbox that waits before it acts.
fn waiting(caller: Caller, flags: &[&str], script: &str) -> (Place, Child) {
    waiting_by(caller, "", flags, script)
}

/// The same, with settings of the caller's own.
fn waiting_by(caller: Caller, settings: &str, flags: &[&str], script: &str) -> (Place, Child) {
    let place = Place::new(caller);
    place.write("home/.config/sandboxctl/sandbox.toml", settings);
    place.write("workspace/.git/HEAD", "ref: refs/heads/main\n");
    place.write("workspace/.git/config", CONFIG);
    for directory in ["objects", "refs"] {
        place.write(&format!("workspace/.git/{directory}/keep"), "");
    }
    place.write("workspace/evil", EVIL);
    let script = format!("echo ready; read -r go; {script}");
    let client = ready::start(&mut place.inside(flags, &["sh", "-c", &script]));
    (place, client)
}

/// What a program of the host does that replaces a file as a whole, as `git config` does.
fn replace(place: &Place, content: &str) {
    let draft = place.write("workspace/.git/config.lock", content);
    fs::rename(draft, place.workspace().join(".git/config")).unwrap();
}

fn finished(mut client: Child) -> (Output, String) {
    client.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    let output = client.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

fn config(place: &Place) -> String {
    fs::read_to_string(place.workspace().join(".git/config")).unwrap()
}

const WRITES: &str = "cat evil > .git/config && echo written > wrote;";

#[test]
fn what_the_agent_writes_into_a_replaced_file_ends_the_sandbox_and_does_not_stay() {
    for caller in callers("files that are replaced") {
        // The control: nobody takes the protection away.
        let (place, client) = waiting(caller, &[], WRITES);
        let (output, said) = finished(client);
        assert_eq!(config(&place), CONFIG, "by {caller:?}: {said}");
        assert!(said.contains("Read-only file system"), "by {caller:?}: {said}");
        assert_eq!(output.status.code(), Some(2), "by {caller:?}: {said}");

        // It would go on for ever.
        let (place, client) = waiting(caller, &["--timeout", "60s"], &format!("{WRITES} sleep 1000"));
        let theirs = format!("{CONFIG}[user]\n\tname = x\n");
        replace(&place, &theirs);
        let (output, said) = finished(client);
        assert!(place.workspace().join("wrote").exists(), "the attack works, by {caller:?}: {said}");
        assert_eq!(output.status.code(), Some(75), "by {caller:?}: {said}");
        assert!(said.contains("was replaced on the host while the sandbox ran"), "by {caller:?}: {said}");
        assert!(said.contains("core.fsmonitor") && said.contains("put back"), "by {caller:?}: {said}");
        assert_eq!(config(&place), CONFIG, "by {caller:?}: {said}");

        // A setting that nobody knows may be a program's of tomorrow.
        let (place, client) = waiting(caller, &["--timeout", "60s"], "sleep 1000");
        replace(&place, &format!("{CONFIG}[unheard]\n\tof = x\n"));
        let (output, said) = finished(client);
        assert_eq!(output.status.code(), Some(75), "by {caller:?}: {said}");
        assert_eq!(config(&place), CONFIG, "by {caller:?}: {said}");
    }
}

#[test]
fn a_harmless_change_of_the_host_stays_and_is_said() {
    for caller in callers("files that are replaced by the host") {
        let (place, client) = waiting(caller, &[], "true");
        // What editors, forges and git-lfs write while somebody works.
        let theirs = format!(
            "{CONFIG}[user]\n\tname = x\n[branch \"main\"]\n\tvscode-merge-base = origin/main\n\tgk-merge-base = origin/main\n\
             [remote \"origin\"]\n\turl = https://example.org/x\n\tgh-resolved = base\n[lfs]\n\trepositoryformatversion = 0\n"
        );
        replace(&place, &theirs);
        let (output, said) = finished(client);
        assert_eq!(output.status.code(), Some(0), "by {caller:?}: {said}");
        assert!(said.contains("was replaced on the host while the sandbox ran"), "by {caller:?}: {said}");
        assert_eq!(config(&place), theirs, "by {caller:?}: {said}");
        assert!(!place.workspace().join(".sandboxctl-quarantine").exists(), "by {caller:?}: {said}");
    }
}

#[test]
fn where_a_warning_is_enough_the_sandbox_runs_on_and_the_file_is_put_back_all_the_same() {
    for caller in callers("warnings") {
        let script = format!("{WRITES} echo wrote; read -r end");
        let (place, mut client) = waiting_by(caller, "[protect]\non_replaced = \"warn\"\n", &[], &script);
        let mut out = BufReader::new(client.stdout.take().unwrap()).lines();
        replace(&place, CONFIG);
        client.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        assert_eq!(out.next().unwrap().unwrap(), "wrote");
        let mut err = BufReader::new(client.stderr.take().unwrap()).lines();
        let told = err.by_ref().map(Result::unwrap).find(|line| line.contains("core.fsmonitor"));
        assert!(told.is_some(), "by {caller:?}: it is said while it runs");
        let (output, _) = finished(client);
        let rest: Vec<_> = err.map(Result::unwrap).collect();
        assert_eq!(output.status.code(), Some(0), "by {caller:?}: {rest:?}");
        assert_eq!(config(&place), CONFIG, "by {caller:?}: {rest:?}");
    }
}

#[test]
fn a_program_learns_why_the_sandbox_was_ended() {
    for caller in callers("why a sandbox was ended") {
        // What is captured says nothing before the end; so the attack begins by itself.
        let place = Place::new(caller);
        place.write("workspace/.git/HEAD", "ref: refs/heads/main\n");
        place.write("workspace/.git/objects/keep", "");
        place.write("workspace/.git/refs/keep", "");
        place.write("workspace/.git/config", CONFIG);
        place.write("workspace/evil", EVIL);
        // The first write that succeeds may still meet the file that is just being replaced.
        let script = "echo > started; until grep fsmonitor .git/config; do cat evil > .git/config; done 2>/dev/null; \
                      sleep 1000";
        let client = place
            .inside(&["--format", "json", "--timeout", "60s"], &["sh", "-c", script])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !place.workspace().join("started").exists() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        replace(&place, CONFIG);
        let output = client.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["error"]["code"], "command.unprotected", "by {caller:?}: {answer:#}");
        assert_eq!(answer["result"]["ended_by"], "protection", "by {caller:?}: {answer:#}");
        let finding = &answer["detected"][0];
        assert_eq!(finding["path"], "/workspace/.git/config", "by {caller:?}: {answer:#}");
        assert_eq!(finding["restored"], true, "by {caller:?}: {answer:#}");
        assert_eq!(config(&place), CONFIG, "by {caller:?}");
    }
}

/// What the settings protect counts whatever it holds, so what differs from the start is taken away, and what does not is no news.
#[test]
fn a_directory_that_the_settings_protect_is_put_back_as_it_was() {
    const SETTINGS: &str = "[protect]\npaths = [\".githooks\"]\n";
    const HOOK: &str = "#!/bin/sh\nexit 0\n";
    for caller in callers("directories that are replaced") {
        // As a program of the host does that changes branches there and back.
        let replaced = |script: &str| {
            let place = Place::new(caller);
            place.write("home/.config/sandboxctl/sandbox.toml", SETTINGS);
            place.write("workspace/.githooks/pre-commit", HOOK);
            place.write("workspace/.githooks/lib/common", HOOK);
            let script = format!("echo ready; read -r go; {script}");
            let client = ready::start(&mut place.inside(&["--timeout", "60s"], &["sh", "-c", &script]));
            fs::remove_dir_all(place.workspace().join(".githooks")).unwrap();
            place.write("workspace/.githooks/pre-commit", HOOK);
            place.write("workspace/.githooks/lib/common", HOOK);
            let (output, said) = finished(client);
            (place, output.status.code(), said)
        };
        let (place, code, said) = replaced("true");
        assert_eq!(code, Some(0), "by {caller:?}: {said}");
        assert!(said.contains("was replaced on the host while the sandbox ran"), "by {caller:?}: {said}");
        assert!(!place.workspace().join(".sandboxctl-quarantine").exists(), "by {caller:?}: {said}");

        // It may also keep others from reading what it has made, or make so much that not all of it is read.
        for hiding in [
            "true",
            "chmod 0111 .githooks/pre-push",
            "chmod 0111 .githooks",
            "rm .githooks/lib/common; mkfifo .githooks/lib/common",
            "(cd .githooks && seq 6000 | sed 's/^/a/' | xargs touch)",
        ] {
            let attack = format!(
                "echo evil >> .githooks/lib/common; echo evil > .githooks/pre-push && echo > wrote; {hiding}; sleep 1000"
            );
            let (place, code, said) = replaced(&attack);
            assert!(place.workspace().join("wrote").exists(), "the attack works, by {caller:?}: {said}");
            assert_eq!(code, Some(75), "{hiding} by {caller:?}: {said}");
            let read = |name: &str| fs::read_to_string(place.workspace().join(".githooks").join(name)).ok();
            assert_eq!(read("pre-push"), None, "{hiding} by {caller:?}: {said}");
            if hiding == "true" {
                assert_eq!(read("lib/common").as_deref(), Some(HOOK), "by {caller:?}: {said}");
                assert_eq!(read("pre-commit").as_deref(), Some(HOOK), "by {caller:?}: {said}");
            }
        }
    }
}

/// A link of the user's at what programs obey, and what the agent does in the place that it leads to once it has removed the link.
const BEHIND_LINKS: &[(&str, &str, &str)] = &[
    (
        "mkdir c; ln -s c .cargo",
        "rm .cargo; printf '[build]\nrustc-wrapper=\"x\"\n' >c/config.toml",
        "c/config.toml",
    ),
    (
        "ln -s editor .vscode",
        "rm .vscode; mkdir editor; echo '{\"runOn\": \"evil\"}' >editor/tasks.json",
        "editor/tasks.json",
    ),
    ("ln -s h .husky", "rm .husky; mkdir h; echo evil >h/pre-commit", "h/pre-commit"),
    ("mkdir cfg; ln -s cfg .config", "rm .config; printf '[env]\nA=1\n' >cfg/mise.toml", "cfg/mise.toml"),
    (
        "git init -q .; rm -rf .git/hooks; ln -s ../gh .git/hooks",
        "rm .git/hooks; mkdir gh; printf '#!/bin/sh\nid\n' >gh/pre-commit; chmod +x gh/pre-commit",
        "gh/pre-commit",
    ),
    (
        "mkdir conf base; echo '# ours' >base/yarnrc; ln -s ../base/yarnrc conf/yarnrc; ln -s conf/yarnrc .yarnrc",
        "rm .yarnrc conf/yarnrc; echo 'yarn-path \"./evil.js\"' >conf/yarnrc",
        "yarn-path",
    ),
    (
        "echo '{}' >real.json; ln -s real.json mid; ln -s mid .mcp.json",
        "rm .mcp.json mid; ln -s evil.json mid; echo '{\"mcpServers\": {}}' >evil.json",
        "mcpServers",
    ),
];

#[test]
fn nothing_waits_where_a_link_leads_that_is_put_back() {
    for caller in callers("links that are put back") {
        for (before, agent, made) in BEHIND_LINKS {
            let place = Place::new(caller);
            let prepared = place.outside(&["sh", "-c", before]).output().unwrap();
            assert!(prepared.status.success(), "{prepared:?}");
            let output = place.inside(&["--quiet"], &["sh", "-c", agent]).output().unwrap();
            // What is there now, by the ways that the user's programs take.
            let left = place
                .outside(&["sh", "-c", "find -L . -path ./.sandboxctl-quarantine -prune -o -type f -print; cat .yarnrc .mcp.json 2>/dev/null"])
                .output()
                .unwrap();
            let left = String::from_utf8_lossy(&left.stdout).into_owned();
            assert!(!left.contains(made), "{before}, {agent} by {caller:?}: {left} {output:?}");
            let control = place
                .outside(&["sh", "-c", "ls -ld .cargo .vscode .husky .config .git/hooks .yarnrc .mcp.json"])
                .output();
            let links = String::from_utf8_lossy(&control.unwrap().stdout).matches(" -> ").count();
            assert_eq!(links, 1, "the link of the user's is back: {before}");
        }
    }
}

/// Makes a directory with so much in it that classifying it takes longer than a look may, and what runs a program behind that.
const JUNK: &str = r#"
import os, sys, time
print("ready", flush=True)
sys.stdin.readline()
os.mkdir(".claude/aaa")
for number in range(5000):
    open(f".claude/aaa/{number}.md", "w").close()
with open(".claude/settings.json", "w") as settings:
    settings.write('{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch owned"}]}]}}')
time.sleep(1000)
"#;

#[test]
fn a_replaced_directory_with_too_much_in_it_ends_the_sandbox() {
    for caller in callers("directories that are replaced") {
        let place = Place::new(caller);
        place.write("workspace/.claude/settings.json", "{}");
        let mut client = ready::start(&mut place.inside(&["--timeout", "100s"], &["python3", "-c", JUNK]));
        // As a checkout of another branch and back does.
        let there = place.workspace().join(".claude");
        fs::rename(&there, place.workspace().join("before")).unwrap();
        fs::create_dir(&there).unwrap();
        place.give(&there);
        client.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        let output = client.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(75), "by {caller:?}: {said}");
        assert!(said.contains(".claude was replaced on the host"), "by {caller:?}: {said}");
    }
}

/// Writes into a file that was replaced, and closes a directory above it at once.
const WRITES_AND_CLOSES: &str = r#"
import os, sys, time
path, closed = ".git/config", sys.argv[1]
before = os.stat(path).st_ino
print("ready", flush=True)
while os.stat(path).st_ino == before:
    pass
while True:
    try:
        file = os.open(path, os.O_RDWR)
        break
    except OSError:
        pass
os.chmod(closed, 0)
os.pwrite(file, open("evil", "rb").read() if closed != "." else b"[core]\n\tfsmonitor = x\n", 0)
time.sleep(1000)
"#;

#[test]
fn an_agent_that_closes_the_directory_of_a_replaced_file_does_not_hide_it_from_the_guard() {
    for caller in callers("directories that are closed over replaced files") {
        for closed in [".git", "."] {
            let place = Place::new(caller);
            assert!(place.outside(&["git", "init", "-q", "."]).status().unwrap().success());
            place.write("workspace/evil", EVIL);
            let argv = ["python3", "-c", WRITES_AND_CLOSES, closed];
            let client = ready::start(&mut place.inside(&["--timeout", "20s"], &argv));
            replace(&place, CONFIG);
            let output = client.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            for directory in [place.workspace(), place.workspace().join(".git")] {
                let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                fs::set_permissions(directory, open).unwrap();
            }
            assert_eq!(output.status.code(), Some(75), "{closed} by {caller:?}: {said}");
            assert!(!config(&place).contains("fsmonitor"), "{closed} by {caller:?}: {said}");
        }
        // The control: what is known to be in its place is no loss.
        let (place, client) = waiting(caller, &[], "chmod 000 .git; sleep 1.2; chmod 755 .git");
        let (output, said) = finished(client);
        assert_eq!(output.status.code(), Some(0), "by {caller:?}: {said}");
        assert_eq!(said, "", "by {caller:?}");
        assert_eq!(config(&place), CONFIG, "by {caller:?}: {said}");
    }
}

/// A file system that gives the number of a removed file to the next one, as ext4 does, hides that it is another one.
#[test]
fn of_many_protected_paths_each_is_noticed_that_is_another_file_with_the_same_number() {
    for caller in callers("files that get the number of another") {
        let (place, disk) = (Place::new(caller), directory_in(caller, DISK));
        let shared = disk.path();
        // More than are kept open, in the order of their names.
        let prepare = "for number in $(seq 300); do mkdir -p '!'/$number/.git/objects '!'/$number/.git/refs; \
                       echo 'ref: refs/heads/main' >'!'/$number/.git/HEAD; echo '{}' >'!'/$number/.mcp.json; done; \
                       echo '{}' >.mcp.json";
        assert!(place.outside(&["sh", "-c", prepare]).current_dir(shared).status().unwrap().success());
        let script = "echo ready; read -r go; \
                      until echo '{\"mcpServers\": {\"a\": {\"command\": \"evil\"}}}' >.mcp.json; do :; done 2>/dev/null; \
                      sleep 1000";
        let mut command = inside(&place, shared, &["--timeout", "60s"], &["sh", "-c", script]);
        let mut client = ready::start(&mut command);
        let again =
            place.outside(&["sh", "-c", "rm .mcp.json; echo '{}' >.mcp.json"]).current_dir(shared).status();
        assert!(again.unwrap().success());
        client.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        let output = client.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(75), "by {caller:?}: {said}");
    }
}

#[test]
fn of_many_hidden_paths_each_is_noticed_that_is_another_file_with_the_same_number() {
    for caller in callers("hidden files that get the number of another") {
        let (place, disk) = (Place::new(caller), directory_in(caller, DISK));
        let shared = disk.path();
        let prepare =
            "mkdir '!'; for number in $(seq 300); do echo >'!'/$number.key; done; echo old >prod.key";
        assert!(place.outside(&["sh", "-c", prepare]).current_dir(shared).status().unwrap().success());
        let script = "echo ready; read -r go; until grep new prod.key; do :; done 2>/dev/null; sleep 1000";
        let flags = ["--timeout", "60s", "--hide", "*.key"];
        let mut client = ready::start(&mut inside(&place, shared, &flags, &["sh", "-c", script]));
        let again =
            place.outside(&["sh", "-c", "rm prod.key; echo new >prod.key"]).current_dir(shared).status();
        assert!(again.unwrap().success());
        client.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        let output = client.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(75), "by {caller:?}: {said}");
        assert!(said.contains("prod.key was replaced on the host"), "by {caller:?}: {said}");
    }
}
