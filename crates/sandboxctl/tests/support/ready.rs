//! Commands that say that they are ready, and wait.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Starts a command whose streams lead here, and returns when it has said `ready` in its first line.
pub(crate) fn start(command: &mut Command) -> Child {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command can be started");
    assert_eq!(next_line(&mut child), "ready\n", "{command:?}");
    child
}

/// The next line of a command that says nothing more until it is told to.
pub(crate) fn next_line(child: &mut Child) -> String {
    let mut line = String::new();
    let stdout = child.stdout.as_mut().expect("it is piped");
    BufReader::new(stdout).read_line(&mut line).expect("it can be read");
    line
}
