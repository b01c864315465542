//! The walk: what is found, what is not entered, and what is left out.

use super::*;
use policy::plan::Protect;
use std::borrow::Cow;

#[test]
fn finds_repositories_of_every_kind_and_sockets() {
    let boundary = Boundary::new();
    boundary.repository("").repository("a/b").bare("mirror").write("c/.git", "gitdir: ../x\n");
    boundary.directory("d").link("../.git", "d/.git");
    let _listener = UnixListener::bind(boundary.host.join("a/agent.sock")).unwrap();
    let _listener = UnixListener::bind(boundary.host.join(".git/fsmonitor--daemon.ipc")).unwrap();
    let found = boundary.walk(3);
    let mut repositories: Vec<_> =
        found.repositories.iter().map(|one| (one.path.to_str().unwrap(), one.git)).collect();
    assert_eq!(repositories.remove(0), ("", Git::Directory), "the outer one comes first");
    repositories.sort_by_key(|(path, _)| *path);
    assert_eq!(
        repositories,
        [("a/b", Git::Directory), ("c", Git::File), ("d", Git::Link), ("mirror", Git::Bare)]
    );
    let mut sockets: Vec<_> = found.sockets.iter().map(|one| one.path.to_str().unwrap()).collect();
    sockets.sort_unstable();
    assert_eq!(sockets, [".git/fsmonitor--daemon.ipc", "a/agent.sock"]);
}

#[test]
fn enters_no_more_levels_than_the_bound_and_says_what_it_left_out() {
    let boundary = Boundary::new();
    boundary.repository("1/2/3").repository("1/2/3/4").repository("node_modules/x");
    let found = boundary.walk(3);
    assert_eq!(paths(&found.repositories.iter().map(|one| one.path.clone()).collect::<Vec<_>>()), ["1/2/3"]);
    assert_eq!(paths(&found.deeper.examples), ["1/2/3/4"]);
    assert_eq!(paths(&found.skipped.examples), ["node_modules"]);
    let found = boundary.walk(0);
    assert_eq!(found.repositories, []);
    assert_eq!((found.deeper.count, found.skipped.count), (1, 1));
}

#[test]
fn what_was_quarantined_is_not_looked_at_again_and_is_no_gap() {
    let boundary = Boundary::new();
    for name in [QUARANTINE.to_owned(), format!("{QUARANTINE}-1700000000-0")] {
        boundary.repository(&format!("{name}/a")).directory(&format!("{name}/1/2/3/4/5"));
        boundary.directory(&format!("{name}/node_modules"));
    }
    let found = boundary.walk(3);
    assert_eq!((found.repositories.len(), found.deeper.count, found.skipped.count), (0, 0, 0));
    boundary.repository(&format!("{QUARANTINE}-of-mine")).repository(&format!("sub/{QUARANTINE}"));
    assert_eq!(boundary.walk(3).repositories.len(), 2, "other names and other places are no quarantine");
}

#[test]
fn follows_no_link_out_of_the_boundary() {
    let boundary = Boundary::new();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(outside.path().join(".git")).unwrap();
    boundary.link(outside.path(), "link").link(".", "circle");
    assert_eq!(boundary.walk(8).repositories, []);
}

#[test]
fn does_not_enter_another_file_system_and_says_so() {
    // /dev is one file system, and what is mounted in it are others.
    let found = walk(&root(Path::new("/dev")).enter().unwrap(), 1).unwrap();
    let others = paths(&found.other_file_systems);
    assert!(others.contains(&"pts".to_owned()), "{others:?}");
}

#[test]
fn says_which_directories_it_could_not_read() {
    // Root reads everything, so somebody else has to look.
    if rustix::process::getuid().is_root() {
        return as_somebody_else("walk::says_which_directories_it_could_not_read");
    }
    let boundary = Boundary::new();
    boundary.repository("locked").directory("open");
    fs::set_permissions(boundary.host.join("locked"), fs::Permissions::from_mode(0o000)).unwrap();
    let found = boundary.walk(3);
    fs::set_permissions(boundary.host.join("locked"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(found.unread.len(), 1);
    assert_eq!(found.unread[0].path, Path::new("locked"));
    assert_eq!(found.unread[0].errno, nix::libc::EACCES);
}

#[test]
fn what_was_not_reached_at_the_start_is_not_taken_for_the_agents() {
    let boundary = Boundary::new();
    let config = "[core]\n\tpager = evil\n";
    boundary.repository("old").write("old/.git/config", config).until_the_clock_is_past("old/.git/config");
    let by = Protect { paths: built_in().map(Cow::Borrowed).collect(), ..Protect::NOTHING };
    let too_late = Deadline::after(Duration::ZERO);
    let walk = walk_until(&boundary.root().enter().unwrap(), 3, too_late, &Known::default()).unwrap();
    assert!(!walk.is_whole);
    let mounts =
        mounts_until(&boundary.root().enter().unwrap(), &boundary.host, &walk, &by, Deadline::NEVER).unwrap();
    assert!(!mounts.is_whole(), "what the walk has not reached, nobody looks at");
    let (baseline, _) = Baseline::take(boundary.root().enter().unwrap(), &mounts).unwrap();
    boundary.repository("new").write("new/.git/config", config);
    let found: Vec<_> = boundary.compare(&baseline).into_iter().map(|one| (one.path, one.origin)).collect();
    let wanted = [("new/.git/config", FindingOrigin::Created), ("old/.git/config", FindingOrigin::Earlier)];
    assert_eq!(found, wanted.map(|(path, origin)| (path.into(), origin)));
}

#[test]
fn names_that_the_walk_has_read_need_not_be_listed_again() {
    let boundary = Boundary::new();
    boundary.repository("").repository("nested").bare("bare.git");
    for tree in ["", "nested/"] {
        boundary.write(&format!("{tree}.BashRC"), "").write(&format!("{tree}a.code-workspace"), "{}");
        boundary
            .write(&format!("{tree}.claude/settings.json"), "{}")
            .link("a.code-workspace", &format!("{tree}.envrc"));
    }
    let list: Vec<Cow<'static, str>> = built_in().map(Cow::Borrowed).collect();
    let look = |walk: &Walk| mounts(&boundary.root().enter().unwrap(), &boundary.host, walk, &list).unwrap();
    let walk = boundary.walk(3);
    for read in ["", ".git", "nested", "nested/.git", "bare.git"] {
        let names: BTreeSet<_> = walk.names.of(Path::new(read)).unwrap().map(<[u8]>::to_vec).collect();
        let listed = fs::read_dir(boundary.host.join(read)).unwrap();
        let listed = listed.map(|entry| entry.unwrap().file_name().into_encoded_bytes());
        assert_eq!(names, listed.chain([b".".to_vec(), b"..".to_vec()]).collect(), "{read}");
    }
    let found = look(&walk);
    assert_eq!(found.read_only.len(), 12, "{:?}", found.read_only);
    assert_eq!(found, look(&Walk { names: Names::default(), ..walk.clone() }), "the control: listed again");
    // The names alone are asked for.
    fs::rename(boundary.host.join(".BashRC"), boundary.host.join(".zshrc")).unwrap();
    assert_eq!(look(&walk).read_only.len(), 11);
    assert_eq!(look(&Walk { names: Names::default(), ..walk }).read_only.len(), 12);
}

#[test]
fn more_names_than_are_kept_are_listed_again() {
    let boundary = Boundary::new();
    boundary.write(".bashrc", "");
    assert!(boundary.walk(0).names.of(Path::new("")).is_some(), "the control");
    let long = "x".repeat(240);
    for number in 0..18_000 {
        boundary.write(&format!("{long}{number}"), "");
    }
    assert!(boundary.walk(0).names.of(Path::new("")).is_none());
    assert_eq!(boundary.read_only(), [".bashrc"]);
}
