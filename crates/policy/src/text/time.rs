//! Lengths of time, as they are written in `sandbox.toml`.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_units_that_are_not_zero() {
        let written = |seconds| duration(Duration::from_secs(seconds));
        assert_eq!([300, 5400, 86_400, 0].map(written), ["5m", "1h30m", "1d", "0s"]);
        assert_eq!(duration(Duration::from_millis(1500)), "1s500ms");
    }
}
