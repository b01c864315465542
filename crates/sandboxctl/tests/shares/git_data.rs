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
        assert_eq!(warning, "", "{what}");
        let commit = "test $(git rev-parse 'fix/login&signup') = $(cat more)";
        assert!(outside(commit).status.success(), "{what}");
    }
}
