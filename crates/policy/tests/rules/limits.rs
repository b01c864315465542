use std::time::Duration;

use policy::rules::limits::{self, Bytes, LimitError, MilliCpus, duration};

fn bytes(text: &str) -> Result<u64, LimitError> {
    text.parse::<Bytes>().map(|bytes| bytes.0)
}

fn cpus(text: &str) -> Result<u32, LimitError> {
    text.parse::<MilliCpus>().map(|cpus| cpus.0)
}

#[test]
fn sizes_have_binary_units_as_docker_has_them() {
    assert_eq!(bytes("512m"), Ok(512 << 20));
    assert_eq!(bytes("1g"), Ok(1 << 30));
    assert_eq!(bytes("10_000_000"), Ok(10_000_000));
    assert_eq!(bytes("7"), Ok(7));
    assert_eq!(bytes("7b"), Ok(7));
    for (text, shift) in [("1k", 10), ("1KB", 10), ("1KiB", 10), ("1Mib", 20), ("1gb", 30), ("1T", 40)] {
        assert_eq!(bytes(text), Ok(1 << shift), "{text}");
    }
}

#[test]
fn what_is_no_size_is_refused_with_what_was_expected() {
    for text in
        ["", "m", "-1m", "+1m", " 1m", "1 m", "1m ", "1mm", "1x", "0x10", "_1", "1_", "1__0", "1e3", "١m"]
    {
        let error = bytes(text).expect_err(text);
        assert_eq!(error, LimitError::Size { given: text.to_owned() });
        assert!(error.to_string().contains("`512m`"), "{error}");
    }
    assert!(matches!(bytes("1.5g"), Err(LimitError::SizeFraction { .. })));
}

#[test]
fn sizes_never_wrap() {
    assert_eq!(bytes("9223372036854775807"), Ok(i64::MAX.unsigned_abs()));
    assert_eq!(bytes("8388607t"), Ok(8_388_607 << 40));
    for text in
        ["9223372036854775808", "18446744073709551616", "8388608t", "16777216t", "99999999999999999999999g"]
    {
        assert!(matches!(bytes(text), Err(LimitError::SizeRange { .. })), "{text}");
    }
}

#[test]
fn a_size_shows_as_it_can_be_written() {
    for (value, text) in
        [(0, "0"), (1, "1"), (1024, "1k"), (1536 << 20, "1536m"), (1 << 40, "1t"), (1025, "1025")]
    {
        assert_eq!(Bytes(value).to_string(), text);
        assert_eq!(bytes(text), Ok(value));
    }
}

#[test]
fn memory_that_nothing_starts_in_is_refused() {
    assert_eq!(Bytes(4 << 20).as_memory(), Ok(Bytes(4 << 20)));
    for few in [0, 1, (4 << 20) - 1] {
        assert_eq!(Bytes(few).as_memory(), Err(LimitError::MemoryRange { given: Bytes(few) }));
    }
    assert!(matches!(Bytes(u64::MAX).as_memory(), Err(LimitError::SizeRange { .. })));
}

#[test]
fn a_size_of_zero_is_refused_because_a_tmpfs_takes_it_for_no_limit() {
    assert_eq!(Bytes(0).as_size(), Err(LimitError::SizeZero));
    assert_eq!(Bytes(1).as_size(), Ok(Bytes(1)));
}

#[test]
fn processors_are_decimals() {
    for (text, milli) in
        [("1", 1000), ("1.0", 1000), ("0.5", 500), ("0.01", 10), ("1024", 1_024_000), ("2.125", 2125)]
    {
        assert_eq!(cpus(text), Ok(milli), "{text}");
    }
    assert_eq!(MilliCpus::try_from(1.0), Ok(MilliCpus(1000)));
    assert_eq!(MilliCpus::try_from(0.1), Ok(MilliCpus(100)));
    assert_eq!(MilliCpus(1500).to_string(), "1.5");
    assert_eq!(MilliCpus(10).to_string(), "0.01");
    assert_eq!(MilliCpus(2000).to_string(), "2");
}

#[test]
fn processors_out_of_range_are_refused() {
    for text in ["0", "0.0", "0.009", "1024.001", "1025", "99999999999999"] {
        assert_eq!(cpus(text), Err(LimitError::CpusRange { given: text.to_owned() }));
    }
    for text in ["", ".", ".5", "1.", "-1", "+1", "1,5", "1e2", "NaN", "inf", "0.0001", "1.2.3", "½"] {
        assert_eq!(cpus(text), Err(LimitError::Cpus { given: text.to_owned() }));
    }
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e9, 0.001, 1.0 / 3.0] {
        assert!(MilliCpus::try_from(number).is_err(), "{number}");
    }
}

#[test]
fn processes_are_counted_within_what_the_kernel_has() {
    assert_eq!(limits::pids(1), Ok(1));
    assert_eq!(limits::pids(4_194_304), Ok(4_194_304));
    for given in [0, -1, 4_194_305, i64::MAX, i64::MIN, 1 << 32, (1 << 32) + 1] {
        assert_eq!(limits::pids(given), Err(LimitError::PidsRange { given }));
    }
}

#[test]
fn durations_are_numbers_with_units() {
    for (text, millis) in [
        ("30m", 1_800_000),
        ("1h30m", 5_400_000),
        ("500ms", 500),
        ("90s", 90_000),
        ("1d", 86_400_000),
        ("1h0m1s", 3_601_000),
        ("1m500ms", 60_500),
        ("1_000s", 1_000_000),
    ] {
        assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
    }
}

#[test]
fn what_is_no_duration_is_refused() {
    for text in
        ["", "s", "-1s", "1.5h", " 1s", "1s ", "1 s", "1m1m", "1s1m", "1w", "1M", "1s5", "1ſ", "1ms1s"]
    {
        assert_eq!(duration(text), Err(LimitError::Duration { given: text.to_owned() }), "{text}");
    }
    assert_eq!(duration("30"), Ok(Duration::from_secs(30)));
    for text in ["0", "0s", "0h0m"] {
        assert_eq!(duration(text), Err(LimitError::DurationZero), "{text}");
    }
}

#[test]
fn durations_never_wrap() {
    assert_eq!(duration("366d"), Ok(limits::MAX_DURATION));
    for text in ["367d", "366d1ms", "18446744073709551615ms", "18446744073709551616s", "213503982334602d"] {
        assert_eq!(duration(text), Err(LimitError::DurationRange { given: text.to_owned() }));
    }
}

#[test]
fn errors_do_not_pass_control_characters_on_to_a_terminal() {
    for text in ["\u{1b}[31m", "1.\u{1b}", "367d\u{1b}"] {
        let errors =
            [bytes(text).expect_err(text), cpus(text).expect_err(text), duration(text).expect_err(text)];
        for error in errors {
            assert!(!error.to_string().contains('\u{1b}'), "{error:?}");
        }
    }
}
