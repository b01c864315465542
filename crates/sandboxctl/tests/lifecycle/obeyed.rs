//! What programs outside obey without a list knowing its name: it is quarantined where it is new, and read-only where it is there.

use std::fs;

use crate::machine::{Caller, callers};
use crate::place::Place;

/// Files of one kind, by their paths in the shared directory.
struct Kind {
    /// What programs obey.
    obeyed: &'static [&'static str],
    /// What they do not: the control, and ordinary use.
    harmless: &'static [&'static str],
}

/// What lies in the directories of agents and editors.
const DIRECTORIES: Kind = Kind {
    obeyed: &[
        ".agents/skills/a/bin/git", ".claude/skills/x/bin/tree", ".codex/x.py", ".cursor/bin/x",
        ".idea/x.sh", ".mise/tasks/a", ".mvn/wrapper/x.properties", ".roo/tools/x.ts", ".ssh/known_hosts",
        ".vscode/extensions/x/main.js",
    ],
    harmless: &[
        ".claude/plans/x.md", ".claude/worktrees/x/run.sh", ".cursor/debug.log", ".cursor/rules/x.mdc",
        ".idea/.name", ".idea/shelf/x.patch", ".roo/rules/x.txt", ".vscode/x.code-snippets",
    ],
};

/// Names that the program makes up from an environment or a format.
const PATTERNS: Kind = Kind {
    obeyed: &[
        ".commitlintrc.ts", ".config/hk.local.pkl", ".config/mise.prod.toml", ".direnv/flake-profile-a.rc",
        ".config/config.cjs", ".lintstagedrc.yml", ".miserc.local.toml", ".zshrc.zwc", "mise.local.lock",
        "mise/conf.d/a.toml", "mise/config.prod.local.toml", "mise/tasks/a", "mise-tasks/a",
        "tools/bazel.linux-x86_64", "user.bazelrc",
    ],
    harmless: &[
        ".config/mise-prod", ".direnv/bin/x", "lint-staged.config", "mise/Cargo.toml", "mise/main.rs",
    ],
};

/// Repositories of other programs than git, below the root.
const REPOSITORIES: Kind = Kind {
    obeyed: &[
        "a/.hg/hgrc", "a/.envrc", "b/.jj/repo/config.toml", "b/.jj/repo/store/git_target",
        "b/.vscode/tasks.json", "c/.sl/config", "d/e/.jj/repo", "f/_darcs/prefs/defaults", "g/.pijul/config",
        "h/.bzr/branch/location",
    ],
    harmless: &[
        "a/.hg/store/x", "b/.jj/repo/op_heads/x", "c/.sl/store/x", "f/_darcs/inventories/x", "no/.envrc",
        "no/repo",
    ],
};

/// What a file holds that a program would run if it read it in one format or the other.
const CONTENT: &str = "{\"runOn\": \"evil\"}\n";

fn write(paths: &[&str]) -> String {
    let one =
        |path: &&str| format!("mkdir -p \"$(dirname {path})\"; echo '{{\"runOn\": \"evil\"}}' > {path}; ");
    paths.iter().map(one).collect()
}

fn is_quarantined_and_protected(caller: Caller, kind: &Kind) {
    let place = Place::new(caller);
    let script = write(kind.obeyed) + &write(kind.harmless);
    let output = place.inside(&[""; 0], &["sh", "-ec", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "by {caller:?}: {said}");
    for path in kind.obeyed {
        assert!(!place.workspace().join(path).exists(), "by {caller:?}: {path} is still there: {said}");
        assert!(said.contains(path), "by {caller:?}, {path}: {said}");
    }
    for path in kind.harmless {
        assert!(place.workspace().join(path).exists(), "by {caller:?}: {path} is gone: {said}");
        let is_moved = said.lines().any(|line| line.contains(path) && line.contains("moved to"));
        assert!(!is_moved, "by {caller:?}, {path}: {said}");
    }
    // The owner's own.
    let place = Place::new(caller);
    for path in kind.obeyed.iter().chain(kind.harmless) {
        place.write(&format!("workspace/{path}"), CONTENT);
    }
    let change = |path: &&str| format!("(echo evil >> {path}) 2> /dev/null && echo {path}; ");
    let script: String = kind.obeyed.iter().chain(kind.harmless).map(change).collect();
    let output = place.inside(&[""; 0], &["sh", "-c", &format!("{script} true")]).output().unwrap();
    let changed = String::from_utf8_lossy(&output.stdout);
    for path in kind.obeyed {
        assert!(!changed.lines().any(|line| line == *path), "by {caller:?}: {path} was written: {changed}");
        assert_eq!(
            fs::read_to_string(place.workspace().join(path)).unwrap(),
            CONTENT,
            "by {caller:?}: {path}"
        );
    }
}

#[test]
fn what_no_list_knows_in_the_directory_of_an_agent_or_an_editor() {
    for caller in callers("directories of agents and editors") {
        is_quarantined_and_protected(caller, &DIRECTORIES);
    }
}

#[test]
fn a_name_that_a_program_makes_up() {
    for caller in callers("names that are made up") {
        is_quarantined_and_protected(caller, &PATTERNS);
    }
}

#[test]
fn a_repository_of_another_program_than_git_below_the_root() {
    for caller in callers("other repositories") {
        is_quarantined_and_protected(caller, &REPOSITORIES);
    }
}
