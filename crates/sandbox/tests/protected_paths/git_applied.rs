//! What git writes to the work tree by itself at an ordinary command: stashes that it was told to apply, and resolutions that it has recorded.

use std::process::Command;

use policy::classify::FileFormat;

use super::repositories::{committed, git, move_all};
use super::*;

/// A repository with a hook that the work tree has, which is protected by being listed.
fn hooked() -> Boundary {
    let (boundary, _) = committed();
    boundary.write(".githooks/pre-commit", "#!/bin/sh\n");
    fs::set_permissions(boundary.host.join(".githooks/pre-commit"), fs::Permissions::from_mode(0o755))
        .unwrap();
    git(&boundary.host, &["add", "."]);
    git(&boundary.host, &["commit", "-qm", "hook"]);
    boundary
}

/// Makes a stash that writes another hook and a new `.envrc`, and returns its number. The work tree stays as it is.
fn stash(boundary: &Boundary) -> String {
    let script = r#"
        head=$(git rev-parse HEAD); export GIT_INDEX_FILE=$PWD/.git/other-index; git read-tree HEAD
        hook=$(printf '#!/bin/sh\ntouch "$(git rev-parse --show-toplevel)/../pwned"\n' | git hash-object -w --stdin)
        git update-index --add --cacheinfo 100755,$hook,.githooks/pre-commit
        env=$(echo evil | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$env,.envrc
        index=$(git commit-tree -p $head -m index 'HEAD^{tree}')
        git commit-tree -p $head -p $index -m WIP $(git write-tree); rm .git/other-index
    "#;
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(&boundary.host).env("HOME", "/nonexistent");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@b");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn is_applied(boundary: &Boundary) -> bool {
    git(&boundary.host, &["commit", "-q", "--allow-empty", "-m", "x"]);
    boundary.host.join(".envrc").exists()
}

#[test]
fn a_stash_that_the_next_commit_would_apply_is_quarantined() {
    for place in [".git/MERGE_AUTOSTASH", ".git/packed-refs"] {
        let attack = |boundary: &Boundary| -> String {
            let number = stash(boundary);
            let content = match place {
                ".git/packed-refs" => {
                    format!("# pack-refs with: peeled fully-peeled sorted \n{number} MERGE_AUTOSTASH\n")
                }
                _ => format!("{number}\n"),
            };
            boundary.write(place, &content);
            number
        };
        let boundary = hooked();
        attack(&boundary);
        assert!(is_applied(&boundary), "the control: {place}");

        let boundary = hooked();
        let baseline = boundary.baseline();
        let commit = Some(attack(&boundary));
        let found = move_all(&boundary, &baseline);
        // Every branch may be among packed references, so the others are put back.
        let said: Vec<_> = found.iter().map(|one| (one.path.as_path(), &one.reason, one.restored)).collect();
        assert_eq!(said, [(Path::new(place), &Reason::AppliesStash { commit }, place == ".git/packed-refs")]);
        assert!(!is_applied(&boundary), "{place}");
    }
}

#[test]
fn a_stash_of_an_interrupted_rebase_is_quarantined() {
    let attack = |boundary: &Boundary| {
        let number = stash(boundary);
        let head = fs::read_to_string(boundary.host.join(".git/HEAD")).unwrap();
        let head_name = head.trim().strip_prefix("ref: ").unwrap();
        let onto = git(&boundary.host, &["rev-parse", "HEAD"]);
        for (name, content) in [
            ("head-name", head_name),
            ("onto", onto.trim()),
            ("orig-head", onto.trim()),
            ("autostash", &number),
            ("interactive", ""),
            ("git-rebase-todo", ""),
        ] {
            boundary.write(&format!(".git/rebase-merge/{name}"), &format!("{content}\n"));
        }
    };
    let is_applied = |boundary: &Boundary| {
        git(&boundary.host, &["rebase", "--abort"]);
        boundary.host.join(".envrc").exists()
    };
    let boundary = hooked();
    attack(&boundary);
    assert!(is_applied(&boundary), "the control");
    let boundary = hooked();
    let baseline = boundary.baseline();
    attack(&boundary);
    let found = move_all(&boundary, &baseline);
    assert!(found.iter().any(|one| matches!(one.reason, Reason::AppliesStash { .. })), "{found:?}");
    let _ = Command::new("git").args(["rebase", "--abort"]).current_dir(&boundary.host).output();
    assert!(!boundary.host.join(".envrc").exists());
}

#[test]
fn the_users_changes_in_a_stash_that_is_quarantined_are_named_and_can_be_brought_back() {
    let boundary = hooked();
    for (branch, text) in [("other", "2"), ("main", "3")] {
        git(&boundary.host, &["checkout", "-q", "-B", branch, "HEAD"]);
        boundary.write("more", text);
        git(&boundary.host, &["add", "more"]);
        git(&boundary.host, &["commit", "-q", "-m", branch]);
        if branch == "other" {
            git(&boundary.host, &["checkout", "-q", "HEAD~"]);
        }
    }
    boundary.write("file", "a day of work");
    let baseline = boundary.baseline();
    let rebase = |words: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "rebase"];
        let _ = Command::new("git").args(identity).args(words).current_dir(&boundary.host).output();
    };
    rebase(&["--autostash", "other"]);
    let stashed = fs::read_to_string(boundary.host.join(".git/rebase-merge/autostash")).unwrap();
    let said: Vec<_> = move_all(&boundary, &baseline).iter().map(ToString::to_string).collect();
    let command = format!("`git stash store {}` keeps it", stashed.trim());
    assert!(said.iter().any(|line| line.contains(&command)), "{said:?}");
    git(&boundary.host, &["stash", "store", stashed.trim()]);
    rebase(&["--abort"]);
    assert_ne!(fs::read_to_string(boundary.host.join("file")).unwrap(), "a day of work", "the control");
    git(&boundary.host, &["stash", "apply", "-q"]);
    assert_eq!(fs::read_to_string(boundary.host.join("file")).unwrap(), "a day of work");
}

#[test]
fn a_variant_that_git_makes_another_number_of_is_quarantined() {
    let number = "1".repeat(40);
    let attack = |boundary: &Boundary, variant: &str| {
        let hook = fs::read_to_string(boundary.host.join(".githooks/pre-commit")).unwrap();
        boundary.write(&format!(".git/rr-cache/{number}/preimage"), &hook);
        boundary.write(&format!(".git/rr-cache/{number}/postimage"), "#!/bin/sh\necho evil\n");
        boundary.write(".git/MERGE_RR", &format!("{number}{variant}\t.githooks/pre-commit\0"));
    };
    let is_overwritten = |boundary: &Boundary| {
        git(&boundary.host, &["commit", "-q", "--allow-empty", "-m", "x"]);
        fs::read_to_string(boundary.host.join(".githooks/pre-commit")).unwrap().contains("evil")
    };
    for variant in [".-1", ".4294967295"] {
        let boundary = hooked();
        attack(&boundary, variant);
        assert!(is_overwritten(&boundary), "the control: {variant}");
        let boundary = hooked();
        let baseline = boundary.baseline();
        attack(&boundary, variant);
        let found = move_all(&boundary, &baseline);
        let reason = Reason::Unreadable { format: FileFormat::Index };
        assert!(
            found.iter().any(|one| one.path == Path::new(".git/MERGE_RR") && one.reason == reason),
            "{found:?}"
        );
        assert!(!is_overwritten(&boundary), "{variant}");
    }
    // One that git writes can be read.
    for variant in ["", ".1", ".17"] {
        let boundary = hooked();
        let baseline = boundary.baseline();
        attack(&boundary, variant);
        let reasons: Vec<_> = move_all(&boundary, &baseline).into_iter().map(|one| one.reason).collect();
        assert_eq!(
            reasons,
            [Reason::RecordsConflict { example: ".githooks/pre-commit".into() }],
            "{variant}"
        );
        assert!(!is_overwritten(&boundary), "{variant}");
    }
}

/// The agent's list of conflicts has a file of the project, and a commit of the agent's a link in the place of that file.
#[test]
fn a_list_of_conflicts_does_not_read_what_a_later_commit_puts_there() {
    let number = "1".repeat(40);
    let prepared = || {
        let (boundary, outside) = committed();
        boundary.write("docs", "1");
        git(&boundary.host, &["add", "docs"]);
        git(&boundary.host, &["commit", "-q", "-m", "docs"]);
        boundary.write(".git/MERGE_RR", "");
        (boundary, outside)
    };
    let attack = |boundary: &Boundary, outside: &Path| {
        let here = |words: &[&str]| git(&boundary.host, words);
        boundary.write(&format!(".git/rr-cache/{number}/preimage"), "<<<<<<<\na\n=======\nb\n>>>>>>>\n");
        here(&["checkout", "-q", "-b", "agent"]);
        fs::remove_file(boundary.host.join("docs")).unwrap();
        boundary.link(outside, "docs");
        here(&["commit", "-q", "-a", "-m", "work"]);
        here(&["checkout", "-q", "-"]);
        boundary.write(".git/MERGE_RR", &format!("{number}\tdocs\0"));
    };
    let leaked = |boundary: &Boundary, take_over: &[&str]| {
        git(&boundary.host, take_over);
        git(&boundary.host, &["commit", "-q", "--allow-empty", "-m", "next"]);
        let cached = fs::read_dir(boundary.host.join(".git/rr-cache").join(&number)).unwrap();
        let mut cached = cached.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
        cached.any(|content| content.contains("the user's own"))
    };
    for take_over in
        [&["cherry-pick", "agent"][..], &["rebase", "-q", "agent"], &["checkout", "agent", "--", "docs"]]
    {
        let (boundary, outside) = prepared();
        attack(&boundary, &outside);
        assert!(leaked(&boundary, take_over), "the control: {take_over:?}");

        let (boundary, outside) = prepared();
        let baseline = boundary.baseline();
        attack(&boundary, &outside);
        let found: Vec<_> =
            move_all(&boundary, &baseline).into_iter().map(|one| (one.path, one.reason)).collect();
        let reason = Reason::RecordsConflict { example: "docs".into() };
        assert_eq!(found, [(".git/MERGE_RR".into(), reason)], "{take_over:?}");
        assert!(!leaked(&boundary, take_over), "{take_over:?}");
    }
    // The user's own conflicts stay listed, also when some of them are resolved.
    let (boundary, _) = prepared();
    let other = "2".repeat(40);
    boundary.write(".git/MERGE_RR", &format!("{number}\tdocs\0{other}\tfile\0"));
    let baseline = boundary.baseline();
    boundary.write(".git/MERGE_RR", &format!("{other}\tfile\0"));
    assert_eq!(boundary.compare(&baseline), []);
}
