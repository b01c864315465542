//! The file tools: what they read, write, list and search in persistent sandboxes, and what they refuse.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use sandbox::FileTools;
use sandbox::tools::{Content, ReadOptions, ToolError};
use serde_json::Value;

use crate::library::{as_ourselves, caller, plan};
use crate::place::Place;
use crate::{Staying, error_code, everywhere, name, ours, said, wherever};

/// How many seconds an agent swaps links while tools are used.
const SECONDS: &str = "SANDBOX_TEST_SWAP_SECONDS";

/// Swaps two names, over and over.
const SWAP: &str = r#"
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print("ready", flush=True)
while libc.renameat2(-100, b"d", -100, b"l", 2) == 0:
    pass
"#;

/// Uses a tool.
pub(crate) fn fs_tool(place: &Place, words: &[&str]) -> Output {
    let (tool, rest) = words.split_first().unwrap();
    ours(place, &[&["fs", tool, "--format", "json", &name(place)], rest].concat()).output().unwrap()
}

/// Uses one, which succeeds.
pub(crate) fn tool(place: &Place, words: &[&str]) -> Value {
    serde_json::from_str(&said(&fs_tool(place, words))).unwrap()
}

/// Uses one, which fails with this code. Returns what it says.
pub(crate) fn refused(place: &Place, words: &[&str], code: &str) -> String {
    let output = fs_tool(place, words);
    assert_eq!(error_code(&output), code, "{words:?}: {output:?}");
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let top = place.path("");
    let message = object["error"]["message"].as_str().unwrap().to_owned();
    let is_local = place.provider().contains(&"local");
    assert!(is_local || !message.contains(top.to_str().unwrap()), "a path of the host: {message}");
    message
}

/// Writes a file by the tool.
pub(crate) fn write(place: &Place, path: &str, content: &[u8]) -> Output {
    let words = ["fs", "write", "--format", "json", &name(place), path];
    let mut running = ours(place, &words).stdin(Stdio::piped()).spawn().unwrap();
    // Who refuses the path may not read all of it.
    let _ = running.stdin.take().unwrap().write_all(content);
    running.wait_with_output().unwrap()
}

#[test]
fn files_are_written_read_edited_listed_and_searched() {
    for (caller, runner) in wherever("file tools") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        place.write("workspace/old", "old\n");
        fs::set_permissions(place.workspace().join("old"), fs::Permissions::from_mode(0o750)).unwrap();
        let sandbox = Staying::create(&place, &[]);

        said(&write(&place, "new/deep/a.txt", "äpfel\nbirnen\nand more\n".as_bytes()));
        let read = tool(&place, &["read", "new/deep/a.txt"]);
        assert_eq!(read["text"], "äpfel\nbirnen\nand more\n", "{who}");
        assert_eq!((&read["total"], &read["truncated"]), (&22.into(), &false.into()), "{who}");
        let part = tool(&place, &["read", "new/deep/a.txt", "--offset", "1", "--max-chars", "4"]);
        assert_eq!((&part["text"], &part["truncated"]), (&"pfel".into(), &true.into()), "{who}");
        assert_eq!(sandbox.prints(&["cat", "new/deep/a.txt"]), "äpfel\nbirnen\nand more\n", "{who}");
        // What is written there is the caller's, as what a command writes is.
        sandbox.prints(&["sh", "-c", "echo x >by-command"]);
        let owner = |path: &str| {
            let metadata = fs::metadata(place.workspace().join(path)).unwrap();
            (metadata.uid(), metadata.gid())
        };
        for path in ["new", "new/deep", "new/deep/a.txt"] {
            assert_eq!(owner(path), owner("by-command"), "{path} {who}");
        }

        // A file that is there keeps its permissions, and nothing is left beside it.
        assert_eq!(
            serde_json::from_str::<Value>(&said(&write(&place, "old", b"newer\n"))).unwrap()["created"],
            false
        );
        let metadata = fs::metadata(place.workspace().join("old")).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o7777, 0o750, "{who}");
        let mut names: Vec<_> =
            fs::read_dir(place.workspace()).unwrap().map(|one| one.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["by-command", "new", "old"], "{who}");

        let edit = [
            "edit", "new/deep/a.txt", "--old", "birnen", "--new", "pears", "--old", "pears\nand", "--new",
            "-",
        ];
        assert_eq!(tool(&place, &edit)["lines"], serde_json::json!([2, 2]), "{who}");
        assert_eq!(sandbox.prints(&["cat", "new/deep/a.txt"]), "äpfel\n- more\n", "{who}");
        let twice =
            ["edit", "new/deep/a.txt", "--old", "more", "--new", "less", "--old", "nowhere", "--new", "x"];
        let message = refused(&place, &twice, "edit.mismatch");
        assert!(message.contains("edit 2 matches nothing, and nothing was changed"), "{message}");
        assert_eq!(sandbox.prints(&["cat", "new/deep/a.txt"]), "äpfel\n- more\n", "{who}");

        place.write("workspace/new/b.rs", "fn main() {}\n");
        place.write("workspace/new/.hidden", "äpfel\n");
        place.write("workspace/new/.gitignore", "b.*\n");
        let paths = |words: &[&str]| -> Vec<String> {
            let listing = tool(&place, &[&["list"], words].concat());
            let entries = listing["entries"].as_array().unwrap();
            entries.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(paths(&["new"]), ["new/b.rs", "new/deep", "new/deep/a.txt"], "{who}");
        assert_eq!(paths(&[".", "--glob", "*.txt"]), ["new/deep/a.txt"], "{who}");
        assert_eq!(paths(&["new", "--hidden"]).len(), 5, "{who}");
        assert_eq!(paths(&["new", "--gitignore"]), ["new/deep", "new/deep/a.txt"], "{who}");
        // The rules of the directories around count, too.
        place.write("workspace/.gitignore", "a.txt\n");
        assert_eq!(paths(&["new/deep", "--gitignore"]), [""; 0], "{who}");
        let cut = tool(&place, &["list", "--max-entries", "1"]);
        assert_eq!((&cut["entries"][0]["path"], &cut["truncated"]), (&"by-command".into(), &true.into()));

        let found = tool(&place, &["search", "^.pfel$", "--context", "1"]);
        assert_eq!(found["matches"], 1, "{who}: {found}");
        let lines = &found["files"][0]["lines"];
        assert_eq!(found["files"][0]["path"], "new/deep/a.txt", "{who}");
        assert_eq!((&lines[0]["line"], &lines[1]["role"]), (&1.into(), &"context".into()), "{who}");
        assert_eq!(tool(&place, &["search", "ÄPFEL", "-i", "--hidden"])["matches"], 2, "{who}");
        let limited = tool(&place, &["search", ".", "--hidden", "--max-matches", "2"]);
        assert_eq!((&limited["matches"], &limited["stopped"]), (&2.into(), &"found".into()), "{who}");
        refused(&place, &["search", "(x{1000}){1000}"], "pattern.invalid");
        refused(&place, &["list", "--glob", "["], "pattern.invalid");

        // Images and documents are what they are.
        fs::write(place.write("workspace/image", ""), b"\x89PNG\r\n\x1a\n\0\0").unwrap();
        let image = tool(&place, &["read", "image"]);
        assert_eq!((&image["media_type"], &image["data"]), (&"image/png".into(), &"iVBORw0KGgoAAA==".into()));
        fs::write(place.write("workspace/binary", ""), b"\x7fELF\0").unwrap();
        assert!(refused(&place, &["read", "binary"], "file.unfit").contains("a NUL at byte 4"));
        fs::write(place.write("workspace/latin", ""), b"caf\xe9\n").unwrap();
        assert!(refused(&place, &["read", "latin"], "file.unfit").contains("not UTF-8 from byte 3 on"));
    }
}

#[test]
fn the_sandbox_s_own_directories_are_used_too() {
    for (caller, runner) in everywhere("file tools in directories of a sandbox's own") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let sandbox = Staying::create(&place, &[]);
        for path in ["/tmp/by-tool", "/home/agent/by-tool"] {
            said(&write(&place, path, b"kept\n"));
            assert_eq!(sandbox.prints(&["cat", path]), "kept\n", "{path} {who}");
            // The agent can change it: it is its own.
            sandbox.prints(&["sh", "-c", &format!("echo more >>{path}; chmod 600 {path}")]);
            assert_eq!(tool(&place, &["read", path])["text"], "kept\nmore\n", "{path} {who}");
        }
        // Of a sandbox that was ended and made again, nothing of the old one is left.
        said(&ours(&place, &["stop", "--time", "0", &name(&place)]).output().unwrap());
        refused(&place, &["read", "/tmp/by-tool"], "sandbox.state");
        said(&ours(&place, &["start", &name(&place)]).output().unwrap());
        refused(&place, &["read", "/tmp/by-tool"], "file.not_found");
    }
}

/// Another shared directory that is read-only, and one with rules for tools.
const SHARED: &str = r#"
[shared_dirs]
workspace = { host = ".", guest = "/workspace", hide = ["*.pem"] }
reference = { host = "../reference", guest = "/reference", mode = "ro", suffixes = [".md"], max_file_bytes = 10 }
output = { host = "../output", guest = "/output", suffixes = [".txt"], max_file_bytes = 10 }
"#;

#[test]
fn what_lies_outside_or_has_another_suffix_or_size_is_refused_and_said_why() {
    for (caller, runner) in everywhere("rules of file tools") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        place.write("workspace/sandbox.toml", SHARED);
        place.write("workspace/key.pem", "hidden\n");
        place.write("reference/a.md", "short\n");
        place.write("reference/long.md", "longer than that\n");
        place.write("reference/a.key", "short\n");
        place.write("output/a.txt", "short\n");
        let sandbox = Staying::create(&place, &["--trust"]);
        let policy = "This is policy: trying again changes nothing";
        let denied = |words: &[&str], what: &str| {
            let message = refused(&place, words, "policy.denied");
            assert!(message.contains(what) && message.ends_with(policy), "{who}: {message}");
        };
        denied(
            &["read", "/etc/passwd"],
            "outside of the sandbox. Readable paths: `/output`, `/reference`, `/workspace`, `/tmp`, `/home/agent`",
        );
        denied(&["read", "key.pem"], "`*.pem` hides it");
        denied(&["read", "/reference/a.key"], "its suffix is not allowed. Allowed suffixes: `.md`");
        denied(&["read", "/reference/long.md"], "17 bytes are too large. Maximum allowed: 10 bytes");
        denied(
            &["edit", "/reference/a.md", "--old", "s", "--new", "x"],
            "it is read-only. Writable paths: `/output`, `/workspace`, `/tmp`",
        );
        assert_eq!(tool(&place, &["read", "/reference/a.md"])["text"], "short\n", "{who}");
        let message = |output: &Output| {
            assert_eq!(error_code(output), "policy.denied", "{who}: {output:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert!(message(&write(&place, "/reference/b.md", b"x")).contains("read-only"));
        assert!(message(&write(&place, "/usr/x", b"x")).contains("Writable paths: `/output`, `/workspace`"));
        assert!(message(&write(&place, "/output/b.key", b"x")).contains("Allowed suffixes: `.txt`"));
        assert!(
            message(&write(&place, "/output/new/b.txt", b"longer than that"))
                .contains("16 bytes are too large")
        );
        assert!(!place.path("output/new").exists(), "nothing is made on the way to what is refused {who}");
        denied(
            &["edit", "/output/a.txt", "--old", "short", "--new", "longer than that"],
            "17 bytes are too large",
        );
        assert_eq!(fs::read_to_string(place.path("output/a.txt")).unwrap(), "short\n", "{who}");
        // Links have other names than what they lead to.
        sandbox.prints(&[
            "sh",
            "-c",
            "cd /output; echo x >a.key; ln -s a.key link.txt; ln -s a.txt link.key",
        ]);
        denied(&["read", "/output/link.txt"], "Allowed suffixes: `.txt`");
        assert_eq!(tool(&place, &["read", "/output/link.key"])["text"], "short\n", "{who}");
        assert!(message(&write(&place, "/output/link.txt", b"x")).contains("Allowed suffixes"), "{who}");
        // What tools do not touch is neither listed nor searched.
        let listing = tool(&place, &["list", "/reference"]);
        assert_eq!(listing["total"], 2, "{who}: {listing}");
        let found = tool(&place, &["search", "short|longer", "/reference"]);
        assert_eq!((&found["matches"], &found["too_large"]), (&1.into(), &1.into()), "{who}: {found}");
        let all = tool(&place, &["list"]).to_string();
        assert!(all.contains("sandbox.toml") && !all.contains("key.pem"), "{who}: {all}");
        // No path at all.
        for (path, what) in [("../x", "`..`"), ("~/x", "`~`"), ("", "empty")] {
            let message = refused(&place, &["read", path], "usage.invalid");
            assert!(message.contains(what), "{message}");
        }
        refused(&place, &["read", "missing"], "file.not_found");
        refused(&place, &["read", "sandbox.toml/x"], "file.failed");
        refused(&place, &["read", "."], "file.unfit");
        refused(&place, &["list", "sandbox.toml"], "file.unfit");
    }
}

#[test]
fn protected_files_cannot_be_replaced() {
    for (caller, runner) in everywhere("protected files and tools") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        place.write("workspace/.git/HEAD", "ref: refs/heads/main\n");
        for directory in ["objects/x", "refs/x"] {
            place.write(&format!("workspace/.git/{directory}"), "");
        }
        // A path that no list has, and that git obeys because its configuration says so.
        let config = "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../tools/included\n";
        place.write("workspace/.git/config", config);
        place.write("workspace/tools/included", "[core]\n\tbare = false\n");
        place.write("workspace/tools/hooks/pre-commit", "#!/bin/sh\n");
        let sandbox = Staying::create(&place, &[]);
        for path in ["tools/hooks/pre-commit", "tools/included"] {
            let script = format!("echo x >x; mv x {path}");
            let by_command = sandbox.exec(&[], &["sh", "-c", &script]).output().unwrap();
            assert!(!by_command.status.success(), "the control {who}: {by_command:?}");
        }
        for path in [
            ".git/config", ".git/hooks/pre-commit", ".envrc", "tools/hooks/pre-commit", "tools/hooks/new",
            "tools/included",
        ] {
            let output = write(&place, path, b"evil\n");
            assert_eq!(error_code(&output), "policy.denied", "{path} {who}: {output:?}");
        }
        sandbox.prints(&["sh", "-c", "ln -s .git/config innocent; ln -s .git way"]);
        for path in ["innocent", "way/config"] {
            let output = write(&place, path, b"evil\n");
            assert_eq!(error_code(&output), "policy.denied", "{path} {who}: {output:?}");
        }
        let there = |path: &str| fs::read_to_string(place.workspace().join(path)).unwrap();
        assert_eq!(there(".git/config"), config, "{who}");
        assert_eq!(there("tools/included"), "[core]\n\tbare = false\n", "{who}");
        assert_eq!(there("tools/hooks/pre-commit"), "#!/bin/sh\n", "{who}");
        // They are protected from commands still.
        let by_command = sandbox.exec(&[], &["sh", "-c", "echo x >.git/config"]).output().unwrap();
        assert!(!by_command.status.success(), "{who}");
        // The control: the kernel lets a program of the host rename over what is a mount point of the sandbox alone.
        let other = place.write("workspace/other", "other\n");
        fs::rename(other, place.workspace().join("tools/included")).unwrap();
    }
}

#[test]
fn links_pipes_and_sockets_lead_nowhere() {
    for (caller, runner) in wherever("links and file tools") {
        let place = Place::on(caller, runner);
        let who = format!("in {runner:?} by {caller:?}");
        let secret = place.write("outside/secret", "kept outside\n");
        place.give(&place.path("outside"));
        place.write("workspace/in/file", "within\n");
        let sandbox = Staying::create(&place, &[]);
        sandbox.prints(&[
            "sh",
            "-c",
            "ln -s ../outside/secret link; ln -s ../outside out; ln -s in/file within; ln -s in also; mkfifo pipe; \
             ln -s loop loop; ln -s gone dangling",
        ]);
        symlink(&secret, place.workspace().join("absolute")).unwrap();
        assert_eq!(
            fs::read_to_string(place.workspace().join("link")).unwrap(),
            "kept outside\n",
            "the control"
        );
        for path in ["link", "absolute", "out/secret"] {
            let message = refused(&place, &["read", path], "policy.denied");
            assert!(message.contains("a link on the way leads out"), "{path} {who}: {message}");
            let output = write(&place, path, b"evil\n");
            assert_eq!(error_code(&output), "policy.denied", "{path} {who}: {output:?}");
        }
        let output = write(&place, "out/new/file", b"evil\n");
        assert_eq!(error_code(&output), "policy.denied", "{who}: {output:?}");
        refused(&place, &["list", "out"], "policy.denied");
        refused(&place, &["search", "kept", "out"], "policy.denied");
        assert_eq!(tool(&place, &["search", "kept|within"])["matches"], 1, "a walk follows no link {who}");
        assert_eq!(fs::read_to_string(&secret).unwrap(), "kept outside\n", "{who}");
        assert_eq!(fs::read_dir(place.path("outside")).unwrap().count(), 1, "{who}");
        // Those that lead to what is there are followed, and stay.
        assert_eq!(tool(&place, &["read", "within"])["text"], "within\n", "{who}");
        said(&write(&place, "within", b"changed\n"));
        said(&write(&place, "also/file2", b"two\n"));
        said(&write(&place, "dangling", b"there\n"));
        assert_eq!(sandbox.prints(&["cat", "in/file", "in/file2", "gone"]), "changed\ntwo\nthere\n", "{who}");
        assert!(
            place.workspace().join("within").is_symlink() && place.workspace().join("dangling").is_symlink()
        );
        // Nobody waits for who writes to a pipe, and none is opened.
        assert!(refused(&place, &["read", "pipe"], "file.unfit").contains("a named pipe"), "{who}");
        assert_eq!(error_code(&write(&place, "pipe", b"x")), "file.unfit", "{who}");
        assert_eq!(error_code(&write(&place, "in", b"x")), "file.unfit", "{who}");
        let listing = tool(&place, &["list"]).to_string();
        assert!(listing.contains("\"other\""), "{who}: {listing}");
    }
}

/// An agent that swaps a directory for a link out of the workspace, over and over, while its owner uses the file tools.
#[test]
fn an_agent_that_swaps_links_never_leads_a_tool_outside() {
    let seconds = std::env::var(SECONDS).map_or(3, |seconds| seconds.parse().unwrap());
    for (who, runner) in as_ourselves("swapped links and file tools") {
        let place = Place::on(who, runner);
        place.write("outside/file", "outside\n");
        place.write("workspace/d/file", "inside\n");
        symlink("../outside", place.workspace().join("l")).unwrap();
        let caller = caller(&place);
        let sandbox = caller.create(&plan(&place, &["--name", &name(&place)]), &mut |_| ()).unwrap();
        let swap = "command -v python3 >/dev/null || { echo ready; while mv -T d e && mv -T l d && mv -T d l && mv -T e d; do :; done; }
            exec python3 -c \"$0\"";
        let mut swapper = sandbox.spawn(sandbox::Command::new("sh").args(["-c", swap, SWAP])).unwrap();
        let mut ready = [0; 6];
        std::io::Read::read_exact(swapper.stdout.as_mut().unwrap(), &mut ready).unwrap();
        assert_eq!(&ready, b"ready\n");
        let until = |time: Duration| {
            let until = Instant::now() + time;
            move || Instant::now() < until
        };

        // The control: whoever walks the path is led outside.
        let goes_on = until(Duration::from_secs(20));
        let mut naive = 0;
        while naive == 0 && goes_on() {
            naive += usize::from(
                fs::read_to_string(place.workspace().join("d/file")).is_ok_and(|text| text == "outside\n"),
            );
        }
        assert!(naive > 0, "the control in {runner:?}");

        let tools = FileTools::open(caller.find(sandbox.name()).unwrap()).unwrap();
        let goes_on = until(Duration::from_secs(seconds));
        let (mut read, mut refused, mut written) = (0, 0, 0);
        while goes_on() {
            match tools.read("d/file", ReadOptions::default()) {
                Ok(Content::Text(text)) => {
                    assert_eq!(text.text, "inside\n", "in {runner:?}");
                    read += 1;
                }
                Ok(other) => panic!("{other:?}"),
                Err(ToolError::Denied(_)) => refused += 1,
                Err(error) => panic!("in {runner:?}: {error}"),
            }
            match tools.write("d/new", b"x") {
                Ok(_) => written += 1,
                Err(ToolError::Denied(_) | ToolError::Changed { .. }) => refused += 1,
                Err(error) => panic!("in {runner:?}: {error}"),
            }
            match tools.search("outside", "d", &sandbox::tools::SearchOptions::default()) {
                Ok(found) => assert_eq!(found.matches, 0, "in {runner:?}: {found:?}"),
                Err(ToolError::Denied(_)) => refused += 1,
                Err(error) => panic!("in {runner:?}: {error}"),
            }
            assert!(!place.path("outside/new").exists(), "in {runner:?}");
        }
        assert_eq!(fs::read_dir(place.path("outside")).unwrap().count(), 1, "in {runner:?}");
        assert!(read > 0 && written > 0 && refused > 0, "in {runner:?}: {read} {written} {refused}");
        caller.remove(&sandbox, Duration::ZERO, &mut |_| ()).unwrap();
        // What is open leads to what is no sandbox any more.
        let ended = tools.read("d/file", ReadOptions::default()).unwrap_err();
        assert!(matches!(ended, ToolError::Sandbox(_)), "in {runner:?}: {ended}");
        drop(swapper);
    }
}

#[test]
fn a_small_read_is_fast_and_many_threads_read_at_once() {
    for (who, runner) in as_ourselves("the speed of file tools") {
        let place = Place::on(who, runner);
        place.write("workspace/small", "small\n");
        let caller = caller(&place);
        let sandbox = caller.create(&plan(&place, &["--name", &name(&place)]), &mut |_| ()).unwrap();
        let tools = FileTools::open(caller.find(sandbox.name()).unwrap()).unwrap();
        let read = || tools.read("small", ReadOptions::default()).unwrap();
        let mut times: Vec<Duration> = (0..1000)
            .map(|_| {
                let began = Instant::now();
                read();
                began.elapsed()
            })
            .collect();
        times.sort();
        assert!(times[500] < Duration::from_millis(1), "in {runner:?}: {:?}", times[500]);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| (0..200).for_each(|_| drop(read())));
            }
        });
        caller.remove(&sandbox, Duration::ZERO, &mut |_| ()).unwrap();
    }
}
