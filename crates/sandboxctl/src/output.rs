//! The one JSON object that `run --format json` prints.

use sandbox::capture::Captured;
use sandbox::provider::{End, Outcome};
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::load::Loaded;

/// A run that took place, whatever became of it.
pub(crate) fn run(
    loaded: &Loaded,
    outcome: &Outcome,
    code: ExitCode,
    failure: Option<&CommandError>,
    warnings: &[String],
) -> Value {
    let Loaded { plan, config, .. } = loaded;
    let (signal, ended_by) = match &outcome.end {
        End::Exited(_) => (None, "command"),
        End::Signaled(signal) => (Some(*signal), "signal"),
        End::TimedOut(_) => (None, "timeout"),
        End::Unprotected(_) => (None, "protection"),
        End::NotFound(_) | End::NotExecutable(..) => (None, "tool"),
    };
    let mut object = json!({
        "sandbox": {
            "name": plan.name,
            "provider": plan.provider,
            "provider_reason": plan.provider_reason,
            "config": config,
        },
        "result": {
            "code": code.number(),
            "signal": signal,
            "timed_out": matches!(outcome.end, End::TimedOut(_)),
            "ended_by": ended_by,
            "duration_ms": u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
        },
        "stdout": outcome.output.as_ref().map(|output| stream(&output.stdout)),
        "stderr": outcome.output.as_ref().map(|output| stream(&output.stderr)),
        "report": outcome.report,
        "detected": outcome.detected,
        "warnings": warnings,
    });
    if let Some(failure) = failure {
        object["error"] = failure.to_json()["error"].take();
    }
    object
}

/// What was captured of one stream: as text where it is UTF-8, else as base64.
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

/// Base64 with padding, RFC 4648 section 4.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let index = group >> (18 - 6 * digit) & 63;
            text.push(if digit > chunk.len() { '=' } else { char::from(ALPHABET[index as usize]) });
        }
    }
    text
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

    #[test]
    fn encodes_the_examples_of_rfc_4648() {
        let encoded = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(encoded, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }
}
