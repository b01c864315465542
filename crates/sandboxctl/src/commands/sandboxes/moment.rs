//! Moments, as `--since` and `--until` take them: as `docker logs` and `docker events` do.

use policy::rules::limits;
use policy::text::time;
use sandbox::host::clock::now_ms;

use crate::error::{Code, CommandError};

/// Reads a moment, in milliseconds since 1970: a length of time is so long ago, digits alone are seconds since 1970, and anything else is in
/// the form of RFC 3339.
pub(super) fn moment(flag: &str, text: &str) -> Result<u64, CommandError> {
    read(text, now_ms()).ok_or_else(|| {
        CommandError::message(
            Code::UsageInvalid,
            format_args!(
                "{flag}: {text:?} is no time; expected how long ago, a moment, or seconds since 1970"
            ),
        )
        .hint(format!("such as `{flag} 10m`, `{flag} 2026-01-02T03:04:05Z` or `{flag} 1767322800`"))
    })
}

fn read(text: &str, now: u64) -> Option<u64> {
    if text == "0s" {
        return Some(now);
    }
    let (seconds, fraction) = text.split_once('.').map_or((text, None), |(all, part)| (all, Some(part)));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number(seconds) && fraction.is_none_or(is_number) {
        let ms: u64 = fraction.map_or(Ok(0), |digits| format!("{digits:0<3.3}").parse()).ok()?;
        return seconds.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(ms);
    }
    match limits::duration(text) {
        Ok(ago) => Some(now.saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX))),
        Err(_) => time::read_moment(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_is_so_long_ago() {
        let now = 1_700_000_000_000;
        for (text, ms) in [
            ("10m", now - 600_000),
            ("1h30m", now - 5_400_000),
            ("250ms", now - 250),
            ("0s", now),
            ("30d", now - 30 * 86_400_000),
            ("1700000000", now),
            ("1700000000.25", now + 250),
            ("0", 0),
            ("2023-11-14T22:13:20Z", now),
        ] {
            assert_eq!(read(text, now), Some(ms), "{text}");
        }
        for text in ["", "soon", "-10m", "10 m", "1.", ".5", "1.x", "99999999999999999999", "yesterday"] {
            assert_eq!(read(text, now), None, "{text}");
        }
    }
}
