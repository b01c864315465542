//! Any message to the DNS server: it is ignored, or answered in one small packet that is a response to it.
#![no_main]

use std::net::{Ipv4Addr, Ipv6Addr};

use egress::dns::message::{DnsAnswer, Received, Subject, read};
use libfuzzer_sys::fuzz_target;
use policy::rules::network::Host;

fuzz_target!(|bytes: &[u8]| {
    let is_response = |reply: &[u8]| {
        assert!((12..=512).contains(&reply.len()), "{} bytes", reply.len());
        assert_eq!(reply[..2], bytes[..2], "another query's");
        assert!(reply[2] & 0x80 != 0, "a query");
        assert!(matches!(read(reply), Received::Ignored), "an answer would be answered");
    };
    match read(bytes) {
        Received::Ignored => assert!(bytes.len() < 12 || bytes[2] & 0x80 != 0, "a query was ignored"),
        Received::Refused(reply) => is_response(&reply),
        Received::Question(question) => {
            if let Subject::Host(Host::Name(name), _) = question.subject() {
                assert_eq!(name.parse(), Ok(Host::Name(name.clone())), "not canonical");
            }
            for answer in [
                DnsAnswer::Address(Ipv4Addr::new(127, 64, 0, 1).into()),
                DnsAnswer::Address(Ipv6Addr::LOCALHOST.into()),
                DnsAnswer::Name([["a"; 127].join("."), ".".to_owned()].concat()),
                DnsAnswer::Empty,
                DnsAnswer::NoSuchName,
                DnsAnswer::Failure,
            ] {
                is_response(&question.reply(&answer));
            }
        }
    }
});
