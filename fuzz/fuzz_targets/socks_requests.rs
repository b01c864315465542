//! Any bytes as a greeting and a request of SOCKS5: reading asks for what is missing and not for more, ends, and is not changed by
//! what follows.
#![no_main]

use egress::socks::{Read, SocksRequest, greeting, request};
use libfuzzer_sys::fuzz_target;

/// The longest message: a greeting, or a request, with 255 bytes in it.
const LONGEST: usize = 262;

/// Feeds a message as it asks for bytes. Returns it with its length, unless the bytes end before.
fn fed<T: PartialEq + std::fmt::Debug>(bytes: &[u8], parse: impl Fn(&[u8]) -> Read<T>) -> Option<(T, usize)> {
    let mut count = 0;
    loop {
        match parse(bytes.get(..count)?) {
            Read::Whole(message) => {
                assert_eq!(parse(bytes), parse(&bytes[..count]), "what follows changes it");
                return Some((message, count));
            }
            Read::Missing(more) => {
                assert!(more > 0, "it waits for nothing");
                count += more;
                assert!(count <= LONGEST, "it waits for {count} bytes");
            }
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((_, length)) = fed(bytes, greeting) else { return };
    if let Some((SocksRequest::Host(host, _), length)) = fed(&bytes[length..], request) {
        assert!(host.len() <= length * 3, "a host of {} bytes from {length}", host.len());
    }
});
