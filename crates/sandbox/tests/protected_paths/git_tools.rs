//! Programs that tools keep among git's data: filters that a configuration finds by a command, and servers.

use super::repositories::{committed, git, move_all};
use super::*;

/// A script that makes a file of this name in the directory in which it is run.
const SCRIPT: &str = "#!/bin/sh\ntouch obeyed\ncat\n";

/// Whether git has run such a script since.
fn is_obeyed(boundary: &Boundary) -> bool {
    // Of the same length as it was: otherwise git need not read it to see that it has changed.
    boundary.write("file", "2");
    git(&boundary.host, &["status"]);
    fs::remove_file(boundary.host.join("obeyed")).is_ok()
}

/// A filter of this name, which a shell finds below git's data in the way of transcrypt.
fn filtered(directory: &str) -> Boundary {
    let (boundary, _) = committed();
    let filter = format!("\"$(printf %s/{directory} \"$(git rev-parse --git-common-dir)\")\"/tool clean %f");
    git(&boundary.host, &["config", "filter.x.clean", &filter]);
    boundary.write(".git/info/attributes", "file filter=x\n");
    let tool = format!(".git/{directory}/tool");
    boundary.write(&tool, "#!/bin/sh\ncat\n").mode(&tool, 0o755);
    boundary
}

#[test]
fn a_program_of_a_tool_among_gits_data_is_read_only() {
    for (directory, protected) in
        [("crypt", ".git/crypt"), ("own", ".git/own/tool"), ("own/bin/deep", ".git/own/bin/deep/tool")]
    {
        let boundary = filtered(directory);
        assert!(!is_obeyed(&boundary), "the control: nobody has changed it");
        boundary.write(&format!(".git/{directory}/tool"), SCRIPT);
        assert!(is_obeyed(&boundary), "the control: git runs it in {directory}");
        let read_only = boundary.read_only();
        assert!(read_only.iter().any(|one| one == protected), "{protected}: {read_only:?}");
    }
    // In the data of a submodule and of a linked work tree, too.
    let (boundary, _) = committed();
    git(&boundary.host, &["init", "-q", "--bare", ".git/modules/sub"]);
    git(&boundary.host, &["worktree", "add", "-q", "tree"]);
    for data in [".git/modules/sub", ".git/worktrees/tree"] {
        let tool = format!("{data}/own/tool");
        boundary.write(&tool, SCRIPT).mode(&tool, 0o755);
        assert!(boundary.read_only().contains(&tool), "{tool}");
    }
}

#[test]
fn what_a_tool_keeps_there_beside_programs_stays_writable() {
    let (boundary, _) = committed();
    for (path, content, mode) in [
        (".git/own/state", "data", 0o644),
        // On some file systems every file may be executed.
        (".git/own/cache", "data", 0o777),
        (".git/own/template.sh", SCRIPT, 0o644),
        // In a work tree people work.
        (".git/trees/a/.git", "gitdir: ../../worktrees/a\n", 0o644),
        (".git/trees/a/tools/run", SCRIPT, 0o755),
        (".git/branchless/run", SCRIPT, 0o755),
    ] {
        boundary.write(path, content).mode(path, mode);
    }
    let read_only = boundary.read_only();
    assert!(!read_only.iter().any(|one| one.starts_with(".git/own")), "{read_only:?}");
    assert!(!read_only.iter().any(|one| one.ends_with("run")), "{read_only:?}");
    let baseline = boundary.baseline();
    boundary.write(".git/own/more", "data").write(".git/trees/a/tools/more", SCRIPT);
    boundary.mode(".git/trees/a/tools/more", 0o755);
    assert_eq!(boundary.compare(&baseline), []);
}

#[test]
fn more_files_than_are_searched_for_programs_are_a_gap() {
    let (boundary, _) = committed();
    let gaps = |boundary: &Boundary| {
        let mounts = boundary.mounts();
        mounts
            .notices
            .iter()
            .filter(|gap| gap.leaves_unprotected())
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    boundary.write(".git/own/tool", SCRIPT);
    assert_eq!(gaps(&boundary), [""; 0], "the control");
    for number in 0..10_000 {
        fs::write(boundary.host.join(format!(".git/own/{number}")), "").unwrap();
    }
    assert!(
        gaps(&boundary)[0].starts_with(".git/own has more files than are searched"),
        "{:?}",
        gaps(&boundary)
    );
}

#[test]
fn a_new_program_in_the_directory_of_a_tool_is_quarantined() {
    let boundary = filtered("own");
    boundary.write(".git/gitweb/gitweb_config.perl", "our $projectroot = '/';\n");
    let baseline = boundary.baseline();
    // A program of the host may have replaced the directory meanwhile.
    boundary.write(".git/own/other", SCRIPT).mode(".git/own/other", 0o755);
    boundary.write(".git/gitweb/pid", "1\n").write(".git/gitweb/error.log", "text\n");
    let moved: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.path).collect();
    assert_eq!(moved, [PathBuf::from(".git/own/other")]);
}

#[test]
fn state_of_a_tool_names_nothing_elsewhere() {
    for (path, ordinary, evil) in [
        (
            ".git/entire-sessions/a.json",
            r#"{"session_id": "a", "files_touched": ["b"], "transcript_path": "/home/me/.claude/projects/x/1.jsonl"}"#,
            r#"{"session_id": "a", "transcript_path": "/home/me/.ssh/id_ed25519"}"#,
        ),
        (
            ".git/ai/git_hooks_state.json",
            r#"{"forward_mode": "none", "forward_hooks_path": null, "binary_path": "/usr/bin/git-ai"}"#,
            r#"{"forward_mode": "repo_local", "forward_hooks_path": "/workspace/src/hooks", "binary_path": ""}"#,
        ),
        (
            ".git/sl/config-git-user",
            "[ui]\n# from git config: user.name and user.email\nusername = A <a@example.org>\n",
            "[hooks]\npre-status = evil\n",
        ),
        (
            ".repo/copy-link-files.json",
            r#"{"linkfile": ["Android.bp"], "copyfile": []}"#,
            r#"{"linkfile": ["../precious"], "copyfile": []}"#,
        ),
        (".repo/project.list", "build/make\n", "build/make\n../other\n"),
        (
            ".beads/config.yaml",
            "# Beads\nexport:\n  auto: true\nsync.branch: beads-sync\n",
            "export:\n  auto: true\n  path: ../../.zshenv\n",
        ),
        (
            ".beads/metadata.json",
            r#"{"database": "dolt", "dolt_mode": "embedded"}"#,
            r#"{"database": "dolt", "dolt_mode": "server", "dolt_server_host": "evil.example"}"#,
        ),
    ] {
        for was_there in [false, true] {
            let (boundary, _) = committed();
            if was_there {
                boundary.write(path, ordinary);
            }
            let baseline = boundary.baseline_of_old();
            boundary.write(path, &format!("{ordinary}\n"));
            assert_eq!(boundary.paths(&baseline), [""; 0], "what the tool writes, {path}");
            boundary.write(path, evil);
            assert_eq!(boundary.paths(&baseline), [path]);
        }
    }
}

#[test]
fn what_repo_runs_and_the_repositories_that_it_keeps_are_read_only() {
    let boundary = Boundary::new();
    let data = [".repo/manifests.git", ".repo/projects/frameworks/base.git", ".repo/projects/a/b/c.git"];
    for data in data {
        boundary.bare(data);
    }
    boundary
        .write(".repo/repo/main.py", "import sys\n")
        .directory(".repo/manifests")
        .link("../manifests.git", ".repo/manifests/.git")
        .directory("frameworks/base")
        .link("../../.repo/projects/frameworks/base.git", "frameworks/base/.git")
        .directory("c")
        .link("../.repo/projects/a/b/c.git", "c/.git");
    let read_only = boundary.read_only();
    let [manifests, projects @ ..] = data;
    let repositories =
        projects.iter().flat_map(|data| ["config", "hooks"].map(|name| format!("{data}/{name}")));
    let whole = [manifests, ".repo/manifests", ".repo/repo"].map(str::to_owned);
    for path in repositories.chain(whole) {
        assert!(read_only.contains(&path), "{path}: {read_only:?}");
    }
    let boundary = Boundary::new();
    let baseline = boundary.baseline();
    boundary.write(".repo/repo/main.py", "import sys\n").write(".repo/manifest.xml", "<manifest/>\n");
    for path in [".repo/repo", ".repo/manifest.xml"] {
        assert!(boundary.paths(&baseline).contains(&path.to_owned()), "{path}");
    }
}

#[test]
fn a_file_behind_an_option_of_a_command_is_read_only() {
    let attacked = || {
        let (boundary, _) = committed();
        // Whatever ssh would connect to, its configuration has it run a program first.
        git(&boundary.host, &["config", "core.sshCommand", "sh -f -- sshconf"]);
        git(&boundary.host, &["config", "filter.x.clean", "ed -s -p name work"]);
        boundary.write("sshconf", "touch obeyed\n").directory("name");
        boundary
    };
    let boundary = attacked();
    git(&boundary.host, &["ls-remote", "ssh://example.invalid/x"]);
    assert!(boundary.host.join("obeyed").exists(), "the control: git runs it");
    git(&boundary.host, &["config", "core.sshCommand", "ssh -F sshconf"]);
    let read_only = boundary.read_only();
    assert!(read_only.contains(&"sshconf".to_owned()), "{read_only:?}");
    // What no program takes for a file stays as it is.
    assert!(!read_only.iter().any(|one| one == "name" || one == "work"), "{read_only:?}");
}
