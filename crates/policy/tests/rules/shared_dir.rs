use std::path::{Path, PathBuf};

use policy::plan::BoundaryMode;
use policy::rules::shared_dir::{
    Caller, PathKind, ShareCandidate, ShareOverlap, ShareRefusal, ShareRule, SharedHostDir, overlaps,
    validate,
};

const USER: u32 = 1000;

fn candidate<'a>(given: &'a str, resolved: &'a str) -> ShareCandidate<'a> {
    ShareCandidate {
        given: Path::new(given),
        resolved: Path::new(resolved),
        kind: PathKind::Directory,
        owner: USER,
        mode: BoundaryMode::ReadWrite,
    }
}

fn caller<'a>(uid: u32, homes: &'a [&'a Path]) -> Caller<'a> {
    Caller { uid, homes, other_homes: &[], allowed_root: None }
}

fn user(given: &str, resolved: &str) -> Result<(), ShareRefusal> {
    validate(&candidate(given, resolved), &caller(USER, &[Path::new("/home/u")]))
}

fn root(path: &str) -> Result<(), ShareRefusal> {
    validate(&candidate(path, path), &caller(0, &[Path::new("/root")]))
}

fn within(allowed_root: &str, given: &str, resolved: &str) -> Result<(), ShareRefusal> {
    let caller =
        Caller { uid: USER, homes: &[], other_homes: &[], allowed_root: Some(Path::new(allowed_root)) };
    validate(&candidate(given, resolved), &caller)
}

#[test]
fn a_project_is_allowed() {
    for path in [
        "/home/u/project", "/home/u/a/b/c", "/home/u/my-secrets-demo", "/home/u/.ssh-notes",
        "/home/u/.config/mine", "/tmp/x", "/var/tmp/x", "/var/folders/ab/cd/T/x",
        "/private/var/folders/ab/cd/T/x", "/private/tmp/x", "/opt/project", "/srv/project", "/mnt/disk",
        "/workspace", "/etcetera", "/users/x", "/library/x", "/variable", "/home/u/usr/bin", "/home/u/etc",
    ] {
        assert_eq!(user(path, path), Ok(()), "{path}");
    }
}

#[test]
fn the_system_is_refused_in_every_spelling() {
    for path in [
        "/etc", "/etc/x", "/usr", "/usr/local/src", "/bin", "/boot/x", "/sbin", "/lib", "/lib64/x",
        "/dev/shm", "/proc/self/cwd", "/sys", "/root", "/root/x", "/run/user/1000", "/var",
        "/var/lib/docker", "/var/run/docker.sock", "/var/tmp/../lib", "/var/tmp/../../etc", "/var/tmpx",
        "/tmp/../etc", "//etc/", "/./etc", "/../etc", "/private/etc", "/private/var/db",
        "/private/var/tmp/../db", "/System/x", "/Library",
    ] {
        let refusal = user(path, path).expect_err(path);
        assert!(matches!(refusal.rule, ShareRule::System { .. }), "{path}: {refusal}");
    }
}

#[test]
fn the_root_is_refused() {
    for path in ["/", "//", "/.", "/..", "/tmp/.."] {
        assert_eq!(user(path, path).expect_err(path).rule, ShareRule::Root, "{path}");
    }
}

#[test]
fn what_many_share_is_refused_but_not_what_is_in_it() {
    for path in
        ["/tmp", "/private/tmp", "/var/tmp", "/var/folders", "/private", "/opt", "/srv", "/mnt", "/media"]
    {
        assert_eq!(user(path, path).expect_err(path).rule, ShareRule::Common, "{path}");
    }
    assert_eq!(user("/Users", "/Users").expect_err("/Users").rule, ShareRule::Common);
}

#[test]
fn homes_and_what_they_lie_in_are_refused() {
    assert_eq!(user("/home/u", "/home/u").expect_err("home").rule, ShareRule::Home);
    assert_eq!(user("/home/u/x/..", "/home/u").expect_err("home").rule, ShareRule::Home);
    assert!(matches!(user("/home", "/home").expect_err("above").rule, ShareRule::AboveHome { .. }));
    assert_eq!(user("/home/v", "/home/v").expect_err("another's").rule, ShareRule::SomeHome);
    assert_eq!(user("/Users/v", "/Users/v").expect_err("another's").rule, ShareRule::SomeHome);
    let odd = [Path::new("/data/people/u")];
    for path in ["/data", "/data/people"] {
        let refusal = validate(&candidate(path, path), &caller(USER, &odd)).expect_err(path);
        assert!(matches!(refusal.rule, ShareRule::AboveHome { .. }), "{path}: {refusal}");
    }
    assert_eq!(validate(&candidate("/data/peoples", "/data/peoples"), &caller(USER, &odd)), Ok(()));
}

#[test]
fn every_spelling_of_the_home_counts() {
    let homes = [Path::new("/home/u"), Path::new("/data/u")];
    for path in ["/home/u", "/data/u", "/data"] {
        assert!(validate(&candidate(path, path), &caller(USER, &homes)).is_err(), "{path}");
    }
    // A service may have the root for its home; that makes nothing else a home.
    assert_eq!(validate(&candidate("/workspace", "/workspace"), &caller(USER, &[Path::new("/")])), Ok(()));
}

/// Root, which knows the homes of all users.
fn root_among(homes: &[&str], path: &str) -> Result<(), ShareRule> {
    let other_homes: Vec<PathBuf> = homes.iter().map(PathBuf::from).collect();
    let own = [Path::new("/root")];
    let caller = Caller { other_homes: &other_homes, ..caller(0, &own) };
    validate(&candidate(path, path), &caller).map_err(|refusal| refusal.rule)
}

#[test]
fn homes_of_other_users_are_refused_wherever_they_lie() {
    let homes = ["/srv/people/v"];
    assert_eq!(root_among(&homes, "/srv/people/v"), Err(ShareRule::SomeHome));
    assert_eq!(
        root_among(&homes, "/srv/people"),
        Err(ShareRule::AboveSomeHome { home: "/srv/people/v".into() })
    );
    // Of a home right below `/home` nobody needs to know.
    for home in ["/srv/people/v", "/home/v"] {
        for name in [".config", ".local", ".local/share", ".cargo"] {
            let path = format!("{home}/{name}");
            let rule = root_among(&homes, &path).expect_err(&path);
            assert!(matches!(rule, ShareRule::HoldsCredentials { .. }), "{path}: {rule}");
        }
        let path = format!("{home}/.ssh");
        assert!(matches!(root_among(&homes, &path), Err(ShareRule::Credentials { .. })), "{path}");
        for name in ["project", ".config/mine", ".local/bin", ".local/share/mine"] {
            let path = format!("{home}/{name}");
            assert_eq!(root_among(&homes, &path), Ok(()), "{path}");
        }
    }
    for path in ["/srv/people/v2", "/srv/other"] {
        assert_eq!(root_among(&homes, path), Ok(()), "{path}");
    }
    // The control: of what is no home, nothing is known.
    assert_eq!(root_among(&[], "/srv/people/v"), Ok(()));
    assert_eq!(root_among(&[], "/srv/people/v/.local"), Ok(()));
}

#[test]
fn homes_of_users_of_the_system_refuse_no_work() {
    let homes = [
        "/", "//", "", "nonexistent", "/nonexistent", "/bin", "/dev", "/usr/sbin", "/var/lib/x", "/var/www",
        "/run/sshd", "/proc", "/root",
    ];
    for path in ["/srv/project", "/opt/x", "/home/v/project", "/root/project", "/var/tmp/x", "/workspace"] {
        assert_eq!(root_among(&homes, path), Ok(()), "{path}");
    }
    // One that many share is refused itself already.
    for home in ["/srv", "/tmp", "/opt"] {
        assert_eq!(root_among(&[home], &format!("{home}/project")), Ok(()), "{home}");
    }
    assert_eq!(root_among(&["/var/tmp/v"], "/var/tmp/v"), Err(ShareRule::SomeHome));
}

#[test]
fn credentials_are_refused_wherever_they_lie() {
    for path in [
        "/home/u/.ssh", "/home/u/.ssh/keys", "/home/v/.gnupg", "/srv/backup/u/.aws",
        "/home/u/.config/gcloud", "/home/u/.config/gcloud/x", "/home/u/.config/gh", "/home/u/.kube",
        "/home/u/.docker", "/home/u/.azure", "/home/u/.password-store/work", "/home/u/.local/share/keyrings",
        "/home/u/.netrc", "/home/u/.npmrc", "/Users/v/Library/Keychains",
    ] {
        let refusal = user(path, path).expect_err(path);
        assert!(matches!(refusal.rule, ShareRule::Credentials { .. }), "{path}: {refusal}");
    }
}

#[test]
fn what_holds_credentials_is_refused() {
    for path in ["/home/u/.config", "/home/u/.local", "/home/u/.local/share", "/home/u/.cargo"] {
        let refusal = user(path, path).expect_err(path);
        assert!(matches!(refusal.rule, ShareRule::HoldsCredentials { .. }), "{path}: {refusal}");
    }
}

#[test]
fn both_the_given_and_the_resolved_path_are_checked() {
    assert!(user("/home/u/link", "/etc").is_err());
    assert!(user("/var/run/x", "/workspace/x").is_err(), "a system path that leads elsewhere today");
    assert!(user("/home/u/link", "/home/u/.ssh").is_err());
    assert!(user("/tmp/x", "/private/tmp/x").is_ok());
    let refusal = user("/home/u/link", "/etc/ssl").expect_err("a link");
    assert_eq!(
        refusal.to_string(),
        "`/home/u/link` cannot be shared: it leads to `/etc/ssl`, and `/etc` belongs to the system; share a \
         directory in your home, such as a project"
    );
}

#[test]
fn only_directories_and_files_are_shared() {
    for kind in [PathKind::Socket, PathKind::Fifo, PathKind::Device] {
        let candidate = ShareCandidate { kind, ..candidate("/home/u/x", "/home/u/x") };
        let refusal = validate(&candidate, &caller(USER, &[])).expect_err("neither of them");
        let rule = if kind == PathKind::Socket { ShareRule::Socket } else { ShareRule::Special { kind } };
        assert_eq!(refusal.rule, rule);
    }
}

/// Tries to share a single file read-only.
fn file<'a>(given: &'a str, resolved: &'a str) -> Result<(), ShareRefusal> {
    let candidate =
        ShareCandidate { kind: PathKind::File, mode: BoundaryMode::ReadOnly, ..candidate(given, resolved) };
    validate(&candidate, &caller(USER, &[Path::new("/home/u")]))
}

#[test]
fn a_single_file_is_shared_to_be_read_only() {
    assert_eq!(file("/home/u/project/x.json", "/home/u/project/x.json"), Ok(()));
    assert_eq!(file("/home/u/x.json", "/home/u/x.json"), Ok(()), "right in a home");
    assert_eq!(file("/tmp/x.json", "/tmp/x.json"), Ok(()));
    let candidate = ShareCandidate { kind: PathKind::File, ..candidate("/home/u/x", "/home/u/x") };
    assert_eq!(candidate.mode, BoundaryMode::ReadWrite);
    let refusal = validate(&candidate, &caller(USER, &[])).expect_err("a file that can be written");
    assert_eq!(refusal.rule, ShareRule::WritableFile);
}

#[test]
fn a_single_file_is_refused_where_a_directory_would_be() {
    for path in
        ["/etc/hosts", "/usr/bin/env", "/var/log/syslog", "/run/x", "/root/x", "/home/u/.ssh/id_ed25519"]
    {
        assert!(file(path, path).is_err(), "{path}");
        assert!(file("/home/u/link", path).is_err(), "a link to {path}");
    }
}

#[test]
fn files_with_credentials_of_a_home_are_not_shared_by_themselves() {
    for name in [
        ".netrc", ".env", ".git-credentials", ".npmrc", ".pgpass", ".bash_history", ".my.cnf",
        ".m2/settings.xml",
    ] {
        for home in ["/home/u", "/home/other"] {
            let path = format!("{home}/{name}");
            let refusal = file(&path, &path).expect_err(&path);
            assert!(matches!(refusal.rule, ShareRule::Credentials { .. }), "{path}: {refusal}");
            assert!(file("/home/u/project/link", &path).is_err(), "a link to {path}");
        }
    }
    assert_eq!(file("/home/u/project/.env", "/home/u/project/.env"), Ok(()), "that of a project");
}

#[test]
fn names_that_corrupt_mount_tables_or_plans_are_refused() {
    use std::os::unix::ffi::OsStrExt;
    assert_eq!(user("/home/u/a\nb", "/home/u/a\nb").expect_err("newline").rule, ShareRule::Control);
    assert_eq!(user("/home/u/a\0b", "/home/u/a\0b").expect_err("nul").rule, ShareRule::Control);
    assert_eq!(user("project", "/home/u/project").expect_err("relative").rule, ShareRule::Relative);
    assert_eq!(user("", "/home/u/project").expect_err("empty").rule, ShareRule::Relative);
    let bytes = Path::new(std::ffi::OsStr::from_bytes(b"/home/u/\xff"));
    let candidate = ShareCandidate { resolved: bytes, ..candidate("/home/u/x", "") };
    assert_eq!(validate(&candidate, &caller(USER, &[])).expect_err("bytes").rule, ShareRule::NotUtf8);
}

#[test]
fn a_refusal_does_not_pass_control_characters_on_to_a_terminal() {
    let refusal = user("/home/u/\u{1b}[31m", "/home/u/\u{1b}[31m").expect_err("escape");
    assert!(!refusal.to_string().contains('\u{1b}'), "{refusal:?}");
}

#[test]
fn root_may_share_a_project_in_its_home_but_not_its_home() {
    assert_eq!(root("/root/project"), Ok(()));
    for path in ["/root", "/root/", "/root/x/..", "/root/.ssh", "/root/.config", "/etc", "/rootx/../root"] {
        assert!(root(path).is_err(), "{path}");
    }
    assert_eq!(root("/home/v/project"), Ok(()));
    assert!(root("/home/v").is_err());
    // Also where HOME says something else.
    let elsewhere = validate(&candidate("/root", "/root"), &caller(0, &[Path::new("/home/u")]));
    assert!(elsewhere.is_err());
}

#[test]
fn somebody_elses_directory_is_shared_read_only_at_most() {
    let foreign = ShareCandidate { owner: 1001, ..candidate("/srv/x", "/srv/x") };
    let refusal = validate(&foreign, &caller(USER, &[])).expect_err("foreign");
    assert_eq!(refusal.rule, ShareRule::Foreign { owner: 1001, caller: USER });
    assert_eq!(
        validate(&ShareCandidate { mode: BoundaryMode::ReadOnly, ..foreign }, &caller(USER, &[])),
        Ok(())
    );
    assert_eq!(validate(&ShareCandidate { owner: 0, ..foreign }, &caller(USER, &[])), Ok(()));
    assert_eq!(validate(&foreign, &caller(0, &[])), Ok(()));
}

#[test]
fn the_allowed_root_is_honoured_by_component() {
    assert_eq!(within("/srv/apx/root", "/srv/apx/root", "/srv/apx/root"), Ok(()));
    assert_eq!(within("/srv/apx/root/", "/srv/apx/root/x", "/srv/apx/root/x"), Ok(()));
    assert_eq!(within("/tmp/r", "/tmp/r/x", "/private/tmp/r/x"), Ok(()));
    for (given, resolved) in [
        ("/srv/apx/root-evil", "/srv/apx/root-evil"),
        ("/srv/apx", "/srv/apx"),
        ("/srv/apx/root/link", "/srv/other"),
        ("/srv/apx/root/../x", "/srv/apx/x"),
    ] {
        let refusal = within("/srv/apx/root", given, resolved).expect_err(given);
        assert!(matches!(refusal.rule, ShareRule::OutsideAllowedRoot { .. }), "{given}: {refusal}");
    }
    assert!(within("/etc", "/etc/x", "/etc/x").is_err(), "an allowed root does not open the system");
}

fn problems(shared: &[(&str, &str, BoundaryMode)]) -> Vec<ShareOverlap> {
    let shared: Vec<SharedHostDir<'_>> = shared
        .iter()
        .map(|(name, host, mode)| SharedHostDir { name, host: Path::new(host), mode: *mode })
        .collect();
    overlaps(&shared)
}

const RW: BoundaryMode = BoundaryMode::ReadWrite;
const RO: BoundaryMode = BoundaryMode::ReadOnly;

fn inside(inner: &str, outer: &str) -> ShareOverlap {
    ShareOverlap::WithinWritable { inner: inner.to_owned(), outer: outer.to_owned() }
}

#[test]
fn refuses_a_boundary_inside_another_writable_one() {
    assert_eq!(problems(&[("a", "/w", RW), ("b", "/w/x", RO)]), [inside("b", "a")]);
    assert_eq!(problems(&[("b", "/w/x/y", RW), ("a", "/w", RW)]), [inside("b", "a")]);
    assert_eq!(
        problems(&[("a", "/w", RW), ("b", "/w/x", RO), ("c", "/w/x/y", RO), ("d", "/w2", RO)]),
        [inside("b", "a"), inside("c", "a")]
    );
    // The root sorts before everything, and `/w!` between `/w` and `/w/x` in bytes, but not by component.
    assert_eq!(problems(&[("a", "/w", RW), ("c", "/w!", RO), ("b", "/w/x", RO)]), [inside("b", "a")]);
}

#[test]
fn boundaries_beside_each_other_or_in_a_read_only_one_are_fine() {
    assert_eq!(problems(&[]), []);
    assert_eq!(problems(&[("a", "/w", RW), ("b", "/w2", RW), ("c", "/wx/y", RO)]), []);
    assert_eq!(problems(&[("a", "/w", RO), ("b", "/w/x", RW)]), []);
}

#[test]
fn the_same_directory_twice_is_refused() {
    let same = |first: &str, second: &str| ShareOverlap::Same {
        first: first.to_owned(),
        second: second.to_owned(),
        host: "/w".into(),
    };
    assert_eq!(problems(&[("a", "/w", RO), ("b", "/w/", RW)]), [same("a", "b")]);
    assert_eq!(
        problems(&[("a", "/w", RO), ("b", "/w", RO), ("c", "/w", RO)]),
        [same("a", "b"), same("a", "c")]
    );
}

#[test]
fn a_writable_twin_counts_for_what_lies_within() {
    let problems = problems(&[("a", "/w", RO), ("b", "/w", RW), ("c", "/w/x", RO)]);
    assert!(problems.contains(&inside("c", "b")), "{problems:?}");
}
