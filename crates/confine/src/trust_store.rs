//! Certificate authorities as Java reads them: a key store in its oldest format (JKS), which it reads whatever format is its default.
//!
//! Java takes it without a password; with that of its own store, `changeit`, it checks the sum at the end.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

/// What everybody knows.
const PASSWORD: &str = "changeit";

const MAGIC: u32 = 0xfeed_feed;
const VERSION: u32 = 2;

/// What an entry is: a certificate that is believed, without a key.
const TRUSTED: u32 = 2;

/// What the sum begins with, behind the password.
const WHITENER: &[u8] = b"Mighty Aphrodite";

/// Returns a key store with every certificate of a text in PEM, as OpenSSL finds them: what stands between blocks, blocks of other
/// labels and those that are broken are passed over. A `TRUSTED CERTIFICATE` is passed over as well, since it may say what it is not
/// good for.
pub fn from_pem(pem: &[u8]) -> Vec<u8> {
    let certificates = certificates(pem);
    let mut store = Vec::with_capacity(pem.len());
    for number in [MAGIC, VERSION, length(&certificates)] {
        store.extend(number.to_be_bytes());
    }
    for (number, certificate) in certificates.iter().enumerate() {
        store.extend(TRUSTED.to_be_bytes());
        text(&mut store, &number.to_string());
        // When it was added, in milliseconds: that is of no interest.
        store.extend([0; 8]);
        text(&mut store, "X.509");
        store.extend(length(certificate).to_be_bytes());
        store.extend(certificate);
    }
    let password = PASSWORD.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
    let sum = Sha1::new().chain_update(password).chain_update(WHITENER).chain_update(&store).finalize();
    store.extend(sum);
    store
}

/// Returns the certificates of a text in DER.
fn certificates(pem: &[u8]) -> Vec<Vec<u8>> {
    let (mut found, mut block) = (Vec::new(), None);
    for line in pem.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        match (line, &mut block) {
            (b"-----BEGIN CERTIFICATE-----" | b"-----BEGIN X509 CERTIFICATE-----", _) => {
                block = Some(Vec::new());
            }
            (b"-----END CERTIFICATE-----" | b"-----END X509 CERTIFICATE-----", Some(text)) => {
                found.extend(STANDARD.decode(text).ok().filter(|certificate| is_whole(certificate)));
                block = None;
            }
            (_, Some(text)) => text.extend(line),
            (_, None) => {}
        }
    }
    found
}

/// Returns whether this is one SEQUENCE of DER of the length that a certificate has, and nothing else (X.690): Java reads no store that
/// holds anything else.
fn is_whole(der: &[u8]) -> bool {
    let (length, content) = match der {
        [0x30, 0x82, high, low, content @ ..] => (u16::from_be_bytes([*high, *low]), content),
        [0x30, 0x81, length, content @ ..] => (u16::from(*length), content),
        _ => return false,
    };
    content.len() == usize::from(length)
}

fn text(store: &mut Vec<u8>, text: &str) {
    store.extend(u16::try_from(text.len()).unwrap_or(0).to_be_bytes());
    store.extend(text.as_bytes());
}

/// Returns a length as the format has it. All is of one file of bounded length.
fn length<T>(all: &[T]) -> u32 {
    u32::try_from(all.len()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(label: &str, content: &[u8]) -> String {
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(content))
    }

    #[test]
    fn finds_what_openssl_finds() {
        let (one, other) = ([0x30, 0x81, 2, 5, 0], [&[0x30, 0x81, 0x80][..], &[7; 0x80]].concat());
        let long = [&[0x30, 0x82, 1, 0][..], &[7; 0x100]].concat();
        let whole = block("CERTIFICATE", &one);
        let all = [
            "# a comment\n".to_owned(),
            block("X509 CERTIFICATE", &other).replace('\n', " \r\n"),
            block("TRUSTED CERTIFICATE", &one),
            block("X509 CRL", &one),
            block("CERTIFICATE", &one[..4]),
            block("CERTIFICATE", &[&one[..], &[0]].concat()),
            block("CERTIFICATE", b""),
            "-----BEGIN CERTIFICATE-----\nno base64\n-----END CERTIFICATE-----\n".to_owned(),
            // One that does not end hides nothing behind it.
            "-----BEGIN CERTIFICATE-----\nMAA=\n".to_owned(),
            whole.trim_end().to_owned(),
            "\n\n".to_owned(),
            block("CERTIFICATE", &long),
            "-----BEGIN CERTIFICATE-----\nMAIFAA==".to_owned(),
        ];
        assert_eq!(certificates(all.concat().as_bytes()), [other, one.to_vec(), long]);
        assert_eq!(certificates(&[0xff; 100]), [b""; 0]);
    }

    #[test]
    fn a_store_is_what_keytool_would_write() {
        // The sum of an empty one: `printf '\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite\376\355\376\355\0\0\0\2\0\0\0\0' | sha1sum`
        let empty = [&[0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2, 0, 0, 0, 0][..], &EMPTY].concat();
        assert_eq!(from_pem(b""), empty);
        let store = from_pem(block("CERTIFICATE", &[0x30, 0x81, 2, 5, 0]).as_bytes());
        let entry = b"\0\0\0\x02\0\x010\0\0\0\0\0\0\0\0\0\x05X.509\0\0\0\x05\x30\x81\x02\x05\0";
        assert_eq!(store[8..store.len() - 20], [&b"\0\0\0\x01"[..], entry].concat());
    }

    const EMPTY: [u8; 20] = [
        0xe2, 0x68, 0x6e, 0x45, 0xfb, 0x43, 0xdf, 0xa4, 0xd9, 0x92, 0xdd, 0x41, 0xce, 0xb6, 0xb2, 0x1c, 0x63,
        0x30, 0xd7, 0x92,
    ];
}
