//! Landlock as the kernel enforces it: what no rule grants is refused, and was possible before.
//!
//! Rules hold for one thread and what it gives birth to, so each test confines a thread of its own. These tests need a
//! kernel with landlock; without it they fail, saying so.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use confine::capabilities;
use confine::landlock::{ABI, Restricted, Ruleset, abi, keep_out_of, restrict_ptrace};
use confine::protocol::LandlockAccess;
use confine::report::Status;

/// Runs `check` where the system may be read and executed, `rules` hold, and nothing else.
fn restricted<T: Send + 'static>(
    rules: &[(&Path, LandlockAccess)],
    check: impl FnOnce(Restricted) -> T + Send + 'static,
) -> T {
    let mut ruleset = Ruleset::new().expect("this kernel has landlock");
    // Where a library or program does not lie, there is nothing to grant.
    for path in ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc"]
        .map(Path::new)
        .into_iter()
        .filter(|path| path.exists())
    {
        ruleset.allow_path(path, LandlockAccess::ReadExecute).unwrap();
    }
    for (path, access) in rules {
        ruleset.allow_path(path, *access).unwrap();
    }
    let confined = move || {
        capabilities::no_new_privs().unwrap();
        check(ruleset.restrict_self().unwrap())
    };
    thread::spawn(confined).join().unwrap()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("file"), "text").unwrap();
    let path = place.path().to_owned();
    (place, path)
}

#[test]
fn restricted_ptrace_reaches_no_older_process_and_nothing_else_is_refused() {
    let (_keep, path) = place();
    fs::create_dir(path.join("sub")).unwrap();
    let address = SocketAddr::from_abstract_name(format!("confine-test-{}", std::process::id())).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    // What it was started with is in place once it answers.
    let start = || {
        let mut echo = Command::new("cat");
        echo.env("TOLD", "secret").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut echo = echo.spawn().unwrap();
        echo.stdin.as_mut().unwrap().write_all(b"?").unwrap();
        echo.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        echo
    };
    let told = |process: &Child| {
        let environment = fs::read_to_string(format!("/proc/{}/environ", process.id()));
        environment.map(|text| text.contains("TOLD=secret")).map_err(|error| error.kind())
    };
    let check = move || {
        // Root may look anywhere, and without its capabilities only into processes that have none either.
        capabilities::no_new_privs().unwrap();
        capabilities::clear().unwrap();
        let mut older = start();
        assert_eq!(told(&older), Ok(true), "the control");
        restrict_ptrace().unwrap();
        let mut younger = start();
        assert_eq!((told(&older), told(&younger)), (Err(ErrorKind::PermissionDenied), Ok(true)));

        fs::write(path.join("file"), "changed").unwrap();
        fs::rename(path.join("file"), path.join("sub/file")).unwrap();
        fs::hard_link(path.join("sub/file"), path.join("link")).unwrap();
        assert_eq!(fs::read_to_string(path.join("link")).unwrap(), "changed");
        UnixStream::connect_addr(&address).unwrap();
        for process in [&mut older, &mut younger] {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    };
    thread::spawn(check).join().unwrap();
}

#[test]
fn what_no_rule_grants_is_refused() {
    let (_keep, path) = place();
    let read = |path: PathBuf| fs::read_to_string(path.join("file")).map_err(|error| error.kind());
    assert_eq!(read(path.clone()), Ok("text".to_owned()));
    assert_eq!(restricted(&[], move |_| read(path)), Err(ErrorKind::PermissionDenied));
}

#[test]
fn a_readable_directory_cannot_be_written() {
    let (_keep, path) = place();
    let (read, written, made) = restricted(&[(&path.clone(), LandlockAccess::ReadExecute)], move |_| {
        let file = path.join("file");
        let made = File::create(path.join("new")).map(drop).map_err(|error| error.kind());
        (fs::read_to_string(&file).unwrap(), fs::write(&file, "x").map_err(|error| error.kind()), made)
    });
    assert_eq!(read, "text");
    assert_eq!(written, Err(ErrorKind::PermissionDenied));
    assert_eq!(made, Err(ErrorKind::PermissionDenied));
}

#[test]
fn a_writable_directory_is_worked_in_as_ever() {
    let (_keep, path) = place();
    restricted(&[(&path.clone(), LandlockAccess::ReadWrite)], move |_| {
        fs::create_dir(path.join("sub")).unwrap();
        fs::rename(path.join("file"), path.join("sub/file")).unwrap();
        File::options().write(true).truncate(true).open(path.join("sub/file")).unwrap();
        std::os::unix::fs::symlink("file", path.join("sub/link")).unwrap();
        UnixListener::bind(path.join("socket")).unwrap();
        let script = path.join("script");
        fs::write(&script, "#!/bin/sh\nexit 7\n").unwrap();
        let made = Command::new("sh").arg(&script).status().unwrap();
        assert_eq!(made.code(), Some(7));
        fs::remove_dir_all(path.join("sub")).unwrap();
    });
}

#[test]
fn a_rule_for_a_file_covers_that_file_only() {
    let (_keep, path) = place();
    fs::write(path.join("other"), "text").unwrap();
    let (file, other) = restricted(&[(&path.join("file"), LandlockAccess::ReadWrite)], move |_| {
        (fs::write(path.join("file"), "x").is_ok(), fs::write(path.join("other"), "x").is_ok())
    });
    assert_eq!((file, other), (true, false));
}

#[test]
fn a_domain_within_a_domain_works() {
    let (_keep, path) = place();
    let readable = restricted(&[(&path.clone(), LandlockAccess::ReadWrite)], move |_| {
        let mut inner = Ruleset::new().unwrap();
        inner.allow_path(&path, LandlockAccess::ReadExecute).unwrap();
        inner.restrict_self().unwrap();
        (fs::read(path.join("file")).is_ok(), fs::write(path.join("file"), "x").is_ok())
    });
    assert_eq!(readable, (true, false));
}

#[test]
fn sockets_of_others_are_out_of_reach_from_abi_9_on() {
    let (_keep, path) = place();
    let _listener = UnixListener::bind(path.join("socket")).unwrap();
    let reached = restricted(&[(&path.clone(), LandlockAccess::ReadWrite)], move |_| {
        UnixStream::connect(path.join("socket")).is_ok()
    });
    assert_eq!(reached, abi().unwrap() < ABI::V9);
}

#[test]
fn the_probe_sees_whether_the_rules_hold() {
    let probed = restricted(&[(Path::new("/dev/zero"), LandlockAccess::ReadWrite)], Restricted::probe);
    let expected = if abi().unwrap() >= ABI::V5 { Status::Enforced } else { Status::Partly };
    assert_eq!(probed.status, expected, "{}", probed.reason);
    println!("{}", probed.reason);
    // Control: the same look where nothing was put on.
    let unrestricted = Restricted { abi: ABI::V9 }.probe();
    assert_eq!(unrestricted.status, Status::Not, "{}", unrestricted.reason);
}

#[test]
fn terminals_keep_their_ioctls() {
    // Control: with ReadWrite the multiplexer opens, but does not answer.
    for (access, works) in
        [(LandlockAccess::Terminal, true), (LandlockAccess::ReadWrite, abi().unwrap() < ABI::V5)]
    {
        let rules = [(Path::new("/dev/ptmx"), access), (Path::new("/dev/pts"), access)];
        let answered = restricted(&rules, |_| {
            let flags = rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY;
            let controller = rustix::pty::openpt(flags).unwrap();
            rustix::pty::unlockpt(&controller).is_ok()
        });
        assert_eq!(answered, works, "{access:?}");
    }
}

/// Runs `check` in a thread that is kept out of these directories.
fn kept_out<T: Send + 'static>(directories: &[&Path], check: impl FnOnce() -> T + Send + 'static) -> T {
    let directories: Vec<_> = directories.iter().map(|path| File::open(path).unwrap().into()).collect();
    let confined = move || {
        keep_out_of(&directories).unwrap();
        check()
    };
    thread::spawn(confined).join().unwrap()
}

/// What a shell says to a command, in one line.
fn shell(line: &str) -> Result<String, String> {
    let output = Command::new("sh").args(["-c", line]).output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn nothing_is_read_or_executed_in_what_a_thread_is_kept_out_of_by_whatever_path() {
    let (_keep, top) = place();
    let path = top.canonicalize().unwrap();
    for directory in ["shared/deep", "shared/deep/below", "beside"] {
        fs::create_dir_all(path.join(directory)).unwrap();
        fs::write(path.join(directory).join("run"), "#!/bin/sh\necho run\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(path.join(directory).join("run"), mode).unwrap();
    }
    std::os::unix::fs::symlink(path.join("shared"), path.join("linked")).unwrap();
    let shown = path.display().to_string();
    let attacks = move || {
        let ways = [
            format!("{shown}/shared/deep/run"),
            format!("cd {shown}; ./shared/deep/run"),
            format!("cd {shown}/shared/deep; ./run"),
            format!("{shown}/beside/..//./shared/deep/run"),
            format!("{shown}/linked/deep/run"),
            format!("{shown}/sh*/deep/run"),
            format!("/proc/self/root{shown}/shared/deep/run"),
            format!("cat {shown}/shared/deep/run >/dev/null && echo run"),
            format!(". {shown}/shared/deep/run"),
            format!("{shown}/shared/deep/below/run"),
        ];
        let others = [
            format!("{shown}/beside/run"),
            format!("cat {shown}/file >/dev/null && echo run"),
            format!("cd {shown}/beside; mkdir -p n && mv run n/run && mv n/run run && ./run"),
            format!("ls {shown} >/dev/null && echo run"),
        ];
        (ways.map(|way| shell(&way)), others.map(|way| shell(&way)))
    };
    let run = Ok("run".to_owned());
    let (ways, others) = attacks.clone()();
    assert!(ways.iter().chain(&others).all(|said| *said == run), "the control: {ways:?} {others:?}");
    let deep = path.join("shared/deep/below");
    let (ways, others) = kept_out(&[&deep, &path.join("shared")], attacks.clone());
    assert!(ways.iter().all(Result::is_err), "{ways:?}");
    assert!(others.iter().all(|said| *said == run), "{others:?}");
    // Other threads are as they were.
    let (ways, _) = attacks();
    assert!(ways.iter().all(|said| *said == run), "{ways:?}");
}
