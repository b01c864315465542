//! The tools for files: what they do, what they refuse and in which words.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Client;
use crate::place::Place;
use crate::{everywhere, native};

/// Swaps two names, over and over.
const SWAP: &str = r#"
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
open("ready", "w").close()
while libc.renameat2(-100, b"d", -100, b"l", 2) == 0:
    pass
"#;

/// A shared directory that is read-only, with rules for tools, beside a workspace in which something is hidden.
const SHARED: &str = r#"
[shared_dirs]
workspace = { host = ".", guest = "/workspace", hide = ["*.pem"] }
reference = { host = "../reference", guest = "/reference", mode = "ro", suffixes = [".md"], max_file_bytes = 10 }
"#;

const POLICY: &str = "This is policy: trying again changes nothing";

#[test]
fn a_file_is_written_read_edited_listed_and_found_and_commands_see_the_same() {
    for place in everywhere("files by MCP") {
        let mut client = Client::new(&place, &[]);
        let text = "first\nsecond äöü\n";
        let written = client.does("write", json!({ "path": "src/a.txt", "content": text }));
        assert_eq!(
            (&written["path"], &written["bytes"], &written["created"]),
            (&json!("src/a.txt"), &json!(text.len()), &json!(true))
        );
        let result = client.call("read", json!({ "path": "/workspace/src/a.txt" }));
        assert_eq!(result["content"], json!([{ "type": "text", "text": text }]));
        assert_eq!(result["structuredContent"]["text"], text);
        let part = client.does("read", json!({ "path": "src/a.txt", "offset": 6, "max_chars": 8 }));
        assert_eq!(
            (&part["text"], &part["offset"], &part["total"], &part["truncated"]),
            (&json!("second ä"), &json!(6), &json!(17), &json!(true))
        );
        let edits = json!([{ "old": "first", "new": "1st\nand" }, { "old": "second", "new": "2nd" }]);
        let edited = client.does("edit", json!({ "path": "src/a.txt", "edits": edits }));
        assert_eq!(edited["lines"], json!([1, 3]));
        assert_eq!(
            client.does("shell", json!({ "command": "cat src/a.txt" }))["stdout"],
            "1st\nand\n2nd äöü\n"
        );
        client.does(
            "shell",
            json!({ "command": "echo own > /tmp/own; echo b > src/b.rs; echo a > .gitignore" }),
        );
        assert_eq!(client.does("read", json!({ "path": "/tmp/own" }))["text"], "own\n");
        let listed = client.does("list", json!({}));
        assert_eq!(
            listed["entries"],
            json!([
                { "path": "src", "kind": "directory" },
                { "path": "src/a.txt", "kind": "file" },
                { "path": "src/b.rs", "kind": "file" },
            ])
        );
        assert_eq!(client.does("list", json!({ "glob": "*.rs" }))["total"], 1);
        assert_eq!(client.does("list", json!({ "max_entries": 1 }))["truncated"], true);
        let found = client.does("search", json!({ "pattern": "2ND", "ignore_case": true, "context": 1 }));
        assert_eq!(
            found["files"],
            json!([{ "path": "src/a.txt", "lines": [
                { "line": 2, "text": "and", "matches": false, "truncated": false },
                { "line": 3, "text": "2nd äöü", "matches": true, "truncated": false },
            ] }])
        );
        assert_eq!(client.does("search", json!({ "pattern": ".", "max_matches": 1 }))["stopped"], "found");
        // Another sandbox of the session has other files, but for those that both share.
        client.does("sandbox_create", json!({ "name": "second" }));
        assert!(
            client.fails("read", json!({ "path": "/tmp/own", "sandbox": "second" })).contains("no such file")
        );
        assert_eq!(client.does("read", json!({ "path": "src/b.rs", "sandbox": "second" }))["text"], "b\n");
        // What was open leads to what is no sandbox any more.
        client.does("sandbox_stop", json!({ "grace_seconds": 0 }));
        let again = client.does("read", json!({ "path": "src/b.rs" }));
        assert!(again["notice"].as_str().unwrap().contains("made again"), "{again:#}");
        assert_eq!(client.does("read", json!({ "path": "src/b.rs" }))["notice"], json!(null));
        assert!(client.leave().success());
        assert_eq!(crate::listed(&place), json!([]));
    }
}

#[test]
fn images_and_documents_come_as_what_they_are() {
    let Some(place) = native("images by MCP") else { return };
    fs::write(place.write("workspace/image", ""), b"\x89PNG\r\n\x1a\n\0\0").unwrap();
    place.write("workspace/a page.pdf", "%PDF-1.4\n");
    let mut client = Client::new(&place, &[]);
    let image = client.call("read", json!({ "path": "image" }));
    let shown = json!({ "type": "image", "data": "iVBORw0KGgoAAA==", "mimeType": "image/png" });
    assert_eq!(image["content"][1], shown, "{image:#}");
    assert_eq!(image["structuredContent"]["media_type"], "image/png");
    let page = client.call("read", json!({ "path": "a page.pdf" }));
    let resource = json!({ "uri": "sandbox://files/a%20page.pdf", "mimeType": "application/pdf", "blob": "JVBERi0xLjQK" });
    assert_eq!(page["content"][1], json!({ "type": "resource", "resource": resource }), "{page:#}");
}

#[test]
fn every_refusal_says_what_why_and_what_is_allowed() {
    let Some(place) = native("refusals by MCP") else { return };
    place.write("workspace/sandbox.toml", SHARED);
    place.write("workspace/key.pem", "hidden\n");
    place.write("workspace/file", "one\none\n  Two\n");
    place.write("reference/a.md", "short\n");
    place.write("reference/long.md", "longer than that\n");
    place.write("reference/a.key", "short\n");
    place.write("outside/secret", "kept outside\n");
    fs::write(place.write("workspace/binary", ""), b"\x7fELF\0").unwrap();
    fs::write(place.write("workspace/latin", ""), b"caf\xe9\n").unwrap();
    symlink("../outside/secret", place.workspace().join("link")).unwrap();
    assert_eq!(fs::read_to_string(place.workspace().join("link")).unwrap(), "kept outside\n", "the control");
    let mut client = Client::new(&place, &["--trust"]);
    client.does("shell", json!({ "command": "mkfifo pipe" }));
    let readable = "Readable paths: `/reference`, `/workspace`, `/tmp`, `/home/agent`";
    let writable = "Writable paths: `/workspace`, `/tmp`, `/home/agent`";
    let text = "Text in UTF-8, PNG, JPEG, GIF and WebP images and PDF documents can be read";
    let only = "Only a regular file can be used here";
    let edit = |old: &str, new: &str| json!({ "path": "file", "edits": [{ "old": old, "new": new }] });
    let path = |path: &str| json!({ "path": path });
    let write = |path: &str| json!({ "path": path, "content": "x" });
    let cases: Vec<(&str, Value, &str, String)> = vec![
        ("read", path("/etc/shadow"), "outside", format!("cannot read `/etc/shadow`: it lies outside of the sandbox. {readable}. {POLICY}")),
        ("write", write("/usr/x"), "outside", format!("cannot write `/usr/x`: it lies outside of the sandbox. {writable}. {POLICY}")),
        ("write", write("/reference/a.md"), "read_only", format!("cannot write `/reference/a.md`: it is read-only. {writable}. {POLICY}")),
        ("read", path("key.pem"), "hidden", format!("cannot read `/workspace/key.pem`: `*.pem` hides it from this sandbox. {POLICY}")),
        ("write", write(".git/config"), "protected", format!("cannot write `/workspace/.git/config`: `.git/config` is protected, because programs outside of the sandbox obey it. Other files beside it can be written. {POLICY}")),
        ("read", path("/reference/a.key"), "suffix", format!("cannot read `/reference/a.key`: its suffix is not allowed. Allowed suffixes: `.md`. {POLICY}")),
        ("read", path("/reference/long.md"), "too_large", format!("cannot read `/reference/long.md`: 17 bytes are too large. Maximum allowed: 10 bytes. {POLICY}")),
        ("read", path("link"), "leads_out", format!("cannot read `/workspace/link`: a link on the way leads out of `/workspace`, or is absolute. Name the file that it leads to, if that lies in a readable path. {POLICY}")),
        ("read", path(""), "no_path", "`` is no path that tools take: it is empty; `.` is the working directory".to_owned()),
        ("read", path("~/x"), "no_path", "`~/x` is no path that tools take: it begins with `~`, which tools do not expand; write the path out, such as `/home/agent/file`, or `./~` for such a name".to_owned()),
        ("read", path("../x"), "no_path", "`../x` is no path that tools take: it has `..`, whose meaning depends on links; write the path that it leads to".to_owned()),
        ("read", path("a\u{0}b"), "no_path", "`a\\u{0}b` is no path that tools take: it has a NUL character, which no path has".to_owned()),
        ("read", path("none"), "not_found", "cannot read `/workspace/none`: there is no such file or directory. List the directory above it to see what is there".to_owned()),
        ("read", path("pipe"), "wrong_kind", format!("cannot read `/workspace/pipe`: it is a named pipe. {only}")),
        ("read", path("."), "wrong_kind", format!("cannot read `/workspace`: it is a directory. {only}")),
        ("list", path("file"), "wrong_kind", "cannot read `/workspace/file`: it is a regular file. Only a directory can be used here".to_owned()),
        ("read", path("binary"), "not_text", format!("cannot read `/workspace/binary` as text: it is binary, with a NUL at byte 4. {text}")),
        ("read", path("latin"), "not_text", format!("cannot read `/workspace/latin` as text: it is not UTF-8 from byte 3 on. {text}")),
        ("edit", edit("none", "x"), "no_match", "cannot edit `/workspace/file`: edit 1 matches nothing, and nothing was changed. Read the file again: the text has to be exactly what is there".to_owned()),
        ("edit", edit("two", "x"), "no_match", "cannot edit `/workspace/file`: edit 1 matches nothing, and nothing was changed. It nearly matches line 3 but for upper and lower case (`  Two`)".to_owned()),
        ("edit", edit("one", "x"), "several_matches", "cannot edit `/workspace/file`: edit 1 matches 2 times, at lines 1, 2, and nothing was changed. Add more of the lines around it, so that it matches once".to_owned()),
        ("edit", edit("", "x"), "no_edit", "cannot edit `/workspace/file`: edit 1 has no text to be replaced, and nothing was changed".to_owned()),
        ("edit", edit("one", "one"), "no_edit", "cannot edit `/workspace/file`: edit 1 replaces a text by itself, and nothing was changed".to_owned()),
        ("list", json!({ "glob": "[a-" }), "pattern", "cannot use the glob `[a-`: unclosed character class; missing ']'".to_owned()),
        ("search", json!({ "pattern": "(a" }), "pattern", "cannot use the regular expression `(a`: unclosed group".to_owned()),
    ];
    for (tool, arguments, reason, says) in cases {
        let result = client.call(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result:#}");
        assert_eq!(result["content"], json!([{ "type": "text", "text": says }]), "{tool} {arguments}");
        assert_eq!(result["_meta"]["denial"]["reason"], reason, "{tool} {arguments}");
        assert!(result.get("structuredContent").is_none(), "{tool} {arguments}: {result:#}");
    }
    assert_eq!(fs::read_to_string(place.workspace().join("file")).unwrap(), "one\none\n  Two\n");
}

#[test]
fn what_is_asked_of_the_policy_is_answered_without_trying_it() {
    let Some(place) = native("questions by MCP") else { return };
    let mut client = Client::new(&place, &[]);
    for (ask, target, decision) in [
        ("read", "none", "allow"),
        ("read", "/etc/shadow", "deny"),
        ("write", "new/file", "allow"),
        ("write", ".git/hooks/pre-commit", "deny"),
        ("list", "/tmp", "allow"),
        ("list", "/usr", "deny"),
        ("connect", "example.org", "deny"),
        ("see", "NO_SUCH_VARIABLE", "deny"),
    ] {
        let answer = client.does("query", json!({ "ask": ask, "target": target }));
        assert_eq!(answer["decision"], decision, "{ask} {target}: {answer:#}");
        assert!(!answer["rule"].as_str().unwrap().is_empty(), "{ask} {target}");
        assert!(!answer.to_string().contains(place.workspace().to_str().unwrap()), "{answer:#}");
    }
    assert!(!place.workspace().join("new").exists());
    let said = client.fails("query", json!({ "ask": "read", "target": "x", "port": 80 }));
    assert!(said.contains("`port` is for `connect` alone"), "{said}");
}

#[test]
fn wrong_types_and_numbers_are_said_in_words() {
    let Some(place) = native("wrong arguments of file tools") else { return };
    let mut client = Client::new(&place, &[]);
    for (tool, arguments, says) in [
        ("read", json!({}), "missing field `path`"),
        ("read", json!({ "path": 5 }), "invalid type"),
        ("read", json!({ "path": "x", "offset": -1 }), "invalid value"),
        ("read", json!({ "path": "x", "max_chars": 0 }), "`max_chars` is 0, and has to be from 1 to 1000000"),
        ("read", json!({ "path": "x", "unknown": 1 }), "unknown field `unknown`"),
        ("write", json!({ "path": "x" }), "missing field `content`"),
        ("write", json!({ "path": "x", "content": ["x"] }), "invalid type"),
        ("edit", json!({ "path": "x", "edits": [] }), "`edits` has 0 elements"),
        ("edit", json!({ "path": "x", "edits": [{ "old": "x" }] }), "missing field `new`"),
        ("list", json!({ "depth": 129 }), "`depth` is 129, and has to be from 1 to 128"),
        ("search", json!({ "pattern": "x", "context": 11 }), "`context` is 11, and has to be from 0 to 10"),
        ("query", json!({ "ask": "steal", "target": "x" }), "unknown variant"),
        ("query", json!({ "ask": "connect", "target": "x", "port": 0 }), "`port` is 0"),
        ("read", json!({ "path": "x", "sandbox": "none" }), "there is no sandbox"),
    ] {
        let said = client.fails(tool, arguments.clone());
        assert!(said.contains(says), "{tool} {arguments}: {said}");
    }
    let tools = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    for (name, reads) in
        [("read", true), ("list", true), ("search", true), ("query", true), ("write", false), ("edit", false)]
    {
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        assert_eq!(tool["annotations"]["readOnlyHint"], reads, "{name}");
    }
    let read = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "read").unwrap();
    let bounds = &read["inputSchema"]["properties"]["max_chars"];
    assert_eq!((&bounds["minimum"], &bounds["maximum"]), (&json!(1), &json!(1_000_000)), "{bounds:#}");
}

#[test]
fn ten_thousand_reads_at_once_are_served_or_refused() {
    let Some(place) = native("ten thousand reads by MCP") else { return };
    place.write("workspace/small", "small\n");
    let mut client = Client::new(&place, &[]);
    client.does("read", json!({ "path": "small" }));
    let mut input = client.input.take().unwrap();
    // Whoever sends more than is read has to read meanwhile.
    let writer = std::thread::spawn(move || {
        for id in 100_000..110_000 {
            let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "read", "arguments": { "path": "small" } } });
            writeln!(input, "{call}").unwrap();
        }
        input
    });
    let (mut served, mut refused) = (0, 0);
    for _ in 0..10_000 {
        let answer =
            client.wait_for("an answer", |value| value["id"].as_i64().is_some_and(|id| id >= 100_000));
        let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        let busy = answer["error"]["message"].as_str().unwrap_or(said);
        if said == "small\n" && answer["result"]["isError"] == false {
            served += 1;
        } else if busy.starts_with("busy") {
            refused += 1;
        } else {
            panic!("{answer:#}");
        }
    }
    assert!(served >= 8, "{served} served, {refused} refused");
    client.input = Some(writer.join().unwrap());
    assert_eq!(client.does("read", json!({ "path": "small" }))["text"], "small\n");
}

/// An agent that swaps a directory for a link out of the workspace, over and over, while a model uses the tools.
#[test]
fn an_agent_that_swaps_links_never_leads_a_tool_outside() {
    let Some(place) = native("swapped links by MCP") else { return };
    place.write("outside/file", "outside\n");
    place.give(&place.path("outside"));
    place.write("workspace/d/file", "inside\n");
    symlink("../outside", place.workspace().join("l")).unwrap();
    let mut client = Client::new(&place, &[]);
    client.does("shell_start", json!({ "command": ["python3", "-c", SWAP] }));
    let goes_on = until(Duration::from_secs(30));
    while !place.workspace().join("ready").exists() {
        assert!(goes_on(), "nobody swaps");
        std::thread::sleep(Duration::from_millis(1));
    }
    // The control: whoever walks the path is led outside.
    let goes_on = until(Duration::from_secs(20));
    while !fs::read_to_string(place.workspace().join("d/file")).is_ok_and(|text| text == "outside\n") {
        assert!(goes_on(), "the control");
    }
    let goes_on = until(Duration::from_secs(3));
    let (mut read, mut written, mut refused) = (0, 0, 0);
    while goes_on() {
        for (tool, arguments) in
            [("read", json!({ "path": "d/file" })), ("write", json!({ "path": "d/new", "content": "x" }))]
        {
            let result = client.call(tool, arguments);
            let said = result["content"][0]["text"].as_str().unwrap();
            match (tool, result["isError"] == true) {
                ("read", false) => {
                    assert_eq!(said, "inside\n");
                    read += 1;
                }
                (_, false) => written += 1,
                // Or it was changed meanwhile, or is at no path at the moment.
                (_, true) => {
                    assert!(said.starts_with("cannot "), "{said}");
                    refused += 1;
                }
            }
        }
        assert!(!place.path("outside/new").exists());
    }
    assert_eq!(names_in(&place, "outside"), ["file"]);
    assert!(read > 0 && written > 0 && refused > 0, "{read} {written} {refused}");
}

/// Returns whether a time is not over yet, as long as it is asked.
fn until(time: Duration) -> impl Fn() -> bool {
    let until = Instant::now() + time;
    move || Instant::now() < until
}

fn names_in(place: &Place, directory: &str) -> Vec<String> {
    let all = fs::read_dir(place.path(directory)).unwrap();
    all.map(|one| one.unwrap().file_name().into_string().unwrap()).collect()
}
