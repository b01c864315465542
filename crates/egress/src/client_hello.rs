//! The first message of a TLS client, and the server that it names (RFC 8446, section 4.1.2; RFC 6066, section 3).
//!
//! The message may come in any number of records, and those in any number of segments: as long as it is not whole, more is wanted.

/// How many bytes of records are looked at. A message of a browser has less than 2 KiB, with keys of the time after quanta too; what
/// comes one byte in a record takes six times as many.
pub const MAX_LENGTH: usize = 32 << 10;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// How large a record may be (RFC 8446, section 5.1).
const MAX_RECORD: usize = 1 << 14;

/// How far the bytes go.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ClientHello {
    /// It goes on.
    Partial,
    /// It is whole.
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
