//! Standard output that takes nothing.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use crate::env::TestEnv;

/// Commands that print data.
const COMMANDS: &[&[&str]] = &[
    &["--help"],
    &["--version"],
    &["run", "--help"],
    &["completions", "bash"],
    &["man"],
    &["config", "show"],
    &["plan", "--", "true"],
    &["run", "--dry-run", "--", "true"],
    &["config", "show", "--format", "json"],
    &["plan", "--format", "json", "--", "true"],
    // An error in place of data.
    &["run", "--format", "json", "--nonsense"],
];

#[test]
fn a_full_device_is_said_and_fails() {
    for args in COMMANDS {
        let env = TestEnv::new();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = env.command(&env.project(), args).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        if args.contains(&"--nonsense") {
            assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
            assert!(stderr.contains("--nonsense"), "{args:?}: {stderr}");
        } else {
            assert_eq!(output.status.code(), Some(125), "{args:?}: {stderr}");
            let said = "error: cannot write to standard output: No space left on device";
            assert!(stderr.contains(said), "{args:?}: {stderr}");
        }
        // The control: the same where there is room.
        let output = env.command(&env.project(), args).stdout(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(if args.contains(&"--nonsense") { 2 } else { 0 }), "{args:?}");
        assert!(!output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn a_reader_that_has_gone_ends_it_as_sigpipe_does() {
    for args in COMMANDS.iter().filter(|args| !args.contains(&"--nonsense")) {
        let env = TestEnv::new();
        let (reader, writer) = UnixStream::pair().unwrap();
        drop(reader);
        let writer = OwnedFd::from(writer);
        let output =
            env.command(&env.project(), args).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(128 + 13), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}
