//! What an agent has made, distinguished from what was there.

use policy::plan::{OnReplaced, Protect};
use sandbox::boundary::detect::finding::lines;
use std::borrow::Cow;

use super::repositories::{git, served};
use super::*;

#[test]
fn what_was_there_is_the_users_own() {
    let boundary = Boundary::new();
    boundary.repository("").write(".git/hooks/pre-commit", "#!/bin/sh\n").write(".bashrc", "evil");
    let baseline = boundary.baseline();
    assert_eq!(boundary.compare(&baseline), []);
}

#[test]
fn a_created_hook_configuration_and_start_up_file_are_found() {
    let boundary = Boundary::new();
    boundary.directory(".git/objects").directory(".git/refs").write(".git/HEAD", "");
    let baseline = boundary.baseline();
    boundary
        .write(".git/hooks/pre-commit", "#!/bin/sh\n")
        .write(".git/config", "[core]\n\tfsmonitor = evil\n")
        .write(".git/commondir", "../evil")
        .write("sub/.git/HEAD", "")
        .write("sub/.git/config", "[core]\n\tsshCommand = evil\n")
        .write(".bashrc", "evil\n");
    assert_eq!(
        boundary.paths(&baseline),
        [".bashrc", ".git/commondir", ".git/config", ".git/hooks/pre-commit", "sub/.git/config"]
    );
    assert!(boundary.compare(&baseline).iter().all(|finding| finding.origin == FindingOrigin::Created));
}

#[test]
fn an_ordinary_clone_passes_untouched() {
    let boundary = Boundary::new();
    let source = boundary.host.parent().unwrap().join("source");
    let url = "https://example.org/source";
    let clone =
        |words: &[&str]| git(&boundary.host, &[&["-c", &served(&source), "clone", "-q"], words].concat());
    git(&boundary.host, &["init", "-q", source.to_str().unwrap()]);
    git(&source, &["commit", "-q", "--allow-empty", "-m", "x"]);
    git(&source, &["-c", &served(&source), "submodule", "--quiet", "add", url, "module"]);
    git(&source, &["commit", "-q", "-m", "submodule"]);
    let baseline = boundary.baseline();
    clone(&["--recurse-submodules", url, "clone"]);
    clone(&["--bare", url, "bare.git"]);
    clone(&["--mirror", url, "mirror.git"]);
    clone(&[
        "--depth",
        "1",
        "--filter",
        "blob:none",
        "--sparse",
        &format!("file://{}/clone", boundary.host.display()),
        "copy",
    ]);
    clone(&["./clone", "near"]);
    git(&boundary.host.join("near"), &["remote", "add", "beside", "../clone"]);
    git(&boundary.host.join("near"), &["worktree", "add", "-q", "../of-near"]);
    git(&boundary.host.join("clone/module"), &["remote", "add", "beside", "../../clone"]);
    // As a path is inside.
    let config = fs::read_to_string(boundary.host.join("near/.git/config")).unwrap();
    boundary.write("near/.git/config", &config.replace(boundary.host.to_str().unwrap(), "/workspace"));
    assert!(boundary.host.join("clone/module/.git").is_file(), "the control");
    git(&boundary.host.join("clone"), &["worktree", "add", "-q", "../tree"]);
    assert_eq!(boundary.compare(&baseline), []);
    assert!(boundary.walk(3).repositories.len() >= 4, "{:?}", boundary.walk(3).repositories);
}

#[test]
fn a_bare_repository_that_executes_is_found() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    boundary.bare("docs").write("docs/config", "[core]\n\tbare = true\n\tfsmonitor = evil\n");
    assert_eq!(boundary.paths(&baseline), ["docs/config"]);
}

#[test]
fn a_link_in_the_place_of_a_protected_path_is_found() {
    let boundary = Boundary::new();
    boundary.repository("").write("mine/settings.json", "{}").link("mine", ".claude");
    let baseline = boundary.baseline();
    assert_eq!(boundary.compare(&baseline), []);
    fs::remove_file(boundary.host.join(".claude")).unwrap();
    boundary.write("evil/settings.json", "{}").link("evil", ".claude").link("evil", ".vscode");
    let findings = boundary.compare(&baseline);
    let found: Vec<_> = findings.iter().map(|one| (one.path.to_str().unwrap(), one.origin)).collect();
    assert_eq!(found, [(".claude", FindingOrigin::Replaced), (".vscode", FindingOrigin::Created)]);
}

#[test]
fn what_took_the_place_of_a_protected_file_is_distinguished_from_what_was_changed_in_it() {
    let boundary = Boundary::new();
    boundary.repository("").write(".git/config", "[core]\n\tpager = less\n");
    boundary.until_the_clock_is_past(".git/config");
    let baseline = boundary.baseline();
    let replace = |content: &str| {
        boundary.write("new", content);
        fs::rename(boundary.host.join("new"), boundary.host.join(".git/config")).unwrap();
    };
    let origins = || boundary.compare(&baseline).iter().map(|finding| finding.origin).collect::<Vec<_>>();
    boundary.write(".git/config", "[core]\n\tpager = more\n");
    assert_eq!(origins(), [FindingOrigin::Earlier], "the same file was protected all the time");
    let mut findings = boundary.compare(&baseline);
    assert!(quarantine(boundary.root().enter().unwrap(), &mut findings[0], now()).is_err());
    replace("[core]\n\tpager = less\n[branch \"b\"]\n\tmerge = refs/heads/b\n");
    assert_eq!(origins(), [], "the pager was there before");
    for executing in ["[core]\n\tpager = evil\n", "[core]\n\tpager = less\n\tfsmonitor = evil\n"] {
        replace(executing);
        assert_eq!(origins(), [FindingOrigin::Replaced], "{executing}");
    }
    let mut findings = boundary.compare(&baseline);
    assert!(quarantine(boundary.root().enter().unwrap(), &mut findings[0], now()).unwrap());
    assert!(!boundary.host.join(".git/config").exists());
}

#[test]
fn what_a_configuration_names_and_was_not_there_is_found_when_it_appears() {
    let boundary = Boundary::new();
    boundary
        .repository("")
        .write(".git/config", "[core]\nhooksPath = hooks\nfsmonitor = ./watch\n[include]\npath = ../more\n");
    let baseline = boundary.baseline();
    boundary.write("hooks/pre-commit", "evil").write("watch", "evil").write("more", "[core]\npager = evil\n");
    assert_eq!(boundary.paths(&baseline), ["hooks/pre-commit", "more", "watch"]);
}

#[test]
fn what_a_hook_of_pre_commit_runs_and_was_not_there_is_found_when_it_appears() {
    let boundary = Boundary::new();
    boundary.repository("").write(".git/hooks/pre-commit", "ARGS=(hook-impl --config=ci/pc.yaml)\n");
    let baseline = boundary.baseline();
    boundary.write("ci/pc.yaml", "repos: []\n").write("ci/other.yaml", "repos: []\n");
    assert_eq!(boundary.paths(&baseline), ["ci/pc.yaml"]);
}

#[test]
fn what_was_there_all_along_is_not_moved_because_a_new_configuration_names_it() {
    let boundary = Boundary::new();
    boundary.write("src/main.rs", "mine").link("src", "way").until_the_clock_is_past("way");
    let baseline = boundary.baseline();
    boundary.repository("").write(".git/config", "[core]\nhooksPath = way\n").write("src/pre-push", "evil");
    let findings = boundary.compare(&baseline);
    let found: Vec<_> = findings.iter().map(|one| (one.path.to_str().unwrap(), one.origin)).collect();
    assert_eq!(
        found,
        [(".git/config", FindingOrigin::Created), ("src/pre-push", FindingOrigin::Created),],
        "without that configuration, nothing obeys the rest"
    );
}

#[test]
fn what_cannot_be_read_or_is_no_file_is_not_given_the_benefit_of_the_doubt() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    boundary.repository("a").write("a/.git/config", "[core\n").repository("b").directory("b/.git/hooks");
    let pipe = boundary.host.join("b/.git/hooks/pre-push");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let findings = boundary.compare(&baseline);
    assert_eq!(findings.len(), 2);
    assert!(matches!(findings[0].reason, Reason::Unreadable { .. }));
    assert_eq!(findings[1].reason, Reason::NotAFile);
}

#[test]
fn a_stored_baseline_works_for_the_next_process() {
    let boundary = Boundary::new();
    boundary.repository("").write(".git/hooks/pre-push", "mine");
    let text = serde_json::to_string(&boundary.baseline()).unwrap();
    boundary.write(".mcp.json", r#"{"mcpServers":{"x":{"command":"evil"}}}"#);
    let baseline: Baseline = serde_json::from_str(&text).unwrap();
    assert_eq!(boundary.paths(&baseline), [".mcp.json"]);
}

#[test]
fn names_that_are_no_text_are_stored_too() {
    let boundary = Boundary::new();
    let name = OsStr::from_bytes(b"b\xffd");
    fs::create_dir(boundary.host.join(name)).unwrap();
    boundary.link(name, "way").write("way/.git/config", "[core]\n\tpager = evil\n");
    let taken = boundary.baseline();
    let text = serde_json::to_string(&taken).unwrap();
    let baseline: Baseline = serde_json::from_str(&text).unwrap();
    assert_eq!(baseline, taken);
    assert_eq!(boundary.compare(&baseline), []);
    boundary.write("way/.git/commondir", "x");
    let finding = serde_json::to_string(&boundary.compare(&baseline)[0]).unwrap();
    let finding: Finding = serde_json::from_str(&finding).unwrap();
    assert_eq!(finding.path, Path::new(name).join(".git/commondir"));
}

#[test]
fn another_directory_at_the_same_path_is_not_compared() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    fs::rename(&boundary.host, boundary.host.with_extension("old")).unwrap();
    fs::create_dir(&boundary.host).unwrap();
    assert!(!baseline.is_of(boundary.root().enter().unwrap()));
    assert!(
        baseline
            .compare(boundary.root().enter().unwrap(), &boundary.mounts(), Deadline::NEVER, SearchKind::Quick)
            .is_err()
    );
}

/// As where the first directory was removed, and the file system has given its number away again.
#[test]
fn another_directory_with_the_same_number_is_not_compared() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    assert!(baseline.is_of(boundary.root().enter().unwrap()), "the control");
    let mut stored = serde_json::to_value(&baseline).unwrap();
    let made = &mut stored["root_btime"][0];
    *made = (made.as_i64().unwrap() - 1).into();
    let earlier: Baseline = serde_json::from_value(stored).unwrap();
    assert!(!earlier.is_of(boundary.root().enter().unwrap()));
}

#[test]
fn what_cannot_be_looked_into_is_found() {
    // Root looks into everything, so somebody else has to do it.
    if rustix::process::getuid().is_root() {
        return as_somebody_else("detection::what_cannot_be_looked_into_is_found");
    }
    let boundary = Boundary::new();
    boundary.directory("mine").directory("closed").directory(".vscode");
    boundary.mode("closed", 0o000).until_the_clock_is_past("mine");
    let baseline = boundary.baseline();
    boundary.repository("").repository("a").repository("b").repository("c").directory("mine/.git/hooks");
    boundary.write(".git/hooks/pre-push", "evil").mode(".git/hooks", 0o111);
    boundary.write("a/.git/hooks/pre-push", "evil").mode("a/.git", 0o111);
    boundary.mode("b", 0o111).mode("c", 0o000).mode("mine", 0o111);
    let mut findings = boundary.compare(&baseline);
    let found: Vec<_> =
        findings.iter().map(|one| (one.path.to_str().unwrap(), &one.reason, one.origin)).collect();
    assert_eq!(
        found,
        [
            (".git/hooks", &Reason::Hidden, FindingOrigin::Created),
            ("a/.git/hooks/pre-push", &Reason::Hook, FindingOrigin::Created),
            ("a/.git", &Reason::Hidden, FindingOrigin::Created),
            ("b", &Reason::Hidden, FindingOrigin::Created),
            ("c", &Reason::Hidden, FindingOrigin::Created),
            ("mine", &Reason::Hidden, FindingOrigin::Earlier),
        ]
    );
    for finding in findings.iter_mut().filter(|finding| finding.origin == FindingOrigin::Created) {
        assert!(quarantine(boundary.root().enter().unwrap(), finding, now()).unwrap(), "{finding}");
        assert!(!boundary.host.join(&finding.path).exists(), "{finding}");
    }
    boundary.mode("mine", 0o700).mode("closed", 0o700);
    assert_eq!(boundary.compare(&baseline), []);
}

#[test]
fn each_new_name_that_no_list_knows_is_named_and_files_come_first() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    for decoy in 0..20 {
        boundary.write(&format!(".a{decoy}-assets/x"), "");
    }
    boundary.write(".ugrep", "filter=*:id\n").write(".zzrc", "x");
    let by = Protect {
        paths: built_in().map(Cow::Borrowed).collect(),
        of_git: Vec::new(),
        read_only: Vec::new(),
        allow: Vec::new(),
        unread: Vec::new(),
        depth: 3,
        on_replaced: OnReplaced::default(),
    };
    let names = baseline.new_names(boundary.root().enter().unwrap(), &boundary.mounts(), &by);
    let paths: Vec<_> = names.iter().map(|one| one.path.to_str().unwrap()).collect();
    assert_eq!((paths.len(), &paths[..3]), (22, &[".ugrep", ".zzrc", ".a0-assets"][..]));
    let [line] = &lines(&names)[..] else { panic!("one line") };
    assert!(paths.iter().all(|path| line.contains(path)), "{line}");
}
