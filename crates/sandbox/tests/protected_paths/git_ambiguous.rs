//! References that git takes in the place of others, which it finds later. Git itself is asked first, to show that it does.

use super::git_settings::sh;
use super::repositories::git;
use super::*;

/// Makes a clone with remote-tracking branches, a branch `PROJ-123`, one like a file of a tool's, and a commit of nobody's.
fn cloned(flags: &str, is_packed: bool) -> Boundary {
    let boundary = Boundary::new();
    let then = if is_packed { "git pack-refs --all" } else { "true" };
    let script = format!(
        "git init -q -b main $TOP/source; cd $TOP/source; git commit -q --allow-empty -m first; git commit -q --allow-empty -m second; \
         git branch topic; cd $OLDPWD; git clone -q {flags} $TOP/source .; git branch PROJ-123; git branch lfs/fix; {then}"
    );
    assert!(sh(&boundary, ".", &script), "{script}");
    boundary
}

/// What git takes for a name, whatever it says of that.
fn taken(boundary: &Boundary, name: &str) -> String {
    git(&boundary.host, &["rev-parse", "--verify", name]).trim().to_owned()
}

#[test]
fn a_new_reference_that_git_takes_in_the_place_of_another_one_is_reported() {
    for (flags, then, file) in [
        ("", "true", None),
        ("", "git pack-refs --all", Some(".git/packed-refs")),
        ("--ref-format=reftable", "true", Some(".git/reftable/")),
        ("--ref-format=reftable", "git pack-refs --all", Some(".git/reftable/")),
    ] {
        for (new, short, other) in [
            ("refs/tags/origin/main", "origin/main", "refs/remotes/origin/main"),
            ("refs/heads/origin/main", "origin/main", "refs/remotes/origin/main"),
            ("refs/origin/main", "origin/main", "refs/remotes/origin/main"),
            ("refs/heads/origin", "origin", "refs/remotes/origin/HEAD"),
            ("refs/tags/main", "main", "refs/heads/main"),
            ("refs/later", "later", "later"),
        ] {
            for is_packed in [false, true] {
                let case = format!("{flags} {then} {new} {is_packed}");
                let boundary = cloned(flags, is_packed);
                let baseline = boundary.baseline();
                let script = format!("git update-ref {new} $(git commit-tree -m x HEAD^{{tree}}); {then}");
                let before = taken(&boundary, short);
                assert!(sh(&boundary, ".", &script), "{case}");
                assert_ne!(taken(&boundary, short), before, "the control: {case}");
                let found = boundary.ambiguous(&baseline);
                let [one] = found.as_slice() else { panic!("{case}: {found:?}") };
                let loose = format!(".git/{new}");
                assert!(one.path.starts_with(file.unwrap_or(&loose)), "{case}: {one}");
                let (reference, instead_of) = (new.to_owned(), other.to_owned());
                assert_eq!(one.reason, Reason::Ambiguous { references: 1, reference, instead_of }, "{case}");
                assert!(one.stays(), "{case}");
            }
        }
    }
}

#[test]
fn a_new_reference_with_the_beginning_of_an_object_id_is_reported() {
    for (flags, then) in [("", "true"), ("", "git gc -q"), ("--ref-format=reftable", "true")] {
        let boundary = cloned(flags, false);
        assert!(sh(&boundary, ".", then), "{then}");
        let baseline = boundary.baseline();
        let short = git(&boundary.host, &["rev-parse", "--short", "HEAD~"]);
        let short = short.trim();
        assert!(sh(&boundary, ".", "git tag 01234567; git branch 20240101; git branch 1234"));
        assert_eq!(boundary.ambiguous(&baseline), [], "no object begins so: {flags} {then}");
        let before = taken(&boundary, short);
        assert!(sh(&boundary, ".", &format!("git tag {short} HEAD")), "{flags} {then}");
        assert_ne!(taken(&boundary, short), before, "the control: {flags} {then}");
        let [one] = &boundary.ambiguous(&baseline)[..] else { panic!("{flags} {then}") };
        let (reference, instead_of) = (format!("refs/tags/{short}"), short.to_owned());
        assert_eq!(one.reason, Reason::Ambiguous { references: 1, reference, instead_of });
    }
}

#[test]
fn a_file_in_the_place_of_a_branch_is_reported_or_goes() {
    for (path, short) in [(".git/PROJ-123", "PROJ-123"), (".git/lfs/fix", "lfs/fix")] {
        let boundary = cloned("", true);
        let baseline = boundary.baseline();
        let before = taken(&boundary, short);
        let script = format!("mkdir -p $(dirname {path}); git commit-tree -m x HEAD^{{tree}} >{path}");
        assert!(sh(&boundary, ".", &script), "{path}");
        assert_ne!(taken(&boundary, short), before, "the control: {path}");
        let found = boundary.ambiguous(&baseline);
        let [one] = found.as_slice() else { panic!("{path}: {found:?}") };
        assert_eq!(one.path, Path::new(path));
        let goes = path.ends_with("PROJ-123");
        assert_eq!(boundary.paths(&baseline), if goes { vec![path] } else { Vec::new() });
    }
    // No branch has such a name, and one may yet.
    let boundary = cloned("", true);
    let baseline = boundary.baseline();
    assert!(sh(
        &boundary,
        ".",
        "git rev-parse HEAD >.git/OTHER-1; echo text >.git/OTHER-2; git rev-parse HEAD >.git/MERGE_HEAD"
    ));
    assert_eq!(boundary.paths(&baseline), [".git/OTHER-1"]);
}

#[test]
fn in_a_linked_work_tree_the_files_of_its_own_count() {
    let boundary = cloned("", true);
    assert!(sh(&boundary, ".", "git worktree add -q tree -b tree"));
    let baseline = boundary.baseline();
    assert!(sh(
        &boundary,
        ".",
        "git worktree add -q more -b more; git rev-parse HEAD >.git/worktrees/tree/PROJ-123"
    ));
    let found = boundary.ambiguous(&baseline);
    let [one] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(one.path, Path::new(".git/worktrees/tree/PROJ-123"));
}

#[test]
fn references_that_git_tells_apart_and_those_that_were_there_are_no_news() {
    for flags in ["", "--ref-format=reftable"] {
        let boundary = cloned(flags, false);
        assert!(sh(&boundary, ".", "git tag both; git branch both; git branch origin; git tag deadbee"));
        let baseline = boundary.baseline();
        let work = "git tag v1; git checkout -q -b feature; git commit -q --allow-empty -m x; git branch origin-fix; echo 1 >file; git add file; \
                    git stash -q; git branch main2 origin/main; git -C $TOP/source branch new; git -C $TOP/source tag v2; git fetch -q; \
                    git tag -f both HEAD; git notes add -m x; git worktree add -q tree; git remote add other $TOP/source; git fetch -q other; \
                    git clone -q $TOP/source inner; git -C inner tag origin/main; git pack-refs --all";
        assert!(sh(&boundary, ".", work), "{flags}");
        assert_eq!(boundary.ambiguous(&baseline), [], "{flags}");
    }
}

#[test]
fn what_is_remembered_of_references_has_an_end_and_the_oldest_repositories_come_first() {
    let boundary = cloned("", true);
    // Names that come first, and some of them right beside the root's.
    let many = "git init -q -b main $R; git -C $R commit -q --allow-empty -m x; c=$(git -C $R rev-parse HEAD); \
                i=1000; while [ $i -lt $N ]; do echo \"create refs/heads/b$i$(printf %0180d $i) $c\"; i=$((i+1)); done \
                | git -C $R update-ref --stdin; git -C $R pack-refs --all";
    assert!(sh(&boundary, ".", &format!("R=old N=1010; {many}")));
    for new in ["!", "a", "b/c"] {
        assert!(sh(&boundary, ".", &format!("R={new} N=9000; {many}")), "{new}");
    }
    let baseline = boundary.baseline();
    let length = serde_json::to_vec(&baseline).unwrap().len();
    assert!(length < 3 << 20, "{length}: of one of the new ones");
    let new = "git update-ref refs/tags/main $(git commit-tree -m x HEAD^{tree})";
    for (repository, is_known) in [(".", true), ("old", true), ("!", true), ("a", false)] {
        let before = git(&boundary.host.join(repository), &["rev-parse", "main"]);
        assert!(sh(&boundary, repository, new), "{repository}");
        let now = git(&boundary.host.join(repository), &["rev-parse", "main"]);
        assert_ne!(now, before, "the control: {repository}");
        let found = boundary.ambiguous(&baseline);
        let path = Path::new(repository).join(".git/refs/tags/main");
        let path = path.strip_prefix(".").unwrap_or(&path);
        assert_eq!(found.iter().any(|one| one.path == path), is_known, "{repository}: {found:?}");
    }
}
