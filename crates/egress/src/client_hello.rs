//! The first message of a TLS client, and the server that it names (RFC 8446, section 4.1.2; RFC 6066, section 3).
//!
//! The message may come in any number of records, and those in any number of segments: as long as it is not whole, more is wanted.

/// How many bytes of records are looked at. A message of a browser has less than 2 KiB, with keys of the time after quanta too; what
/// comes one byte in a record takes six times as many.
pub const MAX_LENGTH: usize = 32 << 10;

/// The type of a record with a part of a handshake.
pub(crate) const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// How large a record may be (RFC 8446, section 5.1).
const MAX_RECORD: usize = 1 << 14;

/// How far the bytes go.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ClientHello {
    Partial,
    Complete {
        /// The server it names, as it was written.
        server_name: Option<Vec<u8>>,
    },
}

/// Why bytes are none.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the TLS handshake does not begin with a well-formed ClientHello")]
pub struct Malformed;

/// Reads what a client has sent so far.
///
/// # Errors
///
/// It is no `ClientHello`, whatever follows, or a longer one than is looked at.
pub fn parse(bytes: &[u8]) -> Result<ClientHello, Malformed> {
    let mut records = Reader(bytes);
    let mut message = Vec::new();
    while let Some(fragment) = record(&mut records)? {
        message.extend_from_slice(fragment);
        if let Some(body) = body(&message)? {
            return Ok(ClientHello::Complete { server_name: server_name(body)? });
        }
    }
    if bytes.len() < MAX_LENGTH { Ok(ClientHello::Partial) } else { Err(Malformed) }
}

/// Returns what the next record holds, once it is whole.
fn record<'a>(records: &mut Reader<'a>) -> Result<Option<&'a [u8]>, Malformed> {
    let [kind, major, _minor, high, low, ..] = *records.0 else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if kind != HANDSHAKE || major != 3 || !(1..=MAX_RECORD).contains(&length) {
        return Err(Malformed);
    }
    Ok(records.0.get(5..5 + length).inspect(|_| records.0 = &records.0[5 + length..]))
}

/// Returns the body of the message, once it is whole.
fn body(message: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    match message {
        [CLIENT_HELLO, a, b, c, body @ ..] => {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            // Nothing comes after it before the server has answered.
            let is_possible = length <= MAX_LENGTH && body.len() <= length;
            if is_possible { Ok((body.len() == length).then_some(body)) } else { Err(Malformed) }
        }
        [] | [CLIENT_HELLO, ..] => Ok(None),
        _ => Err(Malformed),
    }
}

/// Returns the server that the body of a message names.
fn server_name(body: &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
    let mut body = Reader(body);
    let _version_and_random = body.take(2 + 32)?;
    let _session = body.list8()?;
    let _ciphers = body.list16()?;
    let _compression = body.list8()?;
    if body.0.is_empty() {
        return Ok(None);
    }
    let mut extensions = Reader(body.list16()?);
    body.end()?;
    let mut named = None;
    while !extensions.0.is_empty() {
        let (kind, data) = (extensions.u16()?, extensions.list16()?);
        // Of two, one server would take the first and another one the last.
        if kind == SERVER_NAME && named.replace(only_name(data)?).is_some() {
            return Err(Malformed);
        }
    }
    Ok(named)
}

/// Returns the one name that the extension lists.
fn only_name(data: &[u8]) -> Result<Vec<u8>, Malformed> {
    let mut data = Reader(data);
    let mut names = Reader(data.list16()?);
    data.end()?;
    let (kind, name) = (names.take(1)?, names.list16()?);
    names.end()?;
    if kind == [HOST_NAME] && !name.is_empty() { Ok(name.to_vec()) } else { Err(Malformed) }
}

/// What is left to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        self.take(2).map(|bytes| bytes.iter().fold(0, |number, byte| number << 8 | u16::from(*byte)))
    }

    /// Takes bytes behind their number in one byte.
    fn list8(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.take(1)?[0];
        self.take(length.into())
    }

    /// Takes bytes behind their number in two.
    fn list16(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.u16()?;
        self.take(length.into())
    }

    fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &[u8] = b"api.example.org";

    fn list16(bytes: &[u8]) -> Vec<u8> {
        [&u16::try_from(bytes.len()).expect("a list").to_be_bytes(), bytes].concat()
    }

    fn named(kind: u8, name: &[u8]) -> Vec<u8> {
        [&[kind][..], &list16(name)].concat()
    }

    fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
        [&kind.to_be_bytes()[..], &list16(data)].concat()
    }

    fn server_name(name: &[u8]) -> Vec<u8> {
        extension(SERVER_NAME, &list16(&named(HOST_NAME, name)))
    }

    /// Makes a message, without a record, with this in place of its extensions and their length.
    fn message(tail: &[u8]) -> Vec<u8> {
        let body = [&[3, 3][..], &[7; 32], &[1, 9], &list16(&[0x13, 1, 0x13, 2]), &[1, 0], tail].concat();
        let length = u32::try_from(body.len()).expect("a length").to_be_bytes();
        [&[CLIENT_HELLO][..], &length[1..], &body].concat()
    }

    /// Cuts a message into records of so many bytes.
    fn records(message: &[u8], size: usize) -> Vec<u8> {
        let record = |part: &[u8]| [&[HANDSHAKE, 3, 1][..], &list16(part)].concat();
        message.chunks(size).flat_map(record).collect()
    }

    fn hello(extensions: &[Vec<u8>]) -> Vec<u8> {
        records(&message(&list16(&extensions.concat())), MAX_RECORD)
    }

    fn names(name: Option<&[u8]>) -> ClientHello {
        ClientHello::Complete { server_name: name.map(<[u8]>::to_vec) }
    }

    #[test]
    fn the_name_is_found_wherever_it_stands() {
        let (other, grease) = (extension(43, &[2, 3, 4]), extension(0x0a0a, &[]));
        for (bytes, name) in [
            (hello(&[server_name(NAME)]), Some(NAME)),
            (hello(&[grease, other.clone(), server_name(NAME), extension(21, &[0; 5000])]), Some(NAME)),
            (hello(&[server_name(b"\0\xff")]), Some(&b"\0\xff"[..])),
            (hello(&[other]), None),
            (hello(&[]), None),
            (records(&message(&[]), MAX_RECORD), None),
        ] {
            assert_eq!(parse(&bytes), Ok(names(name)));
        }
    }

    #[test]
    fn more_is_wanted_until_it_is_whole_however_it_is_cut() {
        let message = message(&list16(&server_name(NAME)));
        for size in 1..=message.len() {
            let bytes = records(&message, size);
            for length in 0..bytes.len() {
                assert_eq!(
                    parse(&bytes[..length]),
                    Ok(ClientHello::Partial),
                    "{length} of records of {size}"
                );
            }
            assert_eq!(parse(&bytes), Ok(names(Some(NAME))));
            let then = [bytes, b"\x17\x03\x03\x00\x01x".to_vec()].concat();
            assert_eq!(parse(&then), Ok(names(Some(NAME))), "what comes after it is not looked at");
        }
    }

    #[test]
    fn what_is_malformed_is_no_client_hello() {
        let whole = hello(&[server_name(NAME)]);
        let edit = |at: usize, byte: u8| {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            bytes
        };
        let list = |entries: &[u8]| hello(&[extension(SERVER_NAME, &list16(entries))]);
        for (what, bytes) in [
            ("a record of data", edit(0, 23)),
            ("a record of TLS 0.x", edit(1, 2)),
            ("an empty record", [b"\x16\x03\x01\0\0", whole.as_slice()].concat()),
            ("a record that is too long", b"\x16\x03\x01\x40\x01".to_vec()),
            ("an alert between two records", {
                let bytes = records(&message(&[]), 30);
                [&bytes[..35], b"\x15\x03\x01\0\x02\x01\0", &bytes[35..]].concat()
            }),
            ("a ServerHello", edit(5, 2)),
            ("a message that is too long", edit(6, 1)),
            ("a message that ends within its list", records(&message(&[0, 9, 0, 0]), MAX_RECORD)),
            ("half a length", records(&message(&[0]), MAX_RECORD)),
            ("something after the extensions", records(&message(&[0, 0, 0]), MAX_RECORD)),
            ("a second message in the record", records(&[message(&[]), message(&[])].concat(), MAX_RECORD)),
            ("an extension without a length", records(&message(&list16(&[0])), MAX_RECORD)),
            (
                "an extension that is longer than the list",
                records(&message(&list16(&[0, 9, 0, 1])), MAX_RECORD),
            ),
            ("two names", list(&[named(HOST_NAME, b"a"), named(HOST_NAME, b"b")].concat())),
            ("two extensions of names", hello(&[server_name(b"a"), server_name(b"a")])),
            ("a name of another kind", list(&named(1, NAME))),
            ("an empty name", list(&named(HOST_NAME, b""))),
            ("no name", list(b"")),
            ("an empty extension of names", hello(&[extension(SERVER_NAME, b"")])),
            (
                "something after the names",
                hello(&[extension(SERVER_NAME, &[&list16(&named(0, b"a"))[..], b"x"].concat())]),
            ),
        ] {
            assert_eq!(parse(&bytes), Err(Malformed), "{what}");
        }
    }

    #[test]
    fn what_never_ends_is_given_up() {
        let endless = records(&[&[CLIENT_HELLO, 0, 0x7f, 0xff][..], &vec![0; 40_000]].concat(), 1);
        assert_eq!(parse(&endless[..MAX_LENGTH - 1]), Ok(ClientHello::Partial));
        assert_eq!(parse(&endless[..MAX_LENGTH]), Err(Malformed));
    }

    #[test]
    fn no_byte_that_is_changed_makes_it_panic() {
        let whole =
            records(&message(&list16(&[server_name(NAME), extension(16, &[0, 2, 1, b'x'])].concat())), 40);
        for at in 0..whole.len() {
            for byte in 0..=255 {
                let mut bytes = whole.clone();
                bytes[at] = byte;
                let _ = parse(&bytes);
            }
        }
    }
}
