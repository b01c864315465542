//! The walk, the mounts that follow from it, and the detection, on real trees.
#![expect(clippy::unwrap_used, reason = "what a helper cannot do fails the test that asked for it")]

mod aside;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use policy::judge::Reason;
use policy::protect::BUILT_IN;
use rustix::time::{ClockId, clock_gettime};
use sandbox::deadline::Deadline;
use sandbox::detect::{Baseline, Finding, Origin};
use sandbox::protect::{FileKind, Mounts, Notice, mounts, mounts_until};
use sandbox::quarantine::{QUARANTINE, set_aside};
use sandbox::walk::{Git, Walk, walk, walk_until};

/// A boundary in a directory of its own.
struct Boundary {
    _top: tempfile::TempDir,
    host: PathBuf,
}

impl Boundary {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let host = top.path().canonicalize().unwrap().join("workspace");
        fs::create_dir(&host).unwrap();
        Self { _top: top, host }
    }

    fn write(&self, path: &str, content: &str) -> &Self {
        let path = self.host.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn directory(&self, path: &str) -> &Self {
        fs::create_dir_all(self.host.join(path)).unwrap();
        self
    }

    fn link(&self, target: impl AsRef<Path>, path: &str) -> &Self {
        symlink(target, self.host.join(path)).unwrap();
        self
    }

    /// What `git init` makes, as far as it matters here.
    fn repository(&self, path: &str) -> &Self {
        let git = format!("{path}/.git");
        self.bare(git.trim_start_matches('/'))
    }

    fn bare(&self, path: &str) -> &Self {
        self.write(&format!("{path}/HEAD"), "ref: refs/heads/main\n")
            .write(&format!("{path}/config"), "[core]\n\tbare = false\n")
            .write(&format!("{path}/hooks/pre-commit.sample"), "#!/bin/sh\n")
            .directory(&format!("{path}/objects"))
            .directory(&format!("{path}/refs"))
    }

    fn mode(&self, path: &str, mode: u32) -> &Self {
        fs::set_permissions(self.host.join(path), fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    /// File systems take the time from a clock that ticks every few milliseconds.
    fn until_the_clock_is_past(&self, path: &str) {
        let born = fs::symlink_metadata(self.host.join(path)).unwrap().created().unwrap();
        let now = || Duration::try_from(clock_gettime(ClockId::RealtimeCoarse)).unwrap();
        while UNIX_EPOCH + now() <= born {}
    }

    fn root(&self) -> File {
        File::open(&self.host).unwrap()
    }

    fn walk(&self, depth: u32) -> Walk {
        walk(self.root(), depth).unwrap()
    }

    fn mounts(&self) -> Mounts {
        let list: Vec<String> = BUILT_IN.iter().map(|path| (*path).to_owned()).collect();
        mounts(self.root(), &self.host, &self.walk(3), &list).unwrap()
    }

    fn read_only(&self) -> Vec<String> {
        self.mounts().read_only.iter().map(|one| one.path.display().to_string()).collect()
    }

    fn baseline(&self) -> Baseline {
        Baseline::take(self.root(), &self.mounts()).unwrap()
    }

    fn compare(&self, baseline: &Baseline) -> Vec<Finding> {
        let compared = baseline.compare(self.root(), &self.mounts(), Deadline::NEVER).unwrap();
        assert!(compared.is_whole);
        compared.findings
    }

    fn paths(&self, baseline: &Baseline) -> Vec<String> {
        self.compare(baseline).iter().map(|finding| finding.path.display().to_string()).collect()
    }
}

fn paths(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

// --- the walk ----------------------------------------------------------------------------------------------

#[test]
fn finds_repositories_of_every_kind_and_sockets() {
    let boundary = Boundary::new();
    boundary.repository("").repository("a/b").bare("mirror").write("c/.git", "gitdir: ../x\n");
    boundary.directory("d").link("../.git", "d/.git");
    let _listener = UnixListener::bind(boundary.host.join("a/agent.sock")).unwrap();
    let _listener = UnixListener::bind(boundary.host.join(".git/fsmonitor--daemon.ipc")).unwrap();
    let found = boundary.walk(3);
    let mut repositories: Vec<_> =
        found.repositories.iter().map(|one| (one.path.to_str().unwrap(), one.git)).collect();
    assert_eq!(repositories.remove(0), ("", Git::Directory), "the outer one comes first");
    repositories.sort_by_key(|(path, _)| *path);
    assert_eq!(
        repositories,
        [("a/b", Git::Directory), ("c", Git::File), ("d", Git::Link), ("mirror", Git::Bare)]
    );
    let mut sockets: Vec<_> = found.sockets.iter().map(|one| one.path.to_str().unwrap()).collect();
    sockets.sort_unstable();
    assert_eq!(sockets, [".git/fsmonitor--daemon.ipc", "a/agent.sock"]);
}

#[test]
fn enters_no_more_levels_than_the_bound_and_says_what_it_left_out() {
    let boundary = Boundary::new();
    boundary.repository("1/2/3").repository("1/2/3/4").repository("node_modules/x");
    let found = boundary.walk(3);
    assert_eq!(paths(&found.repositories.iter().map(|one| one.path.clone()).collect::<Vec<_>>()), ["1/2/3"]);
    assert_eq!(paths(&found.deeper.examples), ["1/2/3/4"]);
    assert_eq!(paths(&found.skipped.examples), ["node_modules"]);
    let found = boundary.walk(0);
    assert_eq!(found.repositories, []);
    assert_eq!((found.deeper.count, found.skipped.count), (1, 1));
}

#[test]
fn what_was_moved_aside_is_not_looked_at_again_and_is_no_gap() {
    let boundary = Boundary::new();
    for name in [QUARANTINE.to_owned(), format!("{QUARANTINE}-1700000000-0")] {
        boundary.repository(&format!("{name}/a")).directory(&format!("{name}/1/2/3/4/5"));
        boundary.directory(&format!("{name}/node_modules"));
    }
    let found = boundary.walk(3);
    assert_eq!((found.repositories.len(), found.deeper.count, found.skipped.count), (0, 0, 0));
    boundary.repository(&format!("{QUARANTINE}-of-mine")).repository(&format!("sub/{QUARANTINE}"));
    assert_eq!(boundary.walk(3).repositories.len(), 2, "other names and other places are no quarantine");
}

#[test]
fn follows_no_link_out_of_the_boundary() {
    let boundary = Boundary::new();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(outside.path().join(".git")).unwrap();
    boundary.link(outside.path(), "link").link(".", "circle");
    assert_eq!(boundary.walk(8).repositories, []);
}

#[test]
fn does_not_enter_another_file_system_and_says_so() {
    // /dev is one file system, and what is mounted in it are others.
    let found = walk(File::open("/dev").unwrap(), 1).unwrap();
    let others = paths(&found.other_file_systems);
    assert!(others.contains(&"pts".to_owned()), "{others:?}");
}

#[test]
fn says_which_directories_it_could_not_read() {
    // Root reads everything, so somebody else has to look.
    if rustix::process::getuid().is_root() {
        return as_somebody_else("says_which_directories_it_could_not_read");
    }
    let boundary = Boundary::new();
    boundary.repository("locked").directory("open");
    fs::set_permissions(boundary.host.join("locked"), fs::Permissions::from_mode(0o000)).unwrap();
    let found = boundary.walk(3);
    fs::set_permissions(boundary.host.join("locked"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(found.unread.len(), 1);
    assert_eq!(found.unread[0].path, Path::new("locked"));
    assert_eq!(found.unread[0].errno, nix::libc::EACCES);
}

/// Runs one test of this file again as a user without rights.
fn as_somebody_else(name: &str) {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = directory.path().join("test");
    // By another process: what this one has open for writing, a child of another test may hold open, and then
    // nobody can execute it (ETXTBSY).
    let itself = std::env::current_exe().unwrap();
    assert!(Command::new("cp").arg(itself).arg(&program).status().unwrap().success());
    let output = Command::new("setpriv")
        .args(["--reuid", "1001", "--regid", "1001", "--clear-groups"])
        .arg(&program)
        .args(["--exact", name])
        .env("TMPDIR", "/tmp")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

// --- the mounts --------------------------------------------------------------------------------------------

#[test]
fn what_exists_becomes_read_only_and_its_parents_are_pinned() {
    let boundary = Boundary::new();
    boundary.repository("").repository("a/b").write(".vscode/tasks.json", "{}").write("a/b/.bashrc", "");
    boundary.write("a/.bashrc", "not at a repository's root");
    let found = boundary.mounts();
    assert_eq!(
        boundary.read_only(),
        [".git/config", ".git/hooks", ".vscode", "a/b/.bashrc", "a/b/.git/config", "a/b/.git/hooks"]
    );
    assert_eq!(paths(&found.pins), [".git", "a", "a/b", "a/b/.git"]);
    assert_eq!(found.notices, []);
    let config = fs::metadata(boundary.host.join(".git/config")).unwrap();
    assert_eq!(found.read_only[0].file_id.inode, config.ino());
    assert_eq!(found.read_only[0].file_id.device, config.dev());
    assert_eq!(found.read_only[0].kind, FileKind::File);
    assert_eq!(found.read_only[1].kind, FileKind::Directory);
}

#[test]
fn submodules_and_worktrees_are_covered() {
    let boundary = Boundary::new();
    boundary.repository("").bare(".git/modules/libs/deep").bare(".git/modules/libs/deep/modules/inner");
    boundary.write("libs/deep/.git", "gitdir: ../../.git/modules/libs/deep\n");
    boundary.write(".git/worktrees/w/config.worktree", "").write(".git/worktrees/w/commondir", "../..\n");
    let found = boundary.read_only();
    for path in [
        ".git/modules/libs/deep/config",
        ".git/modules/libs/deep/hooks",
        ".git/modules/libs/deep/modules/inner/config",
        ".git/worktrees/w/commondir",
        ".git/worktrees/w/config.worktree",
        "libs/deep/.git",
    ] {
        assert!(found.iter().any(|one| one == path), "{path} is missing in {found:?}");
    }
    assert!(boundary.mounts().pins.contains(&".git/modules/libs/deep/modules/inner".into()));
}

#[test]
fn a_gitdir_file_is_followed_inside_the_boundary_only() {
    let boundary = Boundary::new();
    boundary.bare("data/main").write("data/main/commondir", "../common\n").bare("data/common");
    let absolute = boundary.host.join("data/main").display().to_string();
    boundary.write("tree/.git", &format!("gitdir: {absolute}\n"));
    boundary.write("lost/.git", "gitdir: /etc\n").write("up/.git", "gitdir: ../../elsewhere\n");
    let found = boundary.read_only();
    for path in ["data/common/config", "data/main/commondir", "data/main/config", "lost/.git", "tree/.git"] {
        assert!(found.iter().any(|one| one == path), "{path} is missing in {found:?}");
    }
    let mut outside: Vec<_> = boundary.mounts().notices;
    outside.sort_by_key(ToString::to_string);
    assert_eq!(
        outside,
        [Notice::GitOutside { file: "lost/.git".into() }, Notice::GitOutside { file: "up/.git".into() }]
    );
}

#[test]
fn a_link_is_never_mounted_and_its_target_is_protected_in_its_place() {
    let boundary = Boundary::new();
    boundary.repository("").write("dotfiles/bashrc", "").write("shared/claude/settings.json", "{}");
    boundary.link("dotfiles/bashrc", ".bashrc").link("./shared/../shared/claude", ".claude");
    boundary.link("/etc/profile", ".profile").link("nothing", ".zshrc");
    boundary.link(boundary.host.join("dotfiles"), ".config").write("dotfiles/git/config", "");
    let found = boundary.mounts();
    let read_only = boundary.read_only();
    assert_eq!(read_only, [".git/config", ".git/hooks", "dotfiles/bashrc", "dotfiles/git", "shared/claude"]);
    assert_eq!(paths(&found.pins), [".git", "dotfiles", "shared"]);
    let links: Vec<_> = found.links.iter().map(|link| link.path.to_str().unwrap()).collect();
    assert_eq!(links, [".bashrc", ".claude", ".config", ".profile", ".zshrc"]);
    assert!(found.notices.contains(&Notice::LinkOutside { link: ".profile".into() }));
    assert!(found.notices.contains(&Notice::LinkOutside { link: ".zshrc".into() }));
    assert!(
        found
            .notices
            .contains(&Notice::LinkInside { link: ".bashrc".into(), target: "dotfiles/bashrc".into() })
    );
}

#[test]
fn what_a_configuration_of_git_names_is_read_only_too() {
    let boundary = Boundary::new();
    boundary.repository("").write(".husky/_/pre-commit", "x").write(".husky/pre-commit", "x");
    boundary.write(
        ".git/config",
        "[core]\nhooksPath = .husky/_\nfsmonitor = tools/watch\n[include]\npath = ../one\n",
    );
    boundary.write("tools/watch", "x").write("tools/other", "x");
    boundary
        .write("one", "[includeIf \"onbranch:x\"]\npath = deep/two\n")
        .write("deep/two", "[include]\npath = ../one\n");
    // A submodule's path is relative to its work tree, a linked work tree's to that, an absolute one to nothing.
    boundary.bare(".git/modules/sub").write("sub/.git", "gitdir: ../.git/modules/sub\n");
    boundary.write(".git/modules/sub/config", "[core]\nhooksPath = hooks\n").write("sub/hooks/pre-push", "x");
    boundary
        .write(".git/worktrees/tree/commondir", "../..\n")
        .write("tree/.git", "gitdir: ../.git/worktrees/tree\n");
    boundary.write("tree/.husky/pre-commit", "x");
    let hooks = boundary.host.join("shared/hooks");
    boundary.bare("mirror.git").directory("shared/hooks");
    boundary.write("mirror.git/config", &format!("[core]\nhooksPath = {}\n", hooks.display()));
    let read_only = boundary.read_only();
    for path in [".husky", "tools/watch", "one", "deep/two", "sub/hooks", "tree/.husky", "shared/hooks"] {
        assert!(read_only.contains(&path.to_owned()), "{path}: {read_only:?}");
    }
    assert!(!read_only.contains(&"tools/other".to_owned()));
    let notices = boundary.mounts().notices;
    assert_eq!(notices, []);
}

#[test]
fn what_a_configuration_of_git_names_outside_or_around_the_repository_is_not_mounted() {
    let boundary = Boundary::new();
    fs::create_dir(boundary.host.parent().unwrap().join("hooks")).unwrap();
    boundary.repository("sub").link("../../hooks", "sub/out");
    let plain = boundary.read_only();
    for (named, notices) in [("../../hooks", 0), ("~/hooks", 0), ("..", 1), (".", 1), (".git", 1), ("out", 1)]
    {
        boundary.write("sub/.git/config", &format!("[core]\nhooksPath = {named}\n"));
        assert_eq!(boundary.read_only(), plain, "{named}");
        assert_eq!(boundary.mounts().notices.len(), notices, "{named}");
    }
}

#[test]
fn configurations_that_include_without_end_come_to_an_end() {
    let boundary = Boundary::new();
    boundary.repository("").write(".git/config", "[include]\npath = ../0\n");
    for number in 0..20 {
        boundary.write(&number.to_string(), &format!("[include]\npath = {}\n", number + 1));
    }
    let mounts = boundary.mounts();
    assert!(mounts.notices.contains(&Notice::TooManySettings { config: "9".into() }), "{:?}", mounts.notices);
    let included: Vec<String> = (0..300).map(|number| format!("many/{number}")).collect();
    for path in &included {
        boundary.write(path, "");
    }
    boundary.write(".git/config", &format!("[include]\npath = ../{}\n", included.join("\npath = ../")));
    let mounts = boundary.mounts();
    assert_eq!(mounts.notices, [Notice::TooManySettings { config: ".git/config".into() }]);
}

#[test]
fn links_in_a_circle_come_to_an_end() {
    let boundary = Boundary::new();
    boundary.link(".zshrc", ".bashrc").link(".bashrc", ".zshrc");
    boundary.write("a/.git", "gitdir: ../b\n").write("b/commondir", "../a/../b\n").write("b/HEAD", "");
    assert_eq!(boundary.read_only(), ["a/.git", "b/commondir"]);
}

#[test]
fn other_names_of_a_protected_file_are_reported() {
    let boundary = Boundary::new();
    boundary.repository("");
    fs::hard_link(boundary.host.join(".git/config"), boundary.host.join("innocent")).unwrap();
    assert_eq!(boundary.mounts().notices, [Notice::HardLinked { path: ".git/config".into() }]);
}

#[test]
fn what_lies_in_something_read_only_is_not_mounted_again() {
    let boundary = Boundary::new();
    boundary.repository(".claude/nested").write(".claude/settings.json", "{}");
    assert_eq!(boundary.read_only(), [".claude"]);
    assert_eq!(boundary.mounts().pins, Vec::<PathBuf>::new());
}

#[test]
fn what_the_policy_gives_up_is_not_mounted_anywhere() {
    let boundary = Boundary::new();
    boundary.repository("").bare(".git/modules/m").repository("a");
    let list: Vec<String> =
        BUILT_IN.iter().filter(|path| **path != ".git/config").map(|path| (*path).to_owned()).collect();
    let found = mounts(boundary.root(), &boundary.host, &boundary.walk(3), &list).unwrap();
    assert!(found.read_only.iter().all(|one| !one.path.ends_with("config")), "{found:?}");
    assert_eq!(found.read_only.len(), 3, "the three directories of hooks");
}

// --- the detection -----------------------------------------------------------------------------------------

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
    assert!(boundary.compare(&baseline).iter().all(|finding| finding.origin == Origin::Created));
}

#[test]
fn an_ordinary_clone_passes_untouched() {
    let boundary = Boundary::new();
    let source = boundary.host.parent().unwrap().join("source");
    let git = |directory: &Path, arguments: &[&str]| {
        let status = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"])
            .args(arguments)
            .current_dir(directory)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status()
            .unwrap();
        assert!(status.success());
    };
    git(&boundary.host, &["init", "-q", source.to_str().unwrap()]);
    git(&source, &["commit", "-q", "--allow-empty", "-m", "x"]);
    git(&source, &["submodule", "--quiet", "add", source.to_str().unwrap(), "module"]);
    git(&source, &["commit", "-q", "-m", "submodule"]);
    let baseline = boundary.baseline();
    let url = format!("file://{}", source.display());
    git(&boundary.host, &["clone", "-q", "--recurse-submodules", &url, "clone"]);
    git(&boundary.host, &["clone", "-q", "--bare", &url, "bare.git"]);
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
    assert_eq!(found, [(".claude", Origin::Replaced), (".vscode", Origin::Created)]);
}

#[test]
fn what_was_replaced_on_the_host_is_reported_and_never_moved() {
    let boundary = Boundary::new();
    boundary.repository("").write(".git/config", "[core]\n\tpager = less\n");
    let baseline = boundary.baseline();
    boundary.write("new", "[core]\n\tpager = less\n[remote \"o\"]\n\turl = x\n");
    fs::rename(boundary.host.join("new"), boundary.host.join(".git/config")).unwrap();
    assert_eq!(boundary.compare(&baseline), [], "the pager was there before");
    boundary.write("new", "[core]\n\tfsmonitor = evil\n");
    fs::rename(boundary.host.join("new"), boundary.host.join(".git/config")).unwrap();
    let mut findings = boundary.compare(&baseline);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].origin, Origin::Replaced);
    assert!(set_aside(boundary.root(), &mut findings[0], now()).is_err());
    assert!(boundary.host.join(".git/config").exists());
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
fn what_was_there_all_along_is_not_moved_because_a_new_configuration_names_it() {
    let boundary = Boundary::new();
    boundary.write("src/main.rs", "mine").link("src", "way").until_the_clock_is_past("way");
    let baseline = boundary.baseline();
    boundary.repository("").write(".git/config", "[core]\nhooksPath = way\n").write("src/pre-push", "evil");
    let findings = boundary.compare(&baseline);
    let found: Vec<_> = findings.iter().map(|one| (one.path.to_str().unwrap(), one.origin)).collect();
    assert_eq!(
        found,
        [
            (".git/config", Origin::Created),
            ("src/main.rs", Origin::Replaced),
            ("src/pre-push", Origin::Created),
            ("way", Origin::Replaced),
        ]
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
    assert!(!baseline.is_of(boundary.root()));
    assert!(baseline.compare(boundary.root(), &boundary.mounts(), Deadline::NEVER).is_err());
}

#[test]
fn what_cannot_be_looked_into_is_found() {
    // Root looks into everything, so somebody else has to do it.
    if rustix::process::getuid().is_root() {
        return as_somebody_else("what_cannot_be_looked_into_is_found");
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
            (".git/hooks", &Reason::Hidden, Origin::Created),
            ("a/.git/hooks/pre-push", &Reason::Hook, Origin::Created),
            ("a/.git", &Reason::Hidden, Origin::Created),
            ("b", &Reason::Hidden, Origin::Created),
            ("c", &Reason::Hidden, Origin::Created),
            ("mine", &Reason::Hidden, Origin::Replaced),
        ]
    );
    for finding in findings.iter_mut().filter(|finding| finding.origin == Origin::Created) {
        assert!(set_aside(boundary.root(), finding, now()).unwrap(), "{finding}");
        assert!(!boundary.host.join(&finding.path).exists(), "{finding}");
    }
    boundary.mode("mine", 0o700).mode("closed", 0o700);
    assert_eq!(boundary.compare(&baseline), []);
}

// --- an end to it --------------------------------------------------------------------------------------------

#[test]
fn what_is_too_much_to_be_judged_is_not_given_the_benefit_of_the_doubt() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    let nothing = format!("// {}\n{{}}", "x".repeat(1_000_000));
    boundary.write(".claude/0.json", &nothing);
    assert_eq!(boundary.paths(&baseline), Vec::<String>::new(), "the control: this file harms nobody");
    for number in 1..100 {
        let link = boundary.host.join(format!(".claude/{number}.json"));
        fs::hard_link(boundary.host.join(".claude/0.json"), link).unwrap();
    }
    // It would be looked at last.
    boundary.write(".vscode/tasks.json", r#"{"tasks":[{"runOptions":{"runOn":"folderOpen"}}]}"#);
    let mut findings = boundary.compare(&baseline);
    let found: Vec<_> = findings.iter().map(|one| (one.path.to_str().unwrap(), &one.reason)).collect();
    assert_eq!(found, [(".claude", &Reason::Hidden), (".vscode", &Reason::Hidden)]);
    for finding in &mut findings {
        assert!(set_aside(boundary.root(), finding, now()).unwrap(), "{finding}");
    }
    assert_eq!(boundary.compare(&baseline), []);
}

#[test]
fn entries_without_end_are_too_much_to_be_judged() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    boundary.directory(".idea");
    for number in 0..70_000 {
        symlink("x", boundary.host.join(format!(".idea/{number}.txt"))).unwrap();
    }
    let findings = boundary.compare(&baseline);
    let found: Vec<_> = findings.iter().map(|one| (one.path.to_str().unwrap(), &one.reason)).collect();
    assert_eq!(found, [(".idea", &Reason::Hidden)]);
}

#[test]
fn when_time_is_over_that_is_said_and_nothing_is_found() {
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    boundary.repository("sub").write("sub/.git/hooks/pre-commit", "evil").write(".bashrc", "evil");
    let over = Deadline::after(Duration::ZERO);
    let list: Vec<String> = BUILT_IN.iter().map(|path| (*path).to_owned()).collect();
    assert!(boundary.walk(3).is_whole);
    let walk = walk_until(boundary.root(), 3, over).unwrap();
    assert!(!walk.is_whole);
    assert!(boundary.mounts().is_whole());
    let late = mounts_until(boundary.root(), &boundary.host, &boundary.walk(3), &list, over).unwrap();
    assert!(!late.is_whole());
    assert_eq!(late.notices, [Notice::OutOfTime]);
    let compared = baseline.compare(boundary.root(), &boundary.mounts(), over).unwrap();
    assert!(!compared.is_whole);
    assert_eq!(compared.findings, []);
    assert_eq!(boundary.paths(&baseline), [".bashrc", "sub/.git/hooks/pre-commit"], "the control");
}

#[test]
fn a_walk_stops_within_a_directory_that_has_no_end() {
    let boundary = Boundary::new();
    for number in 0..5_000 {
        boundary.write(&format!("{number}"), "");
    }
    assert!(!walk_until(boundary.root(), 3, Deadline::after(Duration::ZERO)).unwrap().is_whole);
    assert!(walk_until(boundary.root(), 3, Deadline::NEVER).unwrap().is_whole);
}
