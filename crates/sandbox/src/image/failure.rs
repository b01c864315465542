//! Why a build failed, by what buildx has printed.

use super::error::BuildError;
use crate::engine::error_patterns::{self, FailureCause, Match};

/// How many lines of a step's own output are kept.
const LINES: usize = 20;

/// What keeps a registry or a step of a build from being reached.
const OBSTACLES: [FailureCause; 4] =
    [FailureCause::Certificate, FailureCause::Unreachable, FailureCause::NotInRegistry, FailureCause::Fault];

/// Converts the lines of a failed build, as buildx 0.13 to 0.30 prints them with `--progress plain`, into an error. What is
/// not known stays as it was printed.
pub(super) fn from_output(lines: &[String]) -> BuildError {
    let message = lines.iter().rev().find_map(|line| line.strip_prefix("ERROR: "));
    let message = message.unwrap_or("what was printed says why").trim();
    let message = message.strip_prefix("failed to build: ").unwrap_or(message);
    let message = message.strip_prefix("failed to solve: ").unwrap_or(message).to_owned();
    let (step, printed) = step(lines);
    let all = format!("{}\n{message}", printed.join("\n"));
    match error_patterns::cause(&all, &[FailureCause::DiskFull, FailureCause::Processor]) {
        Some(FailureCause::DiskFull) => return BuildError::DiskFull { message },
        Some(_) => {
            let platform = step.as_deref().and_then(|step| step.strip_prefix('[')?.split([' ', ']']).next());
            return BuildError::Emulator { platform: platform.unwrap_or("another platform").to_owned() };
        }
        None => {}
    }
    let push = |text: &str| error_patterns::cause(text, &[FailureCause::Push]).is_some();
    if step.as_deref().is_some_and(push) || push(&message) {
        return BuildError::Push { cause: error_patterns::cause(&message, &OBSTACLES), message };
    }
    if let Some(Match { value: image, rest: message, .. }) =
        error_patterns::find(&message, &[FailureCause::Fetch])
    {
        return BuildError::Fetch { image, cause: error_patterns::cause(&message, &OBSTACLES), message };
    }
    BuildError::Step {
        step,
        cause: error_patterns::cause(&all, &[FailureCause::Certificate]),
        message,
        printed,
    }
}

/// Returns the step that failed, and what it has printed: buildx repeats both between two rules, above the Dockerfile.
fn step(lines: &[String]) -> (Option<String>, Vec<String>) {
    let rule = |line: &&String| line.chars().all(|character| character == '-') && line.len() == 6;
    let Some(start) = lines.iter().rposition(|line| line.starts_with(" > ")) else {
        return (None, Vec::new());
    };
    let step = lines[start].trim_start_matches(" > ").trim_end_matches(':').to_owned();
    let printed: Vec<&String> = lines[start + 1..].iter().take_while(|line| !rule(line)).collect();
    let last = &printed[printed.len().saturating_sub(LINES)..];
    (Some(step), last.iter().map(|line| without_time(line).to_owned()).collect())
}

/// Returns a line without the seconds that stand before it.
fn without_time(line: &str) -> &str {
    match line.split_once(' ') {
        Some((time, rest)) if time.parse::<f64>().is_ok() => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> BuildError {
        from_output(&text.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_failed_step_is_reported_with_its_last_lines() {
        let text = "#9 0.1 one\n#9 ERROR: process did not complete\n------\n > [linux/amd64 sandbox 2/4] RUN false:\n\
                    0.101 one\n0.202 two: no such thing\n------\nDockerfile:5\n--------------------\n   5 | >>> RUN false\n\
                    --------------------\nERROR: failed to solve: process \"/bin/sh -c false\" did not complete successfully: exit code: 1";
        let BuildError::Step { step, message, printed, .. } = of(text) else { panic!("{:?}", of(text)) };
        assert_eq!(step.as_deref(), Some("[linux/amd64 sandbox 2/4] RUN false"));
        assert_eq!(printed, ["one", "two: no such thing"]);
        assert!(message.starts_with("process \"/bin/sh -c false\""), "{message}");
    }

    #[test]
    fn causes_are_distinguished() {
        let fetch = "ERROR: failed to solve: failed to resolve source metadata for docker.io/library/alpine:3.23: \
                     failed to do request: Head \"https://registry-1.docker.io/v2/\": dial tcp: lookup: no such host";
        assert!(
            matches!(of(fetch), BuildError::Fetch { image, cause: Some(FailureCause::Unreachable), .. } if image == "docker.io/library/alpine:3.23")
        );
        let emulator = "------\n > [linux/arm64 2/2] RUN true:\n0.1 exec /bin/sh: exec format error\n------\n\
                        ERROR: failed to solve: process \"/bin/sh -c true\" did not complete successfully: exit code: 255";
        assert!(matches!(of(emulator), BuildError::Emulator { platform } if platform == "linux/arm64"));
        let full = "ERROR: failed to solve: failed to copy files: write /x: no space left on device";
        assert!(matches!(of(full), BuildError::DiskFull { .. }));
        let push = "ERROR: failed to solve: failed to push localhost:5001/a: dial tcp 127.0.0.1:5001: connect: connection refused";
        assert!(matches!(of(push), BuildError::Push { cause: Some(FailureCause::Unreachable), .. }));
        let engine = "------\n > pushing localhost:5000/a:1 with docker:\n------\nERROR: unexpected status from HEAD request to \
                      http://localhost:5000/v2/a/manifests/1: 500 Internal Server Error";
        assert!(
            matches!(of(engine), BuildError::Push { cause: Some(FailureCause::Fault), message } if message.ends_with("500 Internal Server Error"))
        );
        let authorize = "ERROR: failed to solve: failed to resolve source metadata for a/b:1: failed to authorize: 401 Unauthorized";
        assert!(matches!(of(authorize), BuildError::Fetch { cause: None, .. }));
        let prints = "------\n > [2/2] RUN true || echo pushing a with docker:\n0.1 curl: (60) SSL certificate problem: self-signed \
                      certificate in certificate chain\n------\nERROR: failed to solve: exit code: 60";
        assert!(matches!(of(prints), BuildError::Step { cause: Some(FailureCause::Certificate), .. }));
        assert!(matches!(of(""), BuildError::Step { step: None, cause: None, .. }));
    }
}
