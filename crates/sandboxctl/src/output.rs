//! The one JSON object that `run --format json` prints.

use std::path::Path;

use policy::plan::Plan;
use policy::text::json_bytes::{JsonBytes, base64};
use sandbox::host::capture::Captured;
use sandbox::session::outcome::{End, Outcome};
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::exit_code::ExitCode;

/// Describes a run that took place, however it ended.
pub(crate) fn run(
    plan: &Plan,
    config: Option<&Path>,
    outcome: &Outcome,
    code: ExitCode,
    failure: Option<&CommandError>,
    warnings: &[String],
) -> Value {
    let (signal, ended_by) = match &outcome.end {
        End::Exited(_) => (None, "command"),
        End::Signaled(signal) => (Some(*signal), "signal"),
        End::TimedOut(_) => (None, "timeout"),
        End::Unprotected(_) | End::Shown(_) => (None, "protection"),
        End::NotFound(_) | End::NotExecutable(..) => (None, "tool"),
    };
    let mut object = json!({
        "sandbox": {
            "name": plan.name,
            "provider": plan.provider,
            "provider_reason": plan.provider_reason,
            "config": config.map(JsonBytes::from),
            "pid": outcome.init.as_ref().and_then(|init| init.pid),
            "namespaces": outcome.init.as_ref().map(|init| &init.namespaces),
        },
        "result": {
            "code": code.number(),
            "signal": signal,
            "timed_out": matches!(outcome.end, End::TimedOut(_)),
            "ended_by": ended_by,
            "duration_ms": u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
            "cpu_ms": outcome.usage.map(|usage| usage.cpu_ms),
            "max_rss": outcome.usage.map(|usage| usage.max_rss),
            "oom_killed": outcome.oom_killed,
        },
        "stdout": outcome.output.as_ref().map(|output| stream(&output.stdout)),
        "stderr": outcome.output.as_ref().map(|output| stream(&output.stderr)),
        "pool": outcome.pool,
        "report": outcome.report,
        "egress": outcome.egress,
        "detected": outcome.detected,
        "warnings": warnings,
    });
    if let Some(failure) = failure {
        object["error"] = failure.to_json()["error"].take();
    }
    object
}

/// Describes what was captured of one stream: as text where it is UTF-8, else as base64.
fn stream(captured: &Captured) -> Value {
    let Captured { bytes, total, truncated } = captured;
    // The limit may fall within a character; that alone does not make text something else.
    let whole = match std::str::from_utf8(bytes) {
        Err(error) if *truncated && error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    };
    let (key, value) = match std::str::from_utf8(whole) {
        Ok(text) => ("text", text.to_owned()),
        Err(_) => ("base64", base64(bytes)),
    };
    json!({ key: value, "truncated": truncated, "bytes": total })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(bytes: &[u8], total: u64) -> Value {
        stream(&Captured { bytes: bytes.into(), total, truncated: total > bytes.len() as u64 })
    }

    #[test]
    fn text_is_text() {
        assert_eq!(captured("ä\n".as_bytes(), 3), json!({ "text": "ä\n", "truncated": false, "bytes": 3 }));
    }

    #[test]
    fn other_bytes_are_base64() {
        assert_eq!(captured(b"\xff\x00", 2), json!({ "base64": "/wA=", "truncated": false, "bytes": 2 }));
    }

    #[test]
    fn text_cut_within_a_character_is_still_text() {
        assert_eq!(captured(&"aä".as_bytes()[..2], 3), json!({ "text": "a", "truncated": true, "bytes": 3 }));
    }
}
