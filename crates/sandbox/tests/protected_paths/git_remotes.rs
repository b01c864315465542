//! Remotes whose addresses are relative paths. Git itself is run first, to show from where it takes them.

use super::git_settings::sh;
use super::repositories::{committed, move_all};
use super::*;

/// A repository of the owner's beside the boundary, and a remote of the repository there.
const OWN: &str = "git init -q -b main $TOP/private && cd $TOP/private && echo x >secret && git add . && git commit -qm private && \
                   git init -q --bare -b main $TOP/up && cd $TOP/workspace && git remote add origin ../up && git push -q origin main";

/// Makes a submodule of which the remote leads to a repository `private`: into the boundary from its work tree, and out of it from
/// its data.
const SUBMODULE: &str = "git init -q -b main private && git -C private commit -q --allow-empty -m own && mkdir -p d/e/f .git/modules && \
     git init -q -b main --separate-git-dir=.git/modules/lib d/e/f/lib && cd d/e/f/lib && \
     git config core.worktree ../../../d/e/f/lib && echo 'gitdir: ../../../../.git/modules/lib' >.git && \
     git config remote.origin.url ../../../../private && git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*' && \
     git commit -q --allow-empty -m lib && cd ../../../.. && git -c advice.addEmbeddedRepo=false add d/e/f/lib && git commit -qm lib";

/// Puts the data of that submodule, but for its `HEAD`, where the path leads into the boundary from there as well.
const SHARE: &str = "mkdir -p a/b/c && git -C .git/modules/lib config --unset core.worktree && cp -r .git/modules/lib a/b/c && \
     cd .git/modules/lib && rm -r config objects refs && echo ../../../a/b/c/lib >commondir";

#[test]
fn a_relative_remote_of_a_submodule_that_leads_out_from_its_data_is_quarantined() {
    let reads = |boundary: &Boundary| {
        sh(boundary, ".", "git fetch -q --recurse-submodules");
        sh(boundary, "d/e/f/lib", "git show origin/main:secret")
    };
    let prepared = || {
        let (boundary, _) = committed();
        assert!(sh(&boundary, ".", OWN));
        boundary
    };
    for (attack, found) in [
        (SUBMODULE, ".git/modules/lib/config"),
        (&*format!("{SUBMODULE} && {SHARE}"), ".git/modules/lib/commondir"),
    ] {
        let boundary = prepared();
        assert!(sh(&boundary, ".", attack), "{attack}");
        assert!(reads(&boundary), "the control: {attack}");

        let boundary = prepared();
        let baseline = boundary.baseline();
        assert!(sh(&boundary, ".", attack), "{attack}");
        let moved = move_all(&boundary, &baseline);
        let is_it = |one: &Finding| one.path == Path::new(found) && one.reason == Reason::GitElsewhere;
        assert!(moved.iter().any(is_it), "{attack}: {moved:?}");
        assert!(!reads(&boundary), "{attack}");
    }
}

#[test]
fn a_relative_remote_of_a_submodule_beside_its_superproject_is_no_news() {
    let boundary = Boundary::new();
    let script = "git init -q --bare -b main up && git init -q -b main lib && git -C lib commit -q --allow-empty -m lib && \
                  git init -q -b main project && cd project && git remote add origin ../up && mkdir libs && \
                  git -c protocol.file.allow=always submodule add -q ../lib libs/lib && git commit -qm sub && git submodule sync -q && \
                  test $(git -C libs/lib config remote.origin.url) = ../../../lib && \
                  git -C libs/lib fetch -q";
    let baseline = boundary.baseline();
    assert!(sh(&boundary, ".", script));
    assert_eq!(boundary.compare(&baseline), []);
}
