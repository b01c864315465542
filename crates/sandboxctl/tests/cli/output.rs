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
fn json_has_nothing_that_a_terminal_obeys() {
    // A question of CSI, and the clipboard, by control characters of 8 bits; DEL; and a change of the direction of writing.
    const WRITTEN: &str = "a\u{9b}6n\u{9d}52;c;eA==\u{9c}\u{7f}\u{202e}b";
    let env = TestEnv::new();
    for words in [&["printf", "%s", WRITTEN][..], &[WRITTEN]] {
        let args = [&["run", "--provider", "local", "--format", "json", "--"], words].concat();
        let output = env.command(&env.project(), &args).stdout(Stdio::piped()).output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let is_obeyed = |letter: char| letter == '\u{202e}' || letter != '\n' && letter.is_control();
        assert!(!stdout.contains(is_obeyed), "{stdout:?}");
        let read: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        let text = &read["stdout"]["text"];
        assert!(text == WRITTEN || read.to_string().contains(WRITTEN), "{stdout}");
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
