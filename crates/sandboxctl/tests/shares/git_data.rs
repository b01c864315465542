//! Data of git that stay writable: what clearing up takes out of them, and what is the user's own.

use crate::{error, places, said};

#[test]
fn the_users_own_references_stay_in_whatever_file_git_puts_them() {
    const OWN: &str = "refs/heads/fix/login&signup\nrefs/tags/v1;x\n";
    const SET_UP: &str = "git init -q -b main .; git config user.name me; git config user.email me@example.org; \
         git commit -q --allow-empty -m first; git checkout -q --detach; git branch -D -q main; git branch 'fix/login&signup'; git tag 'v1;x'; \
         git commit-tree -p HEAD -m more HEAD^{tree} >more; cp -r .git/refs loose; git branch 'evil|x'; git pack-refs --all; \
         cp .git/packed-refs packed; rm -r .git/refs .git/packed-refs; mv loose .git/refs";
    for (place, what) in places("references with odd names") {
        let outside = |text: &str| place.outside(&["sh", "-ec", text]).output().unwrap();
        assert!(outside(SET_UP).status.success(), "{what}");
        let warned = |script: &str| {
            let output = place.inside(&[] as &[&str], &["sh", "-ec", script]).output().unwrap();
            assert!(output.status.success(), "{what}: {output:?}");
            error(&output)
        };
        let list = || said(&outside("git for-each-ref --format='%(refname)'"));
        assert_eq!(list(), OWN, "{what}");
        // As `git gc` leaves them.
        let warning = warned("cp packed .git/packed-refs; rm -r .git/refs/heads/fix .git/refs/tags/v1*");
        assert!(warning.contains("such as `refs/heads/evil|x`"), "{what}: {warning}");
        assert_eq!(list(), OWN, "{what}");
        // As a commit leaves one that is packed.
        let warning = warned("mkdir -p .git/refs/heads/fix; cp more '.git/refs/heads/fix/login&signup'");
        assert!(!warning.contains("login"), "{what}: {warning}");
        let commit = "test $(git rev-parse 'fix/login&signup') = $(cat more)";
        assert!(outside(commit).status.success(), "{what}");
    }
}

#[test]
fn a_hidden_file_below_a_directory_of_a_sparse_index_is_reported() {
    const SET_UP: &str = "git init -q -b main .; git config user.name me; git config user.email me@example.org; mkdir config src; \
         echo x | tee config/app.ini src/m.c >/dev/null; echo .env >.gitignore; git add .; git commit -qm first; \
         git sparse-checkout set --cone config src; echo KEY=1 >config/.env; cp .git/index kept; \
         git clone -q --no-checkout . other; cd other; git config user.name me; git config user.email me@example.org; \
         git sparse-checkout set --cone --sparse-index src; git checkout -q; blob=$(echo guess | git hash-object -w --stdin); \
         tree=$( (git ls-tree HEAD:config; printf \"100644 blob $blob\\t.env\\n\") | git mktree); \
         root=$(git ls-tree HEAD | sed \"s/tree [0-9a-f]*\\tconfig/tree $tree\\tconfig/\" | git mktree); \
         git reset -q --hard $(git commit-tree -m x $root); git ls-files --sparse | grep -qx config/; cd ..; \
         git fetch -q ./other HEAD; cp other/.git/index forged; rm -rf other";
    for (place, what) in places("a sparse index above a hidden path") {
        let outside = |text: &str| place.outside(&["sh", "-ec", text]).output().unwrap();
        let set_up = outside(SET_UP);
        assert!(set_up.status.success(), "{what}: {set_up:?}");
        let ordinary = "git commit -qam more --allow-empty; git show HEAD:config/.env; git reset -q --soft HEAD~; cp kept .git/index";
        assert_eq!(
            said(&outside(&format!("cp forged .git/index; {ordinary}"))),
            "KEY=1\n",
            "{what}: the control"
        );
        assert!(outside("cp kept .git/index").status.success(), "{what}");
        let warned = |script: &str| {
            let output = place.inside(&["--hide", ".env"], &["sh", "-c", script]).output().unwrap();
            assert!(output.status.success(), "{what}: {output:?}");
            error(&output)
        };
        let warning = warned("cp forged .git/index");
        assert!(
            warning.contains("has git track 1 more paths that are hidden inside, such as config/"),
            "{what}: {warning}"
        );
        let warning = warned("cp .git/index index; cp index .git/index");
        assert!(!warning.contains("has git track"), "{what}: {warning}");
    }
}

#[test]
fn a_sparse_checkout_that_has_git_record_a_hidden_file_is_reported() {
    const SET_UP: &str = "git init -q -b main .; git config user.name me; git config user.email me@example.org; echo text >file; \
         echo KEY= >.env; git add file .env; git commit -qm first; git config extensions.worktreeConfig true; \
         git update-index --skip-worktree .env; echo KEY=1 >.env; cp .git/index kept";
    const SPARSE: &str = "printf '[core]\\n\\tsparseCheckout = true\\n' >.git/config.worktree; echo '/*' >.git/info/sparse-checkout";
    for (place, what) in places("a sparse checkout and a hidden path") {
        let outside = |text: &str| place.outside(&["sh", "-ec", text]).output().unwrap();
        assert!(outside(SET_UP).status.success(), "{what}");
        let ordinary = "git commit -qam more --allow-empty; git show HEAD:.env; git reset -q --soft HEAD~; cp kept .git/index";
        assert_eq!(said(&outside(ordinary)), "KEY=\n", "{what}: git leaves it out");
        assert_eq!(said(&outside(&format!("{SPARSE}; {ordinary}"))), "KEY=1\n", "{what}: the control");
        assert!(outside("rm .git/config.worktree").status.success(), "{what}");
        let warned = |script: &str| {
            let output = place.inside(&["--hide", ".env"], &["sh", "-c", script]).output().unwrap();
            assert!(output.status.success(), "{what}: {output:?}");
            error(&output)
        };
        let named = "it no longer leaves 1 paths out of commits that are hidden inside";
        let warning = warned("printf '[core]\\n\\tsparseCheckout = false\\n' >.git/config.worktree");
        assert!(!warning.contains(named), "{what}: {warning}");
        assert!(outside("rm .git/config.worktree").status.success(), "{what}");
        let warning = warned(SPARSE);
        assert!(warning.contains(named), "{what}: {warning}");
    }
}
