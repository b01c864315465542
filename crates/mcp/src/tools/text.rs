//! How the output of a command and its end are shown, with structure and as text.

use std::time::Duration;

use sandbox::End;
use sandbox::shell::{ShellEnd, ShellText};
use schemars::JsonSchema;
use serde::Serialize;

/// How many characters of a command are shown.
const SHOWN: usize = 200;

/// How a command has ended.
#[derive(JsonSchema, Serialize)]
pub(super) struct EndOutput {
    /// The exit code; null where a signal or the timeout has ended it. 126 and 127: it could not be executed, and `reason` says why
    pub(super) exit_code: Option<u8>,
    /// The number of the signal that has ended it
    pub(super) signal: Option<i32>,
    /// Whether it ran out of time, and all that it had started was ended
    pub(super) timed_out: bool,
    /// Why it could not be executed, or was ended by the sandbox
    pub(super) reason: Option<String>,
}

impl From<&ShellEnd> for EndOutput {
    fn from(end: &ShellEnd) -> Self {
        let reason = match end {
            ShellEnd::Ended(End::NotFound(command)) => Some(format!("{}: no such command in the sandbox", beginning(command))),
            ShellEnd::Ended(End::NotExecutable(command, reason)) => Some(format!("{}: cannot be executed: {reason}", beginning(command))),
            ShellEnd::Ended(End::TimedOut(limit)) => Some(format!("it ran longer than {}", seconds(*limit))),
            ShellEnd::Ended(End::Unprotected(_) | End::Shown(_)) => {
                Some("a program of the host has changed what the sandbox protects, and everything inside was ended".to_owned())
            }
            ShellEnd::Cancelled => Some("it was killed, as it was asked for".to_owned()),
            ShellEnd::Ended(End::Exited(_) | End::Signaled(_)) => None,
        };
        Self { exit_code: end.exit_code(), signal: end.signal(), timed_out: end.is_timed_out(), reason }
    }
}

impl EndOutput {
    /// Describes the end in one line; nothing where there is nothing to say.
    pub(super) fn line(&self) -> String {
        match (self.exit_code, self.signal, &self.reason) {
            (_, _, Some(reason)) => format!("[{reason}]"),
            (Some(code @ 1..), ..) => format!("[exit code {code}]"),
            (None, Some(signal), _) => format!("[ended by signal {signal}]"),
            (Some(0), ..) | (None, None, None) => String::new(),
        }
    }
}

/// Shows what was written, for clients that know no structure.
pub(super) fn shown(stdout: &ShellText, stderr: &ShellText, rest: &[&str]) -> String {
    let mut parts = Vec::new();
    for (stream, name) in [(stdout, "standard output"), (stderr, "standard error")] {
        if !stream.text.is_empty() {
            // Only where both have something do they have to be told apart.
            if name == "standard error" && !stdout.text.is_empty() {
                parts.push("[standard error]".to_owned());
            }
            parts.push(stream.text.trim_end_matches('\n').to_owned());
        }
        if stream.is_truncated {
            parts.push(format!("[{name} was truncated: {} bytes in all]", stream.total));
        }
        if stream.base64.is_some() {
            parts.push(format!("[{name} is not UTF-8 text: what is none is shown as U+FFFD, and the structured result has its exact bytes in base64]"));
        }
    }
    parts.extend(rest.iter().filter(|part| !part.is_empty()).map(|part| (*part).to_owned()));
    if parts.is_empty() { "[no output]".to_owned() } else { parts.join("\n") }
}

/// Returns the beginning of a text that the call has given: an answer does not repeat a megabyte of it.
pub(super) fn beginning(text: &str) -> String {
    let shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() { shown + "…" } else { shown }
}

/// Returns a duration in milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn seconds(duration: Duration) -> String {
    policy::text::time::duration(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> ShellText {
        ShellText { text: text.to_owned(), base64: None, total: text.len() as u64, is_truncated: false }
    }

    #[test]
    fn says_what_there_is_and_nothing_else() {
        assert_eq!(shown(&text("out\n"), &text(""), &[]), "out");
        assert_eq!(
            shown(&text("out\n"), &text("err\n"), &["[exit code 1]"]),
            "out\n[standard error]\nerr\n[exit code 1]"
        );
        assert_eq!(shown(&text(""), &text(""), &[""]), "[no output]");
        let long = ShellText { is_truncated: true, total: 99, ..text("a") };
        assert_eq!(shown(&long, &text(""), &[]), "a\n[standard output was truncated: 99 bytes in all]");
    }
}
