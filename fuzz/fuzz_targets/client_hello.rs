//! What a client says first, cut anywhere: how it is classified does not depend on where it is cut, and what passes as TLS names the
//! name that was meant.
#![no_main]

use egress::client_hello::{ClientHello, MAX_LENGTH, parse};
use egress::first_bytes::{Classification, Meant, classify};
use libfuzzer_sys::fuzz_target;
use policy::rules::network::Host;

const MEANT: Meant<'_> = Meant { name: "a.localhost", port: 443 };

fuzz_target!(|input: (u16, Vec<u8>)| {
    let (cut, mut bytes) = input;
    bytes.truncate(MAX_LENGTH - 1);
    let cut = usize::from(cut).min(bytes.len());

    let (part, whole) = (classify(&bytes[..cut], MEANT), classify(&bytes, MEANT));
    match part {
        Classification::Undecided => {}
        Classification::Pass => assert_eq!(whole, Classification::Pass, "{cut}"),
        Classification::Refuse { .. } => {
            assert!(matches!(whole, Classification::Refuse { .. }), "{cut}: {whole:?}")
        }
    }

    match (parse(&bytes[..cut]), parse(&bytes)) {
        (Ok(ClientHello::Partial), _) => {}
        (part, whole) => assert_eq!(part, whole, "{cut}"),
    }
    if matches!(bytes[..], [22, ..] | [20..=26, 3, ..]) && whole == Classification::Pass {
        let Ok(ClientHello::Complete { server_name: Some(name) }) = parse(&bytes) else {
            panic!("it passes without a name");
        };
        let name = String::from_utf8(name).expect("a host is ASCII");
        assert_eq!(name.parse(), Ok(Host::Name("a.localhost".to_owned())));
    }
});
