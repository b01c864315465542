//! Links on the way to what programs obey, in the middle of a chain of them, and what takes their place although it is older than the run.

use super::repositories::{committed, git, move_all};
use super::*;

const TASKS: &str = r#"{"tasks":[{"command":"evil","runOptions":{"runOn":"folderOpen"}}]}"#;
const SERVERS: &str = r#"{"mcpServers":{"evil":{"command":"./evil"}}}"#;
const HOOK: &str = "#!/bin/sh\ntouch obeyed\n";

/// What the user has linked; what the agent puts where; what it prepares in that; and where the chain leads to it.
type Variant = (&'static [(&'static str, &'static str)], [&'static str; 2], &'static str, &'static str);

/// One run writes what nothing obeys, and the next one puts it in the place of a link of the user's.
#[test]
fn what_is_old_is_quarantined_where_it_replaces_a_link_in_the_middle_of_a_chain() {
    let variants: [Variant; 5] = [
        (
            &[("conf/vscode", ".vscode"), ("../base/vscode", "conf/vscode")],
            ["x", "conf/vscode"],
            "x/tasks.json",
            ".vscode/tasks.json",
        ),
        (
            &[("conf/mcp.json", ".mcp.json"), ("../base/mcp.json", "conf/mcp.json")],
            ["x/mcp.json", "conf/mcp.json"],
            "x/mcp.json",
            ".mcp.json",
        ),
        (&[("conf/mcp.json", ".mcp.json"), ("base", "conf")], ["x", "conf"], "x/mcp.json", ".mcp.json"),
        (
            &[("../conf/hooks", ".git/hooks"), ("../base/hooks", "conf/hooks")],
            ["x", "conf/hooks"],
            "x/post-index-change",
            ".git/hooks/post-index-change",
        ),
        (
            &[("a", ".claude"), ("b", "a"), ("base/vscode", "b")],
            ["x", "b"],
            "x/settings.json",
            ".claude/settings.json",
        ),
    ];
    for (links, [from, to], prepared, obeyed) in variants {
        let content = match prepared.rsplit_once('/') {
            Some((_, "tasks.json")) => TASKS,
            Some((_, "mcp.json")) => SERVERS,
            Some((_, "settings.json")) => r#"{"hooks":{"SessionStart":[{"hooks":[{"command":"evil"}]}]}}"#,
            _ => HOOK,
        };
        for by_link in [false, true] {
            let (boundary, _) = committed();
            boundary.directory("base/vscode").directory("base/hooks").directory("conf");
            boundary.write("base/mcp.json", "{}").write(prepared, content).mode(prepared, 0o755);
            if to == "conf" {
                fs::remove_dir(boundary.host.join("conf")).unwrap();
            }
            fs::remove_dir_all(boundary.host.join(".git/hooks")).unwrap();
            for (target, link) in links {
                boundary.link(target, link);
            }
            if !obeyed.starts_with(".git") {
                boundary.directory(".git/hooks");
            }
            boundary.until_the_clock_is_past(prepared);
            let baseline = boundary.baseline();
            assert_eq!(boundary.compare(&baseline), [], "{to}");
            let is_obeyed =
                || fs::read_to_string(boundary.host.join(obeyed)).is_ok_and(|found| found == content);
            assert!(!is_obeyed(), "{to}");
            fs::remove_file(boundary.host.join(to)).unwrap();
            if by_link {
                boundary.link(boundary.host.join(from), to);
            } else {
                fs::rename(boundary.host.join(from), boundary.host.join(to)).unwrap();
            }
            assert!(is_obeyed(), "the control: {to}");
            let found = move_all(&boundary, &baseline);
            assert!(found.iter().any(|one| one.path == Path::new(to)), "{to}: {found:?}");
            assert!(!is_obeyed(), "{to}: {found:?}");
        }
    }
}

/// The user's own configuration names what is not there yet, and neither is the directory around it.
#[test]
fn an_old_link_that_comes_to_lie_where_a_program_is_looked_for_is_quarantined() {
    for (settings, evil, inert, [from, to], link) in [
        (
            [["core.hooksPath", "build/git/hooks"]],
            "evil/hooks/post-index-change",
            "b1/git",
            ["b1", "build"],
            "build/git",
        ),
        ([["core.fsmonitor", "tools/bin/monitor"]], "evil/monitor", "t1/bin", ["t1", "tools"], "tools/bin"),
    ] {
        let is_obeyed = |boundary: &Boundary| {
            boundary.write("file", "more");
            git(&boundary.host, &["add", "file"]);
            boundary.host.join("obeyed").exists()
        };
        for is_control in [true, false] {
            let (boundary, _) = committed();
            for [name, value] in settings {
                git(&boundary.host, &["config", name, value]);
            }
            boundary.write(evil, HOOK).mode(evil, 0o755);
            fs::create_dir(boundary.host.join(from)).unwrap();
            boundary.link("../evil", inert);
            boundary.until_the_clock_is_past(inert);
            let baseline = boundary.baseline();
            fs::rename(boundary.host.join(from), boundary.host.join(to)).unwrap();
            if is_control {
                assert!(is_obeyed(&boundary), "the control: {link}");
                continue;
            }
            let found = move_all(&boundary, &baseline);
            assert!(found.iter().any(|one| one.path == Path::new(link)), "{link}: {found:?}");
            assert!(!is_obeyed(&boundary), "{link}");
        }
    }
}

/// A link without a dot is ordinary, and what lies behind it was so, too.
#[test]
fn a_new_link_that_has_programs_obey_what_was_there_is_quarantined() {
    for (file, content, link) in [
        ("x/config.toml", "[hooks]\nenter = \"evil\"\n", "mise"),
        ("x/bazel", "#!/bin/sh\nevil\n", "tools"),
        ("x/activate.R", "system('evil')\n", "renv"),
        ("x/__init__.py", "import os\nos.system('evil')\n", "readline"),
        ("x/.opam-switch/environment", "PATH\t=\t/evil\n", "_opam"),
        ("x/gtags.conf", "default:\n", "obj"),
    ] {
        let boundary = Boundary::new();
        boundary.write(file, content).mode(file, 0o755).directory("mine").link("mine", "other");
        boundary.until_the_clock_is_past(file);
        let baseline = boundary.baseline();
        boundary.link("x", link);
        let found = move_all(&boundary, &baseline);
        let paths: Vec<_> = found.iter().map(|one| one.path.to_str().unwrap()).collect();
        assert_eq!(paths, [link], "{file}: {found:?}");
        // It was the user's, and a program obeyed it.
        boundary.link("x", link);
        boundary.until_the_clock_is_past(link);
        let baseline = boundary.baseline();
        boundary.write("other/new", "");
        assert_eq!(boundary.compare(&baseline), [], "{file}");
    }
}

/// As a whole, `mise` is read-only because of the link alone, and what is in it because of its own rows.
#[test]
fn what_lay_in_something_read_only_stays_the_users_when_the_link_that_leads_there_is_gone() {
    let settings = "[env]\nA = \"1\"\n[hooks]\nenter = \"mine\"\n";
    for (target, link) in [("mise", ".mise"), ("a/mise", ".config/mise")] {
        let boundary = Boundary::new();
        let file = |name: &str| format!("{target}/{name}");
        boundary
            .repository("a")
            .write(&file("config.toml"), settings)
            .write(&file("conf.d/a.toml"), settings);
        boundary.directory(".config").link(boundary.host.join(target), link);
        let baseline = boundary.baseline();
        assert_eq!(boundary.mounts().read_only.iter().filter(|one| one.path.starts_with(target)).count(), 1);
        fs::remove_file(boundary.host.join(link)).unwrap();
        assert_eq!(boundary.paths(&baseline), [link], "{target}");
        // The control: what is new there is the agent's. A directory that is the same was read-only with all that is in it.
        boundary.write(&file("conf.d/b.toml"), settings).write(&file("config.local.toml"), settings);
        assert_eq!(boundary.paths(&baseline), [link.into(), file("config.local.toml")]);
    }
}

/// The rows of such names are patterns: which file it will be, nobody knows before.
#[test]
fn what_fits_a_pattern_behind_a_link_of_the_users_is_the_agents_though_it_is_old() {
    const EVIL: &str = "[hooks]\nenter = \"evil\"\n";
    for (link, target, name) in [
        (".config", "cfg", "mise.local.toml"),
        ("mise", "m/n", "config.local.toml"),
        ("tools", "t", "bazel.sh"),
    ] {
        for was_there in [true, false] {
            let boundary = Boundary::new();
            boundary.link(target, link).directory("m").write(&format!("x/{name}"), EVIL);
            if was_there {
                boundary.directory(target);
            }
            boundary.until_the_clock_is_past(&format!("x/{name}"));
            let baseline = boundary.baseline();
            let _ = fs::rename(boundary.host.join(target), boundary.host.join("was"));
            fs::rename(boundary.host.join("x"), boundary.host.join(target)).unwrap();
            let obeyed = boundary.host.join(link).join(name);
            assert_eq!(fs::read_to_string(&obeyed).unwrap(), EVIL, "the control: {link}");
            let found = move_all(&boundary, &baseline);
            assert!(!obeyed.exists(), "{link} {was_there}: {found:?}");
        }
        // What was there before the link is the user's, and the link goes.
        let boundary = Boundary::new();
        let file = format!("{target}/{name}");
        boundary.write(&file, EVIL).until_the_clock_is_past(&file);
        let baseline = boundary.baseline();
        boundary.link(target, link);
        let found = move_all(&boundary, &baseline);
        assert!(
            boundary.host.join(&file).exists() && !boundary.host.join(link).exists(),
            "{link}: {found:?}"
        );
    }
}

/// Each run makes what is harmless by itself: a link at the path, and another link in the place of what that leads to.
#[test]
fn what_a_link_deep_down_is_replaced_by_is_found_however_old_the_link_at_the_path_is() {
    for elsewhere in ["/proc/self/cwd/notes.txt", "/dev/fd/../cwd/notes.txt"] {
        let boundary = Boundary::new();
        boundary.directory("a/b/c/d/e").write("notes.txt", "NODE_OPTIONS=--require ./x.js\n");
        boundary.write("a/b/c/d/e/env", "A=1\n").link("a/b/c/d/e/env", ".env");
        let baseline = boundary.baseline();
        let deep = "a/b/c/d/e/env";
        fs::remove_file(boundary.host.join(deep)).unwrap();
        boundary.link(elsewhere, deep);
        let found = move_all(&boundary, &baseline);
        assert!(found.iter().any(|one| one.path == Path::new(deep)), "{elsewhere}: {found:?}");
        assert!(fs::read(boundary.host.join(".env")).is_err(), "{elsewhere}");
    }
}
