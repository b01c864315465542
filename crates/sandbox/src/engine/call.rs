//! A call of an engine's command line: what it prints, and no longer than it may take.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tracing::debug;

use crate::engine::error::EngineError;
use crate::engine::kind::EngineKind;
use crate::host::capture::Excess;
use crate::host::child::{Group, MOST, Running, Stop};
use crate::host::deadline::Deadline;

/// Runs a call of an engine's command line to its end, or kills it when its time is over. Its standard output is the answer;
/// its standard error becomes the error when it fails.
pub(crate) fn output(
    kind: EngineKind,
    call: &mut Command,
    group: Group,
    patience: Duration,
) -> Result<String, EngineError> {
    let run = |call: &mut Command| {
        let mut running = Running::spawn(call.stdout(Stdio::piped()).stderr(Stdio::piped()), group)?;
        let mut outputs = [running.stdout(MOST, Excess::Refused)?, running.stderr(MOST, Excess::Refused)?];
        let (stop, _) = running.finish(Deadline::after(patience), None, &mut outputs)?;
        Ok((stop, outputs.map(|stream| String::from_utf8_lossy(&stream.finish().bytes).into_owned())))
    };
    let failed = |source| EngineError::Call { kind, source };
    let began = Instant::now();
    let called = run(call);
    debug!(arguments = ?call.get_args(), took = ?began.elapsed(), "called {kind}");
    match called.map_err(failed)? {
        (Stop::Ended(status), [stdout, _]) if status.success() => Ok(stdout),
        (Stop::Ended(_), [_, stderr]) => Err(EngineError::from_stderr(kind, &stderr)),
        (Stop::TooMuch, _) => Err(failed(io::Error::other("its output is too large"))),
        (Stop::TimedOut | Stop::Deserted, _) => Err(EngineError::Timeout { kind, waited: patience }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdout(script: &str, patience: Duration) -> Result<String, EngineError> {
        output(EngineKind::Docker, Command::new("sh").args(["-c", script]), Group::Ours, patience)
    }

    #[test]
    fn a_call_returns_what_it_prints_and_takes_no_longer_than_it_may() {
        let long = Duration::from_secs(60);
        assert_eq!(stdout("echo out; echo err >&2", long).unwrap(), "out\n");
        assert!(
            matches!(stdout("echo why >&2; exit 3", long), Err(EngineError::Refused { message, .. }) if message == "why")
        );
        assert_eq!(stdout("head -c 1000000 /dev/zero", long).unwrap().len(), 1_000_000);
        // What stays behind holds its pipes.
        let behind = stdout("sleep 1000 & echo $!", long).unwrap();
        assert!(Command::new("kill").arg(behind.trim()).status().unwrap().success());
        let error = stdout("sleep 1000", Duration::from_millis(50)).unwrap_err();
        assert!(matches!(error, EngineError::Timeout { .. }), "{error}");
        assert!(matches!(stdout("yes", long), Err(EngineError::Call { .. })));
    }
}
