//! Ordinary work with git: whatever it makes among its data is known, and nothing is said of it.

use crate::machine::callers;
use crate::place::Place;

/// The owner's repository, with two commits.
const THERE: &str = r"
git init -q -b main .
git config user.name a; git config user.email a@example.org; echo inner >> .git/info/exclude
echo 1 > file; git add file; git commit -q -m 1
echo 2 > file; git commit -q -a -m 2; git tag v0
";

/// A great many of git's commands. In the repository that is there, its configuration is read-only.
const WORK: &str = r#"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
export GIT_EDITOR=true GIT_ALLOW_PROTOCOL=file HOME=/tmp
git config --global protocol.file.allow always; git config --global core.fsync none
work() {
    change() { echo "$1" > file; git commit -q -a -m "$1"; }
    [ "$1" = here ] || echo inner >> .git/info/exclude
    change 3; git checkout -q -b side; change side; git checkout -q main; change 4
    git merge -q side > /tmp/out || { git status > /tmp/status; git checkout -q --ours file; git add file; git commit -q -m merged; }
    git -c rerere.enabled=true merge -q --no-edit side~0
    git checkout -q -b picked HEAD~1; echo x > other; git add other; git commit -q -m other
    git checkout -q main; git cherry-pick picked > /tmp/out; git revert --no-edit HEAD > /tmp/out
    git cherry-pick --no-commit picked; git commit -q -m again
    git tag light; git tag -a annotated -m annotated; git tag -d light > /tmp/out
    echo stash > file; git stash -q; git stash pop -q; git stash -q -u; git stash drop -q
    git checkout -q -b rebased HEAD~2; change rebased
    git rebase -q main 2> /tmp/out || { echo solved > file; git add file; git rebase --continue; } > /tmp/out 2>&1
    git rebase --abort 2> /tmp/out; git -c sequence.editor=true rebase -q -i HEAD~1
    git checkout -q -b conflict main~1; change conflict
    git -c rerere.enabled=true merge -q main > /tmp/out || echo conflicts; git merge --abort
    git -c rerere.enabled=true cherry-pick main~2 > /tmp/out 2>&1 || git cherry-pick --abort
    git checkout -q main
    git bisect start -q HEAD v0 > /tmp/out; git bisect bad > /tmp/out; git bisect run true > /tmp/out; git bisect reset -- 2> /tmp/out
    git notes add -m note; git notes append -m more; git notes --ref other add -m x; git notes merge -q other || true
    git notes merge --abort 2> /tmp/out
    git worktree add -q ../tree-$1 -b tree-$1 2> /tmp/out; git -C ../tree-$1 commit -q --allow-empty -m tree
    git worktree lock ../tree-$1; git worktree unlock ../tree-$1; git worktree remove --force ../tree-$1
    git worktree add -q inner -b inner-$1 2> /tmp/out; (cd inner; echo i > i; git add i; git commit -q -m i)
    git format-patch -q -2 -o /tmp/patches; git checkout -q -b am HEAD~2
    git am -q /tmp/patches/* > /tmp/out 2>&1 || git am --abort; git checkout -q main; rm -r /tmp/patches
    git diff HEAD~1 > /tmp/diff; git apply -R --index /tmp/diff; git reset -q --hard
    git archive -o /tmp/archive.tar HEAD; git bundle create -q /tmp/bundle --all; git bundle verify -q /tmp/bundle
    git fetch -q /tmp/bundle main; git pull -q . main; git fetch -q . main:fetched; git push -q . main:pushed
    git symbolic-ref refs/heads/symbolic refs/heads/main; git symbolic-ref -d refs/heads/symbolic
    git update-index --split-index; git add -A; git update-index --no-split-index; git update-index --untracked-cache
    git update-index --index-version 4; git update-index --refresh
    git commit -q --allow-empty --amend -m amended; git commit -q --allow-empty --fixup HEAD; git reset -q HEAD~1
    git branch -m am renamed; git branch -D renamed > /tmp/out; git reflog expire --expire=now --all
    git clean -q -fdx -e inner; git rm -q --cached file; git restore --staged file; git mv file moved; git reset -q --hard
    git fsck --lost-found > /tmp/out 2>&1; git count-objects -v > /tmp/out; git pack-refs --all; git prune
    git repack -q -a -d --write-bitmap-index; git commit-graph write --reachable --split --changed-paths 2> /tmp/out
    git multi-pack-index write --bitmap 2> /tmp/out; git gc -q; git gc -q --cruft --prune=now; git gc -q --auto
    git maintenance run --quiet --task=loose-objects --task=incremental-repack --task=commit-graph --task=pack-refs
    git update-server-info; git rev-parse HEAD > /tmp/out; git describe --all > /tmp/out; git log --oneline > /tmp/out
    git replace -l; git shortlog HEAD > /tmp/out; git blame file > /tmp/out; git grep -q . ; git status > /tmp/out
}
work here
for kind in "" --object-format=sha256 --ref-format=reftable; do
    name=new$kind
    git init -q -b main $kind $name 2> /dev/null || continue
    cd $name; echo 1 > file; git add file; git commit -q -m 1; echo 2 > file; mkdir d; echo d > d/d; git add d; git commit -q -a -m 2; git tag v0
    work $kind; cd ..
    git clone -q $name clone$kind; git clone -q --bare $name bare$kind.git; git clone -q --mirror $name mirror$kind.git
    cd clone$kind; echo c > c; git add c; git commit -q -m c; git push -q origin HEAD:refs/heads/up; git fetch -q --all
    git remote add other ../$name; git fetch -q other --tags; git remote rename other another; git remote remove another
    git branch -q -u origin/main; git pull -q --rebase; git sparse-checkout set --cone d; git sparse-checkout disable
    git config user.name b; git submodule --quiet add ../$name libs/sub; git commit -q -m sub
    git submodule --quiet update --init --recursive; git submodule --quiet foreach 'git checkout -q main; git commit -q --allow-empty -m s'
    git submodule --quiet sync; git submodule --quiet deinit -f libs/sub; git worktree add -q ../beside$kind 2> /tmp/out
    git maintenance register; cd ..; rm -r beside$kind; git -C clone$kind worktree prune
done
git clone -q --depth 1 "file://$PWD/new" shallow; git -C shallow fetch -q --deepen 1; git -C shallow fetch -q --unshallow
git clone -q --filter=blob:none "file://$PWD/new" partial; git clone -q --shared new shared; git clone -q --reference new new reference
git init -q --separate-git-dir apart.git apart; git -C apart commit -q --allow-empty -m x
mkdir layout; git clone -q --bare new layout/.bare; echo 'gitdir: ./.bare' > layout/.git; git -C layout worktree add -q main
git -C layout/main submodule --quiet add "$PWD/new" sub; git -C layout/main commit -q -m sub
"#;

#[test]
fn nothing_is_said_of_ordinary_work_with_git() {
    for caller in callers("much work with git") {
        let place = Place::new(caller);
        assert!(place.outside(&["sh", "-ec", THERE]).status().unwrap().success());
        let output = place.inside(&[""; 0], &["sh", "-c", WORK]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let is_there = |path: &str| place.workspace().join(path).exists();
        assert!(
            is_there("apart.git/logs/HEAD")
                && is_there("layout/main/sub/file")
                && is_there("clone/.git/modules/libs/sub"),
            "the control: {said}"
        );
        assert!(!said.contains("the agent has made") && !said.contains("moved to"), "by {caller:?}: {said}");
        let left = std::fs::read_dir(place.workspace()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name == ".sandboxctl-quarantine").collect();
        assert!(left.is_empty(), "by {caller:?}: {said}");
    }
}

/// A repository of the owner's whose files are in directories, and one that is not in it.
const TRACKED: &str = r"
git init -q -b main . && git config user.name a && git config user.email a@example.org
mkdir -p a/b new vendor && echo 1 > a/b/file && mkdir -p a/was/.git && echo 1 > a/was/file && echo 1 > new/file && cp -r new vendor/copied
git add a/b && git commit -q -m 1 && git ls-files -s a/b | sed s:a/b/:a/was/: | git update-index --index-info
mkdir -p deep/1/2/3/4/5 && git init -q -b main deep/1/2/3/4/5
git ls-files -s a/b | sed s:a/b/:deep/1/2/3/4/5/: | git update-index --index-info
git commit -q -m was && mkdir plain
";

/// Has git take another repository in the directory `$1`, which pushes elsewhere.
const REPLACE: &str = r#"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
fill() { git init -q -b main $1 . && git add -A && git commit -q -m 1 && git config remote.origin.url git://elsewhere/x; }
cd "$1"
case $2 in
    new) fill ;;
    apart) fill --separate-git-dir=../data ;;
    moved) git init -q ../other && cp -r ../other/.git/. ../plain && mv ../plain .git ;;
    with-parent) cd .. && mv a old && mv deep/1/2/3/4/5 a && mv old/* a ;;
    commit) git commit -q --allow-empty -m more ;;
    without-index) fill; rm ../.git/index ;;
    forged-index) fill; echo x > ../.git/index ;;
    work-tree) git worktree add -q ../tree && cd ../tree && git commit -q --allow-empty -m tree ;;
esac
"#;

#[test]
fn a_new_repository_in_the_place_of_one_that_tracks_the_files_is_quarantined() {
    for caller in callers("repositories in the place of others") {
        // What is shared, the directory in which a repository is made in it, how, and whether it goes.
        for (shared, made, how, goes) in [
            (".", "a", "new", true),
            (".", "a/b", "new", true),
            ("a", ".", "new", true),
            ("a/b", ".", "new", true),
            ("a", "b", "new", true),
            (".", "a", "apart", true),
            (".", "a", "moved", true),
            (".", "a", "with-parent", true),
            (".", "a", "without-index", true),
            (".", "a", "forged-index", true),
            // There was an empty directory of that name.
            (".", "a/was", "new", true),
            // None of its files is the other one's.
            (".", "new", "new", false),
            (".", "vendor/copied", "new", false),
            ("new", ".", "new", false),
            (".", "a", "work-tree", false),
            // It is the owner's, and too deep to be searched at the start.
            (".", "deep/1/2/3/4/5", "commit", false),
        ] {
            let place = Place::new(caller);
            assert!(place.outside(&["sh", "-ec", TRACKED]).status().unwrap().success());
            let of_owner = place.workspace().canonicalize().unwrap();
            let work = of_owner.join(shared);
            let made_in = if how == "work-tree" { "tree" } else { made };
            let in_use = || {
                let git =
                    ["git", "-C", work.to_str().unwrap(), "-C", made_in, "rev-parse", "--show-toplevel"];
                String::from_utf8(place.outside(&git).output().unwrap().stdout).unwrap()
            };
            let owners = format!("{}\n", of_owner.display());
            let share = format!("{}:/workspace", work.display());
            let output =
                place.inside(&["-v", &share], &["sh", "-ec", REPLACE, "sh", made, how]).output().unwrap();
            let case = format!("{shared} {made} {how} by {caller:?}: {output:?}");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{case}");
            let named = format!("another repository than that of {},", of_owner.display());
            assert_eq!(said.contains(&named), goes, "{case}");
            assert_eq!(in_use() == owners, goes, "{case}");
        }
    }
}
