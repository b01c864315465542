//! Any text as a file of authorities: what Java gets is whole, whatever an image has there.
#![no_main]

use confine::trust_store::from_pem;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|pem: &[u8]| {
    let store = from_pem(pem);
    let (head, mut rest) = store.split_at(12);
    assert_eq!(head[..8], [0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2]);
    let entries = u32::from_be_bytes(head[8..].try_into().unwrap());
    for _ in 0..entries {
        // Its kind, its name and when it was added; and a certificate.
        let name = usize::from(u16::from_be_bytes(rest[4..6].try_into().unwrap()));
        rest = &rest[6 + name + 8..];
        assert_eq!(rest[..7], *b"\0\x05X.509");
        let length = u32::from_be_bytes(rest[7..11].try_into().unwrap()) as usize;
        assert_eq!(rest[11], 0x30);
        rest = &rest[11 + length..];
    }
    assert_eq!(rest.len(), 20, "there is more than a sum at the end");
});
