//! The parts of DER (X.690) that a certificate has, and certificates made of them (RFC 5280).
//!
//! No crate makes them here: those that do bring a library of times with them, and here there are two kinds of certificates, each with
//! one kind of key.

use std::time::{SystemTime, UNIX_EPOCH};

const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;

/// `dNSName` and `iPAddress` among the kinds of names (RFC 5280, section 4.2.1.6).
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;

const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const SUBJECT_KEY: &[u8] = &[0x55, 29, 14];
const KEY_USAGE: &[u8] = &[0x55, 29, 15];
const SUBJECT_NAMES: &[u8] = &[0x55, 29, 17];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 29, 19];
const NAME_CONSTRAINTS: &[u8] = &[0x55, 29, 30];
const AUTHORITY_KEY: &[u8] = &[0x55, 29, 35];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 29, 37];
const SERVER_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
/// `id-ecPublicKey`, `prime256v1` (RFC 5480) and `ecdsa-with-SHA256` (RFC 5758).
const EC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];

/// What a certificate says.
pub(super) struct Certificate<'a> {
    /// Not negative, and not 0.
    pub(super) serial: &'a [u8],
    pub(super) issuer: &'a str,
    pub(super) subject: &'a str,
    pub(super) from: SystemTime,
    pub(super) until: SystemTime,
    /// A point of P-256, uncompressed.
    pub(super) key: &'a [u8],
    pub(super) extensions: &'a [Vec<u8>],
}

impl Certificate<'_> {
    /// Returns what is signed.
    pub(super) fn to_be_signed(&self) -> Vec<u8> {
        let version = element(0xa0, &[element(INTEGER, &[vec![2]])]);
        let algorithm = sequence(&[element(OBJECT, &[EC_KEY]), element(OBJECT, &[P256])]);
        sequence(&[
            version,
            element(INTEGER, &[self.serial]),
            signature_algorithm(),
            name(self.issuer),
            sequence(&[time(self.from), time(self.until)]),
            name(self.subject),
            sequence(&[algorithm, element(BIT_STRING, &[&[0], self.key])]),
            element(0xa3, &[sequence(self.extensions)]),
        ])
    }
}

/// Joins what was signed with its signature.
pub(super) fn signed(to_be_signed: &[u8], signature: &[u8]) -> Vec<u8> {
    sequence(&[to_be_signed.to_vec(), signature_algorithm(), element(BIT_STRING, &[&[0], signature])])
}

/// Says that the key signs certificates of servers, and no other authorities.
pub(super) fn authority() -> [Vec<u8>; 2] {
    let constraints = sequence(&[element(BOOLEAN, &[[0xff]]), element(INTEGER, &[[0]])]);
    [
        extension(BASIC_CONSTRAINTS, Criticality::Critical, &constraints),
        extension(KEY_USAGE, Criticality::Critical, &element(BIT_STRING, &[[1, 0b0000_0110]])),
    ]
}

/// Says that the key is that of a server.
pub(super) fn server() -> [Vec<u8>; 3] {
    [
        extension(BASIC_CONSTRAINTS, Criticality::Critical, &sequence::<Vec<u8>>(&[])),
        extension(KEY_USAGE, Criticality::Critical, &element(BIT_STRING, &[[7, 0b1000_0000]])),
        extension(EXTENDED_KEY_USAGE, Criticality::Other, &sequence(&[element(OBJECT, &[SERVER_AUTH])])),
    ]
}

/// Says that certificates are for these names and those below them, and for no address.
pub(super) fn only_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let subtree = |kind, name: &[u8]| sequence(&[element(kind, &[name])]);
    let permitted: Vec<_> = names.map(|name| subtree(DNS_NAME, name.as_bytes())).collect();
    // Every address, of both versions: an address and its mask.
    let excluded = [subtree(IP_ADDRESS, &[0; 8]), subtree(IP_ADDRESS, &[0; 32])];
    let constraints = sequence(&[element(0xa0, &permitted), element(0xa1, &excluded)]);
    extension(NAME_CONSTRAINTS, Criticality::Critical, &constraints)
}

/// Names the one host.
pub(super) fn host(name: &str) -> Vec<u8> {
    extension(SUBJECT_NAMES, Criticality::Other, &sequence(&[element(DNS_NAME, &[name.as_bytes()])]))
}

/// Names the key of the certificate.
pub(super) fn own_key(id: &[u8]) -> Vec<u8> {
    extension(SUBJECT_KEY, Criticality::Other, &element(OCTET_STRING, &[id]))
}

/// Names the key that has signed it.
pub(super) fn issuers_key(id: &[u8]) -> Vec<u8> {
    extension(AUTHORITY_KEY, Criticality::Other, &sequence(&[element(0x80, &[id])]))
}

/// Whether who does not know an extension has to refuse the certificate.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Criticality {
    Critical,
    Other,
}

fn extension(kind: &[u8], criticality: Criticality, value: &[u8]) -> Vec<u8> {
    let mut parts = vec![element(OBJECT, &[kind])];
    if criticality == Criticality::Critical {
        parts.push(element(BOOLEAN, &[[0xff]]));
    }
    parts.push(element(OCTET_STRING, &[value]));
    sequence(&parts)
}

fn signature_algorithm() -> Vec<u8> {
    sequence(&[element(OBJECT, &[ECDSA_SHA256])])
}

fn name(common_name: &str) -> Vec<u8> {
    let attribute =
        sequence(&[element(OBJECT, &[COMMON_NAME]), element(UTF8_STRING, &[common_name.as_bytes()])]);
    sequence(&[element(SET, &[attribute])])
}

/// Writes a time in UTC: with two digits of the year until 2049, with four later (RFC 5280, section 4.1.2.5).
fn time(time: SystemTime) -> Vec<u8> {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let rest = format!("{month:02}{day:02}{:02}{:02}{:02}Z", second / 3600, second / 60 % 60, second % 60);
    if year < 2050 {
        element(UTC_TIME, &[format!("{:02}{rest}", year % 100)])
    } else {
        element(GENERALIZED_TIME, &[format!("{year:04}{rest}")])
    }
}

/// Returns year, month and day of a day since 1970-01-01.
fn date(mut days: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

fn sequence<T: AsRef<[u8]>>(parts: &[T]) -> Vec<u8> {
    element(SEQUENCE, parts)
}

/// Writes a tag, the length and the content.
fn element<T: AsRef<[u8]>>(tag: u8, parts: &[T]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.as_ref().len()).sum();
    let bytes = length.to_be_bytes();
    let bytes = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
    let mut written = vec![tag];
    match bytes {
        [] => written.push(0),
        [short] if *short < 0x80 => written.push(*short),
        // A length has 8 bytes at most.
        long => {
            written.push(0x80 | u8::try_from(long.len()).unwrap_or(0x7f));
            written.extend_from_slice(long);
        }
    }
    for part in parts {
        written.extend_from_slice(part.as_ref());
    }
    written
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_length_takes_as_many_bytes_as_it_needs() {
        for (length, head) in [
            (0, &[4, 0][..]),
            (127, &[4, 127]),
            (128, &[4, 0x81, 128]),
            (255, &[4, 0x81, 255]),
            (256, &[4, 0x82, 1, 0]),
        ] {
            assert!(element(OCTET_STRING, &[vec![7; length]]).starts_with(head), "{length}");
        }
    }

    #[test]
    fn a_time_is_that_of_the_calendar() {
        for (seconds, written) in [
            (0, "700101000000Z"),
            (951_782_399, "000228235959Z"),
            (951_782_400, "000229000000Z"),
            (1_795_000_000, "261118110640Z"),
            (1_798_761_599, "261231235959Z"),
            (2_524_607_999, "491231235959Z"),
            (2_524_608_000, "20500101000000Z"),
            (4_107_542_400, "21000301000000Z"),
        ] {
            let time = time(UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(std::str::from_utf8(&time[2..]), Ok(written), "{seconds}");
        }
    }
}
