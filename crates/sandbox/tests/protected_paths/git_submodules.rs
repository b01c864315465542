//! The commits that superprojects name for their submodules: `git submodule update` writes them. Git itself is run first, to show that it
//! does.

use super::git_commits::protected;
use super::git_settings::sh;
use super::git_staged::with_hooks;
use super::repositories::git;
use super::*;

const LIB: &str = "git init -q -b main $TOP/lib && cd $TOP/lib && mkdir .vscode && echo '{}' >.vscode/settings.json && echo 1 >l.c && \
                   git add . && git commit -qm lib";

/// Adds a submodule, whose data are in those of its superproject.
const ADD: &str = "git -c protocol.file.allow=always submodule add -q $TOP/lib lib && git commit -qm sub";

/// Adds a submodule that has a directory of its own for its data.
const EMBED: &str =
    "git clone -q $TOP/lib lib && git -c advice.addEmbeddedRepo=false add lib && git commit -qm sub";

/// Makes a commit in a repository that has something more, which neither its index nor its work tree nor the branch there knows of.
const COMMIT: &str = "next() { rm -f $TOP/forged; export GIT_INDEX_FILE=$TOP/forged; git -C $1 read-tree HEAD; \
     git -C $1 update-index --add --cacheinfo $2; \
     commit=$(git -C $1 commit-tree -p HEAD -m bump $(git -C $1 write-tree)); unset GIT_INDEX_FILE; \
     git -C $1 update-ref refs/heads/next $commit; }; \
     blob() { echo '{ \"tasks\": [] }' | git -C $1 hash-object -w --stdin; }; ";

const TASKS: &str = "100644,$(blob lib),.vscode/tasks.json";

const STAGE: &str = "git update-index --add --cacheinfo 160000,$commit,lib";

fn with_submodule(add: &str) -> Boundary {
    let boundary = with_hooks(&[]);
    assert!(sh(&boundary, ".", LIB) && sh(&boundary, ".", add), "{add}");
    boundary.until_the_clock_is_past(".git/index");
    boundary
}

fn names(boundary: &Boundary, entry: &str, then: &str) {
    assert!(sh(boundary, ".", &format!("{COMMIT}next lib {entry}; {then}")), "{entry}: {then}");
}

fn named(boundary: &Boundary, baseline: &Baseline) -> Vec<(String, Reason)> {
    let found = boundary.compare_commits(baseline).into_iter();
    let found = found.map(|one| {
        assert!(one.stays(), "{one}");
        (one.path.to_str().unwrap().to_owned(), one.reason)
    });
    found.collect()
}

#[test]
fn what_a_commit_that_is_named_for_a_submodule_would_write_is_reported() {
    let commits = format!("{STAGE}; git commit -qm bump");
    let hides = format!("before=$(git rev-parse HEAD:lib); {commits}; commit=$before; {STAGE}");
    for (then, way) in [
        (STAGE, "git submodule update"),
        (&commits, "git submodule update"),
        (&hides, "git reset -q --hard --recurse-submodules"),
        (&hides, "git -c submodule.recurse=true checkout -q -f HEAD"),
    ] {
        let boundary = with_submodule(ADD);
        names(&boundary, TASKS, then);
        assert!(sh(&boundary, ".", way), "{way}");
        assert!(boundary.host.join("lib/.vscode/tasks.json").exists(), "the control: {way} writes it");
    }

    for (add, then, by) in [
        (ADD, STAGE, ".git/index"),
        (EMBED, STAGE, ".git/index"),
        (ADD, &commits, ".git/index"),
        (ADD, &format!("{commits}; rm .git/index"), ".git/HEAD"),
        (ADD, &hides, ".git/HEAD"),
        (EMBED, &hides, ".git/HEAD"),
        (ADD, &format!("git -C lib gc -q; {STAGE}"), ".git/index"),
        (
            ADD,
            &format!("{STAGE}; git update-index --index-version 4; git update-index --split-index"),
            ".git/index",
        ),
    ] {
        let boundary = with_submodule(add);
        let baseline = boundary.baseline();
        names(&boundary, TASKS, then);
        assert_eq!(named(&boundary, &baseline), protected(by, "lib/.vscode/tasks.json"), "{add}: {then}");
    }
}

#[test]
fn links_of_a_commit_that_is_named_for_a_submodule_are_reported() {
    let boundary = with_submodule(ADD);
    let baseline = boundary.baseline();
    names(&boundary, "120000,$(blob lib),out", STAGE);
    let reason = Reason::CommitsLinks { files: 1, example: "lib/out".into() };
    assert_eq!(named(&boundary, &baseline), [(".git/index".to_owned(), reason)]);
    // Whether there is more, nobody knows if it cannot be read.
    let boundary = with_submodule(ADD);
    let baseline = boundary.baseline();
    let removes =
        "tree=$(git -C lib rev-parse $commit:.vscode); find .git/modules -path \"*/${tree#??}\" -delete";
    names(&boundary, TASKS, &format!("{STAGE}; {removes}"));
    let [(by, Reason::CommitUnread { commit: Some(_) })] = &named(&boundary, &baseline)[..] else {
        panic!("{:?}", named(&boundary, &baseline))
    };
    assert_eq!(by, ".git/index");
}

#[test]
fn commits_for_submodules_of_linked_work_trees_are_reported() {
    let with_tree = || {
        let boundary = with_submodule(ADD);
        let script = "git worktree add -q -b other tree && cd tree && git -c protocol.file.allow=always submodule update -q --init";
        assert!(sh(&boundary, ".", script));
        boundary
    };
    let stages = format!("cd tree; {COMMIT}next lib {TASKS}; {STAGE}");
    let boundary = with_tree();
    assert!(sh(&boundary, ".", &format!("{stages}; git submodule update")));
    assert!(boundary.host.join("tree/lib/.vscode/tasks.json").exists(), "the control");

    let boundary = with_tree();
    let baseline = boundary.baseline();
    assert!(sh(&boundary, ".", &stages));
    let expected = protected(".git/worktrees/tree/index", "tree/lib/.vscode/tasks.json");
    assert_eq!(named(&boundary, &baseline), expected);
}

#[test]
fn commits_for_submodules_of_submodules_are_reported() {
    let with_nested = || {
        let boundary = with_submodule(ADD);
        let script = "git init -q -b main $TOP/inner; git -C $TOP/inner commit -q --allow-empty -m inner; cd lib; \
                      git -c protocol.file.allow=always submodule add -q $TOP/inner inner && git commit -qm inner && cd .. && git commit -qam inner";
        assert!(sh(&boundary, ".", script));
        boundary
    };
    let attack = format!(
        "{COMMIT}next lib/inner 100644,$(blob lib/inner),.vscode/tasks.json; inner=$commit; next lib 160000,$inner,inner; {STAGE}"
    );
    let boundary = with_nested();
    assert!(sh(&boundary, ".", &format!("{attack}; git submodule update --recursive")));
    assert!(boundary.host.join("lib/inner/.vscode/tasks.json").exists(), "the control");

    let boundary = with_nested();
    let baseline = boundary.baseline();
    assert!(sh(&boundary, ".", &attack));
    assert_eq!(named(&boundary, &baseline), protected(".git/index", "lib/inner/.vscode/tasks.json"));
}

#[test]
fn a_commit_for_a_submodule_that_is_no_news_is_not_reported() {
    for script in [
        "cd lib; echo 2 >l.c; git commit -qam two; cd ..; git commit -qam bump",
        // Nothing at a protected path, and not checked out.
        "cd lib; echo 2 >l.c; git commit -qam two; cd ..; git add lib; git -C lib reset -q --hard HEAD~",
        "git rm -q --cached lib",
        "git checkout -q -b other HEAD~; git checkout -q main",
        // What the user has yet to fetch.
        "git update-index --cacheinfo 160000,$(echo none | git hash-object --stdin),lib; git commit -qm bump",
    ] {
        let boundary = with_submodule(ADD);
        let baseline = boundary.baseline();
        assert!(sh(&boundary, ".", script), "{script}");
        assert_eq!(named(&boundary, &baseline), [], "{script}");
    }
    // One that was named at the start, until the submodule has it checked out.
    let boundary = with_submodule(ADD);
    names(&boundary, TASKS, STAGE);
    let baseline = boundary.baseline();
    assert!(sh(&boundary, ".", "git commit -qm bump"));
    assert_eq!(named(&boundary, &baseline), []);
    assert!(sh(&boundary, "lib", "git update-ref HEAD next"));
    assert_eq!(named(&boundary, &baseline), protected(".git/modules/lib/HEAD", ".vscode/tasks.json"));
}

#[test]
fn a_commit_that_a_submodule_gets_later_is_reported() {
    let boundary = with_submodule(ADD);
    let hides = "commit=$(git -C lib rev-parse $commit); place=$(find .git/modules -path \"*/${commit#??}\"); mv $place $TOP/object; echo $place >$TOP/place";
    names(&boundary, TASKS, &format!("{STAGE}; {hides}"));
    let baseline = boundary.baseline();
    assert_eq!(named(&boundary, &baseline), [], "the control: it is not there");
    assert!(sh(&boundary, ".", "mv $TOP/object $(cat $TOP/place)"));
    assert_eq!(git(&boundary.host, &["diff", "--cached", "--name-only"]).trim(), "lib");
    assert_eq!(named(&boundary, &baseline), protected(".git/index", "lib/.vscode/tasks.json"));
}
