//! Times: lengths of time, as they are written in `sandbox.toml`, and moments, as RFC 3339 has them.

use std::time::Duration;

/// Units from the largest to the smallest, in milliseconds.
const UNITS: [(&str, u128); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Writes a length of time with units from the largest to the smallest, none of them zero: `1h30m`.
pub fn duration(time: Duration) -> String {
    let mut rest = time.as_millis();
    let mut text = String::new();
    for (unit, length) in UNITS {
        if rest >= length {
            text.extend([(rest / length).to_string().as_str(), unit]);
            rest %= length;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Writes a moment in UTC, given in milliseconds since 1970: `2026-01-02T03:04:05.678Z`.
pub fn moment(ms: u64) -> String {
    let (days, in_day) = (ms / MS_OF_DAY, ms % MS_OF_DAY);
    let (year, month, day) = date_of(days);
    let (seconds, ms) = (in_day / 1000, in_day % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Reads a moment as [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339) has it, from 1970 to 9999, in milliseconds since 1970; `None` for
/// anything else. A leap second is the second after it; what is finer than milliseconds is cut off.
pub fn read_moment(text: &str) -> Option<u64> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let (time, offset) = if let Some(time) = rest.strip_suffix(['Z', 'z']) {
        (time, 0)
    } else {
        let at = rest.rfind(['+', '-'])?;
        let [hours, minutes] = numbers(&rest[at + 1..], ':', [2, 2])?;
        let offset = (hours < 24 && minutes < 60).then_some((hours * 60 + minutes) * 60_000)?;
        let offset = i64::try_from(offset).ok()?;
        (&rest[..at], if rest[at..].starts_with('-') { -offset } else { offset })
    };
    let (time, fraction) = time.split_once('.').map_or((time, None), |(time, rest)| (time, Some(rest)));
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let ms = match fraction {
        Some(digits) if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            return None;
        }
        Some(digits) => format!("{digits:0<3.3}").parse().ok()?,
        None => 0,
    };
    if year < 1970 || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_until(year, month, day);
    if date_of(days) != (year, month, day) {
        return None;
    }
    let local = days * MS_OF_DAY + ((hour * 60 + minute) * 60 + second) * 1000 + ms;
    u64::try_from(i64::try_from(local).ok()? - offset).ok()
}

const MS_OF_DAY: u64 = 86_400_000;

/// Reads numbers of so many digits each, with this between them.
fn numbers<const COUNT: usize>(text: &str, between: char, digits: [usize; COUNT]) -> Option<[u64; COUNT]> {
    let parts: Vec<&str> = text.split(between).collect();
    let mut numbers = [0; COUNT];
    if parts.len() != COUNT {
        return None;
    }
    for ((number, part), digits) in numbers.iter_mut().zip(parts).zip(digits) {
        let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = is_number.then(|| part.parse().ok())??;
    }
    Some(numbers)
}

/// Returns how many days lie between 1970 and a date of the Gregorian calendar. Years are counted from March on, so that the day of a leap
/// year is the last one.
fn days_until(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    days.saturating_sub(719_469)
}

/// Returns the date that lies so many days after the beginning of 1970.
fn date_of(days: u64) -> (u64, u64, u64) {
    // The calendar is the same every 400 years.
    let (age, in_age) = ((days + 719_468) / 146_097, (days + 719_468) % 146_097);
    let year = (in_age - in_age / 1460 + in_age / 36_524 - in_age / 146_096) / 365;
    let in_year = in_age - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let (year, day) = (age * 400 + year, in_year - (153 * month + 2) / 5 + 1);
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_units_that_are_not_zero() {
        let written = |seconds| duration(Duration::from_secs(seconds));
        assert_eq!([300, 5400, 86_400, 0].map(written), ["5m", "1h30m", "1d", "0s"]);
        assert_eq!(duration(Duration::from_millis(1500)), "1s500ms");
    }

    #[test]
    fn moments_are_those_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (1_795_710_899_123, "2026-11-26T16:34:59.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(moment(ms), text);
            assert_eq!(read_moment(text), Some(ms), "{text}");
        }
        for day in 0..200_000 {
            let (year, month, date) = date_of(day);
            assert_eq!(days_until(year, month, date), day);
        }
    }

    #[test]
    fn reads_offsets_and_fractions_and_nothing_else() {
        for (text, ms) in [
            ("1970-01-01T01:00:00+01:00", 0),
            ("1969-12-31T23:00:00-01:00", 0),
            ("1970-01-01 00:00:01.5z", 1500),
            ("1970-01-01t00:00:00.123456789Z", 123),
        ] {
            let expected = if text.starts_with("1969") { None } else { Some(ms) };
            assert_eq!(read_moment(text), expected, "{text}");
        }
        for text in [
            "", "1970-01-01", "1970-01-01T00:00:00", "2023-02-29T00:00:00Z", "2023-13-01T00:00:00Z",
            "2023-00-01T00:00:00Z", "2023-01-00T00:00:00Z", "2023-01-01T24:00:00Z", "2023-01-01T00:60:00Z",
            "2023-1-01T00:00:00Z", "+023-01-01T00:00:00Z", "2023-01-01T00:00:00.Z",
            "2023-01-01T00:00:00+1:00", "1970-01-01T00:00:00+01:00", "２023-01-01T00:00:00Z",
        ] {
            assert_eq!(read_moment(text), None, "{text}");
        }
    }
}
