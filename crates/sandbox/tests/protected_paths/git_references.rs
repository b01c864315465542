//! References and remotes by their names, and lists of git that say they are large.

use super::repositories::{committed, git, move_all};
use super::*;

#[test]
fn a_reference_whose_name_is_obeyed_goes_in_every_form() {
    const NAME: &str = "v1$(touch${IFS}x)";
    let tags = |boundary: &Boundary| git(&boundary.host, &["tag", "--points-at", "HEAD"]);
    let packed = |boundary: &Boundary| {
        git(&boundary.host, &["tag", NAME]);
        git(&boundary.host, &["pack-refs", "--all"]);
    };
    let linked = |boundary: &Boundary| {
        let (target, tag) = ("refs/tags/plain", format!(".git/refs/tags/{NAME}"));
        boundary.link(target, &tag).directory(".git/refs/tags/refs/tags");
        fs::copy(
            boundary.host.join(".git/refs/tags/plain"),
            boundary.host.join(".git/refs/tags/refs/tags/plain"),
        )
        .unwrap();
    };
    for form in ["packed-refs", "refs/tags"] {
        let (boundary, _) = committed();
        git(&boundary.host, &["tag", "plain"]);
        let baseline = boundary.baseline();
        if form == "packed-refs" {
            packed(&boundary);
        } else {
            linked(&boundary);
        }
        assert!(tags(&boundary).contains(NAME), "the control: {form}");
        let found = move_all(&boundary, &baseline);
        assert!(found.iter().any(|one| one.path.starts_with(Path::new(".git").join(form))), "{found:?}");
        let left = tags(&boundary);
        assert!(!left.contains(NAME) && left.contains("plain"), "{form}: {left}");
        assert_eq!(boundary.compare(&baseline), [], "{form}");
    }
}

/// Makes a repository whose references are in tables, with so many that the tables have an index, and a log.
fn in_tables(object_format: &str) -> Boundary {
    let boundary = Boundary::new();
    let format = format!("--object-format={object_format}");
    git(&boundary.host, &["init", "-q", "-b", "main", "--ref-format=reftable", &format, "."]);
    boundary.write("file", "1");
    git(&boundary.host, &["add", "file"]);
    git(&boundary.host, &["commit", "-q", "-m", "first"]);
    let commit = git(&boundary.host, &["rev-parse", "HEAD"]);
    add_references(&boundary, (0..1000).map(|number| format!("refs/tags/v{number}")), commit.trim());
    boundary
}

fn add_references(boundary: &Boundary, names: impl Iterator<Item = String>, commit: &str) {
    let all: Vec<String> = names.map(|name| format!("create {name} {commit}\n")).collect();
    let list = boundary.host.with_file_name("all");
    fs::write(&list, all.concat()).unwrap();
    let mut update = Command::new("git");
    update.args(["update-ref", "--stdin"]).current_dir(&boundary.host).stdin(File::open(list).unwrap());
    assert!(update.status().unwrap().success());
}

#[test]
fn references_in_a_table_go_whose_names_are_obeyed_and_the_others_stay() {
    const NAME: &str = "v1$(touch${IFS}x)";
    let list =
        |boundary: &Boundary| git(&boundary.host, &["for-each-ref", "--format=%(refname) %(objectname)"]);
    for object_format in ["sha1", "sha256"] {
        for is_compacted in [false, true] {
            let boundary = in_tables(object_format);
            let baseline = boundary.baseline();
            git(&boundary.host, &["tag", "plain"]);
            git(&boundary.host, &["branch", "other"]);
            let expected = list(&boundary);
            assert_eq!(expected.lines().count(), 1003);
            git(&boundary.host, &["branch", NAME]);
            git(&boundary.host, &["update-ref", "MERGE_AUTOSTASH", "HEAD"]);
            git(&boundary.host, &["symbolic-ref", "ORIG_HEAD", &format!("refs/heads/{NAME}")]);
            if is_compacted {
                git(&boundary.host, &["pack-refs", "--all"]);
            }
            assert!(list(&boundary).contains(NAME), "the control");
            assert!(!git(&boundary.host, &["rev-parse", "MERGE_AUTOSTASH"]).is_empty(), "the control");
            let found = move_all(&boundary, &baseline);
            assert!(
                found.iter().all(|one| one.path.starts_with(".git/reftable") && one.restored),
                "{found:?}"
            );
            let is_right = !found.is_empty() && (!is_compacted || found.len() == 1);
            assert!(is_right, "{found:?}");
            assert_eq!(list(&boundary), expected, "{object_format} {is_compacted}");
            let left = git(&boundary.host, &["rev-parse", "--verify", "-q", "MERGE_AUTOSTASH", "ORIG_HEAD"]);
            assert_eq!(left, "");
            let log = git(&boundary.host, &["reflog", "show", "main"]);
            assert_eq!(log.lines().count(), 1, "{log}");
            assert_eq!(boundary.compare(&baseline), [], "{object_format} {is_compacted}");
            // Git goes on with what was put back.
            git(&boundary.host, &["branch", "more"]);
            git(&boundary.host, &["pack-refs", "--all"]);
            assert_eq!(list(&boundary).lines().count(), 1004);
            assert_eq!(boundary.compare(&baseline), [], "{object_format} {is_compacted}");
        }
    }
}

/// No block of a table is longer than 16 MiB.
#[test]
fn references_of_a_table_that_is_longer_than_any_block_stay() {
    const TOO_LONG: u64 = 16 << 20;
    let list =
        |boundary: &Boundary| git(&boundary.host, &["for-each-ref", "--format=%(refname) %(objectname)"]);
    let boundary = in_tables("sha1");
    let commit = git(&boundary.host, &["rev-parse", "HEAD"]);
    // Names that begin differently, of a length that makes it few.
    let name = |number: u64| {
        let digits =
            (0..60).map(|at| format!("{:016x}", (number * 60 + at).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        format!("refs/notes/{}", digits.collect::<String>())
    };
    add_references(&boundary, (0..17_500).map(name), commit.trim());
    let baseline = boundary.baseline();
    let expected = list(&boundary);
    git(&boundary.host, &["branch", "v1$(touch${IFS}x)"]);
    git(&boundary.host, &["pack-refs", "--all"]);
    let found = move_all(&boundary, &baseline);
    let [Finding { path, quarantined: Some(moved), restored: true, .. }] = found.as_slice() else {
        panic!("{found:?}");
    };
    for table in [path, moved] {
        assert!(fs::metadata(boundary.host.join(table)).unwrap().len() > TOO_LONG, "{}", table.display());
    }
    assert!(list(&boundary) == expected, "of {} references", expected.lines().count());
    let (last, _) = expected.lines().rfind(|line| line.contains("notes")).unwrap().split_once(' ').unwrap();
    assert_eq!(git(&boundary.host, &["rev-parse", last, "v999"]), commit.repeat(2));
    assert_eq!(git(&boundary.host, &["reflog", "show", "main"]).lines().count(), 1);
    assert_eq!(boundary.compare(&baseline), []);
}

#[test]
fn references_in_tables_that_were_obeyed_at_the_start_stay() {
    let boundary = in_tables("sha1");
    git(&boundary.host, &["branch", "a$(b)"]);
    let baseline = boundary.baseline();
    git(&boundary.host, &["branch", "more"]);
    git(&boundary.host, &["pack-refs", "--all"]);
    assert_eq!(boundary.compare(&baseline), []);
}

#[test]
fn references_that_were_obeyed_at_the_start_stay_in_whatever_file_git_puts_them() {
    const NAMES: [&str; 3] = ["fix/login&signup", "other|one", "a$(b)"];
    let plain = || committed().0;
    let in_tables: fn() -> Boundary = || in_tables("sha1");
    for (what, prepare, start, agent) in [
        ("packed", plain as fn() -> Boundary, &["tag", "x"][..], &["pack-refs", "--all"][..]),
        ("loose", plain, &["pack-refs", "--all"], &["commit", "-q", "--allow-empty", "-m", "more"]),
        ("compacted", in_tables, &["tag", "x"], &["pack-refs", "--all"]),
    ] {
        let boundary = prepare();
        for name in NAMES {
            git(&boundary.host, &["branch", name]);
        }
        git(&boundary.host, &["checkout", "-q", NAMES[0]]);
        git(&boundary.host, start);
        let baseline = boundary.baseline();
        git(&boundary.host, agent);
        assert_eq!(boundary.compare(&baseline), [], "{what}");
        git(&boundary.host, &["branch", "evil;x"]);
        assert_ne!(boundary.compare(&baseline), [], "the control: {what}");
    }
}

#[test]
fn a_stash_of_the_users_own_stays_in_whatever_table_git_puts_it() {
    let boundary = in_tables("sha1");
    git(&boundary.host, &["update-ref", "MERGE_AUTOSTASH", "HEAD"]);
    let baseline = boundary.baseline();
    git(&boundary.host, &["branch", "more"]);
    git(&boundary.host, &["pack-refs", "--all"]);
    assert_eq!(boundary.compare(&baseline), []);
    // Another one is the agent's.
    git(&boundary.host, &["commit", "-q", "--allow-empty", "-m", "more"]);
    git(&boundary.host, &["update-ref", "MERGE_AUTOSTASH", "HEAD"]);
    let found = boundary.compare(&baseline);
    assert!(found.iter().any(|one| matches!(one.reason, Reason::AppliesStash { .. })), "{found:?}");
    // That there is none any more is said as well.
    git(&boundary.host, &["update-ref", "-d", "MERGE_AUTOSTASH"]);
    git(&boundary.host, &["pack-refs", "--all"]);
    assert_eq!(boundary.compare(&baseline), []);
}

fn sh(boundary: &Boundary, script: &str) {
    let output = Command::new("sh").args(["-ec", script]).current_dir(&boundary.host).output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
}

/// How references are stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Store {
    Files,
    Links,
    Tables,
}

impl Store {
    /// Makes a repository in which the branch `release` is behind `main`.
    fn repository(self) -> Boundary {
        let boundary = if self == Self::Tables { in_tables("sha1") } else { committed().0 };
        sh(
            &boundary,
            "git branch release; git branch -f old; git commit -q --allow-empty -m more; git worktree add -q tree",
        );
        boundary
    }

    fn makes(self, reference: &str, target: &str) -> String {
        let links = if self == Self::Links { "-c core.preferSymlinkRefs=true" } else { "" };
        format!("git {links} symbolic-ref {reference} {target}")
    }
}

#[test]
fn a_reference_that_leads_to_a_branch_is_quarantined_where_git_makes_none() {
    let release = |boundary: &Boundary| git(&boundary.host, &["rev-parse", "-q", "--verify", "release"]);
    let mut met = 0;
    for (place, reference, command) in [
        (".", "ORIG_HEAD", "git reset -q --hard main"),
        ("tree", "ORIG_HEAD", "git reset -q --hard main"),
        (".", "REBASE_HEAD", "git update-ref REBASE_HEAD main"),
        (".", "refs/stash", "echo 2 >file; git stash -q"),
        (".", "refs/tags/v", "git tag -f v main"),
        (".", "refs/heads/alias", "git branch -f alias main"),
        (".", "refs/notes/commits", "git notes add -m x"),
        (".", "refs/remotes/origin/main", "git fetch -q . +main:refs/remotes/origin/main"),
        (".", "refs/remotes/origin/HEAD", "git update-ref -d refs/remotes/origin/HEAD"),
        ("tree", "refs/bisect/bad", "git update-ref refs/bisect/bad main"),
        ("tree", "refs/rewritten/onto", "git update-ref refs/rewritten/onto main"),
    ] {
        for store in [Store::Files, Store::Links, Store::Tables] {
            let case = format!("{place} {reference} {store:?}");
            // Of a link of any other name, git does not read the text.
            if store == Store::Links && !reference.starts_with("refs/") {
                continue;
            }
            let attack = format!("cd {place}; {}", store.makes(reference, "refs/heads/release"));
            let later = format!("cd {place}; {command}");
            let boundary = store.repository();
            let before = release(&boundary);
            sh(&boundary, &attack);
            sh(&boundary, &later);
            assert_ne!(release(&boundary), before, "the control: {case}");

            let boundary = store.repository();
            let baseline = boundary.baseline();
            sh(&boundary, &attack);
            let found = move_all(&boundary, &baseline);
            assert_eq!(found.len(), 1, "{case}: {found:?}");
            let (name, target) = (reference.to_owned(), "refs/heads/release".to_owned());
            let reason = if store == Store::Links {
                Reason::NotAFile
            } else {
                Reason::LeadsToReference { name, target }
            };
            assert_eq!((&found[0].reason, found[0].restored), (&reason, store == Store::Tables), "{case}");
            let before = release(&boundary);
            let _ = Command::new("sh").args(["-c", &later]).current_dir(&boundary.host).output();
            assert_eq!(release(&boundary), before, "{case}");
            assert_eq!(git(&boundary.host, &["rev-parse", "old"]), before, "{case}");
            met += 1;
        }
    }
    assert!(met > 25, "{met}");
}

#[test]
fn a_reference_that_led_to_a_branch_at_the_start_stays_until_it_leads_to_another_one() {
    for store in [Store::Files, Store::Links, Store::Tables] {
        let boundary = store.repository();
        sh(&boundary, &store.makes("refs/heads/alias", "refs/heads/main"));
        let baseline = boundary.baseline();
        for work in [
            "git checkout -q alias; git commit -q --allow-empty -m alias; git checkout -q main",
            "git pack-refs --all",
            "git symbolic-ref refs/heads/alias refs/heads/main",
            "git refs migrate --ref-format=reftable || git pack-refs --all",
        ] {
            sh(&boundary, work);
            assert_eq!(boundary.compare(&baseline), [], "{store:?} {work}");
        }
        sh(&boundary, "git symbolic-ref refs/heads/alias refs/heads/release");
        let found = boundary.compare(&baseline);
        let is_said = |one: &Finding| matches!(&one.reason, Reason::LeadsToReference { target, .. } if target == "refs/heads/release");
        assert!(found.iter().any(is_said), "{store:?}: {found:?}");
        sh(&boundary, "git branch -D -q alias; git pack-refs --all");
        let found = boundary.compare(&baseline);
        assert_eq!(found, [], "the control: {store:?}");
    }
}

#[test]
fn a_table_that_git_reads_in_two_ways_is_quarantined() {
    let boundary = in_tables("sha1");
    let baseline = boundary.baseline();
    let tables = boundary.host.join(".git/reftable");
    let list = fs::read_to_string(tables.join("tables.list")).unwrap();
    let table = tables.join(list.lines().last().unwrap());
    let mut bytes = fs::read(&table).unwrap();
    // The first block says that it has another place at which a name begins anew.
    let length = usize::from(bytes[26]) << 8 | usize::from(bytes[27]);
    bytes[length - 3] ^= 1;
    fs::remove_file(&table).unwrap();
    fs::write(&table, bytes).unwrap();
    let found = boundary.paths(&baseline);
    assert_eq!(found, [table.strip_prefix(&boundary.host).unwrap().to_str().unwrap()]);
}

#[test]
fn a_remote_whose_name_is_obeyed_goes_though_it_is_empty() {
    for name in ["upstream;evil", "a$(evil)"] {
        let (boundary, _) = committed();
        let baseline = boundary.baseline();
        boundary.write(&format!(".git/remotes/{name}"), "").directory(&format!(".git/branches/{name}"));
        boundary.write(".git/remotes/empty", "");
        let mut found = boundary.paths(&baseline);
        found.sort();
        assert_eq!(found, [format!(".git/branches/{name}"), format!(".git/remotes/{name}")]);
    }
}

#[test]
fn files_that_say_they_are_large_do_not_keep_a_search() {
    const FILES: usize = 60;
    let (boundary, _) = committed();
    let baseline = boundary.baseline();
    for number in 0..FILES {
        let git = format!("m/{number}/.git");
        boundary.bare(&git);
        File::create(boundary.host.join(&git).join("packed-refs")).unwrap().set_len(64 << 20).unwrap();
    }
    boundary.write(".envrc", "evil");
    // Which of them are too large depends on their order; that they are is reported, and they stay.
    let found = boundary.compare(&baseline);
    let (stay, go): (Vec<_>, Vec<_>) = found.iter().partition(|one| one.stays());
    assert_eq!(go.iter().map(|one| one.path.as_path()).collect::<Vec<_>>(), [Path::new(".envrc")]);
    assert!((FILES - 4..FILES).contains(&stay.len()), "{}", stay.len());
    assert!(stay.iter().all(|one| one.path.ends_with("packed-refs")));
}
