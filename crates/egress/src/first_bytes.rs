//! What a client says first to an address that stands for a name: TLS and HTTP say a name themselves, and it must be that one.
//!
//! Otherwise a program could connect to a name that is allowed, at a server that serves many, and ask there for one that is not
//! (domain fronting). Of an encrypted `ClientHello`, the outer name counts. What cannot be seen: names within TLS, whose `ClientHello` may name one host and whose requests another; a
//! protocol that begins plain and goes over to TLS (STARTTLS, databases); HTTP/2 without TLS; requests of HTTP after the first on a connection.

use policy::rules::network::Host;

use crate::client_hello::{self, ClientHello, HANDSHAKE};
use crate::limits::MAX_HEAD;

/// How many headers it may have.
const MAX_HEADERS: usize = 128;

/// How the two forms of the PROXY protocol's header begin. Where a server takes one from anybody, TLS or a request follows.
const PROXY: [&[u8]; 2] = [b"PROXY ", b"\r\n\r\n\0"];

/// The type of a record with an alert: its level follows behind the length.
const ALERT: u8 = 21;
/// The type of a record that changes the cipher.
const CHANGE_CIPHER: u8 = 20;

/// How HTTP/2 without TLS begins (RFC 9113, section 3.4). Its names are compressed.
const HTTP_2: &[u8] = b"PRI * HTTP/2.0";

/// Where a client has connected to.
#[derive(Clone, Copy, Debug)]
pub struct Meant<'a> {
    pub name: &'a str,
    pub port: u16,
}

/// What first bytes say.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Classification {
    /// Too little to know.
    Undecided,
    /// They may pass.
    Pass,
    /// They may not.
    Refuse { protocol: Protocol, reason: String },
}

/// What a client speaks, as far as it matters for how it is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    Tls,
    Http,
    Other,
}

/// Says what a client speaks that has begun with these bytes.
pub fn protocol(bytes: &[u8]) -> Protocol {
    match bytes {
        _ if is_record(bytes) == Some(true) => Protocol::Tls,
        _ if is_request(bytes) == Some(true) => Protocol::Http,
        _ => Protocol::Other,
    }
}

/// Classifies the bytes that a client has sent so far.
pub fn classify(bytes: &[u8], meant: Meant<'_>) -> Classification {
    match is_record(bytes) {
        Some(true) => return tls(bytes, meant),
        None => return Classification::Undecided,
        Some(false) => {}
    }
    if PROXY.iter().any(|begin| bytes.starts_with(begin)) {
        return refuse(Protocol::Other, "a header of the PROXY protocol comes first".into());
    }
    match (bytes, is_request(bytes)) {
        // A ClientHello in the form of SSL 2, which some servers still take (RFC 5246, appendix E.2): it can name no server. What
        // begins with 255 is telnet.
        ([0x80..=0xfe, _, 1, 3, ..], _) => {
            let reason =
                format!("the TLS ClientHello has the form of SSL 2, which cannot name `{}`", meant.name);
            refuse(Protocol::Tls, reason)
        }
        ([] | [0x80..=0xfe] | [0x80..=0xfe, _] | [0x80..=0xfe, _, 1], _) => Classification::Undecided,
        (_, Some(true)) => http(bytes, meant),
        (_, Some(false)) => Classification::Pass,
        (_, None) if bytes.len() < MAX_HEAD => Classification::Undecided,
        (_, None) => refuse(Protocol::Other, "the first line is too long".into()),
    }
}

/// Returns whether bytes begin a record of TLS (RFC 8446, section 5.1), once that is known. Only a handshake is one to begin with, but some
/// servers skip an alert before it that is no more than a warning, or a change of the cipher, whatever version the record has. By the type
/// alone, messages of other protocols that begin with their length would be records, too (databases): a byte of 0 follows there.
fn is_record(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [HANDSHAKE, ..]
        | [20..=26, 3, 1..=4, ..]
        | [CHANGE_CIPHER, _, _, 0, 1, 1, ..]
        | [ALERT, _, _, 0..=0x40, _, 1 | 2, ..] => Some(true),
        [] | [20..=26] | [20..=26, 3] => None,
        [CHANGE_CIPHER | ALERT, rest @ ..] if rest.len() < 5 => None,
        _ => Some(false),
    }
}

/// Returns whether bytes begin a request of HTTP/1, once that is known: a method without small letters, and a first line that has a version.
fn is_request(bytes: &[u8]) -> Option<bool> {
    // Servers skip empty lines before a request (RFC 9112, section 2.2), and some skip white space.
    let start = bytes.iter().position(|byte| *byte != b'\r' && *byte != b'\n' && !is_blank(*byte))?;
    let bytes = &bytes[start..];
    // Small letters begin too much else that would have to wait for its end; few servers take them for a method.
    let is_of_method = |byte: &&u8| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.');
    let method = bytes.iter().take_while(is_of_method).count();
    match (method, bytes.get(method)) {
        (0, _) => Some(false),
        (_, None) => None,
        // Some servers take any white space for the one space.
        (_, Some(byte)) if is_blank(*byte) => {
            let line = &bytes[..bytes.iter().position(|byte| *byte == b'\n')?];
            let has_version = line.windows(5).any(|part| part.eq_ignore_ascii_case(b"HTTP/"));
            Some(has_version && !line.starts_with(HTTP_2))
        }
        _ => Some(false),
    }
}

/// Returns whether some server takes a byte for white space: those that read a request as Latin-1 take the separators of ASCII and two of
/// the C1 range, too.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c | 0x1c..=0x1f | 0x85 | 0xa0)
}

fn tls(bytes: &[u8], meant: Meant<'_>) -> Classification {
    let name = match client_hello::parse(bytes) {
        Ok(ClientHello::Partial) => return Classification::Undecided,
        Ok(ClientHello::Complete { server_name }) => server_name,
        Err(error) => return refuse(Protocol::Tls, error.to_string()),
    };
    let Some(name) = name else {
        let reason = format!("the TLS ClientHello names no server (SNI); it must name `{}`", meant.name);
        return refuse(Protocol::Tls, reason);
    };
    let name = String::from_utf8_lossy(&name);
    if is_meant(&name, meant) {
        return Classification::Pass;
    }
    refuse(
        Protocol::Tls,
        format!("the TLS ClientHello names {name:?}, and the connection is to `{}`", meant.name),
    )
}

fn http(bytes: &[u8], meant: Meant<'_>) -> Classification {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) if bytes.len() < MAX_HEAD => return Classification::Undecided,
        Ok(httparse::Status::Partial) => {
            return refuse(Protocol::Http, "the head of the request is too large".into());
        }
        Ok(httparse::Status::Complete(_)) => {}
        Err(error) => return refuse(Protocol::Http, format!("the request is malformed: {error}")),
    }
    let mut hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    let (host, other) = (hosts.next(), hosts.next());
    let host = host.filter(|_| other.is_none()).map(|header| String::from_utf8_lossy(header.value));
    let Some(host) = host else {
        let reason = format!("the request has not one `Host` header; it must name `{}`", meant.name);
        return refuse(Protocol::Http, reason);
    };
    // A whole URL wins over the header (RFC 9112, section 3.2.2).
    let authority = match request.path.unwrap_or_default() {
        "*" => None,
        path if path.starts_with('/') => None,
        url => Some(
            url.split_once("://").map_or(url, |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or(rest)),
        ),
    };
    for named in [Some(host.as_ref()), authority].into_iter().flatten() {
        if request.method == Some("CONNECT") || !is_authority_meant(named.trim(), meant) {
            let reason = format!("the request is for {named:?}, and the connection is to `{}`", meant.name);
            return refuse(Protocol::Http, reason);
        }
    }
    Classification::Pass
}

fn is_authority_meant(authority: &str, meant: Meant<'_>) -> bool {
    match authority.split_once(':') {
        Some((name, port)) => is_meant(name, meant) && port.parse() == Ok(meant.port),
        None => is_meant(authority, meant),
    }
}

fn is_meant(name: &str, meant: Meant<'_>) -> bool {
    name.parse() == Ok(Host::Name(meant.name.to_owned()))
}

fn refuse(protocol: Protocol, reason: String) -> Classification {
    Classification::Refuse { protocol, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEANT: Meant<'_> = Meant { name: "api.example.org", port: 8080 };

    #[test]
    fn only_what_could_still_be_tls_or_http_is_undecided() {
        for (bytes, undecided) in [
            (&b""[..], true),
            (b"\x16", true),
            (b"\x80\x2e\x01", true),
            (b"\x80\x2e\x02", false),
            (b"\xff", false),
            (b"\r\n", true),
            (b"G", true),
            (b"SSH-2", true),
            (b"SSH-2.0-x\r", false),
            (b"PING", true),
            (b"PING\r", false),
            (b"USER me", true),
            (b"USER me\r\n", false),
            (b"GET /\r\n", false),
            (b"GET / HTTP/1.1\r\n", true),
            (b"get / HTTP/1.1", false),
            (b"hello", false),
            (b"get /\r\n", false),
            (b"\0", false),
            (b"*", false),
            (b"\x15", true),
            (b"\x15\x02\0\0\x02", true),
            (b"\x14", true),
            (b"\x14\x02", true),
            (b"\x14\x02\0\0\x02\0", false),
            (b"PROXY", true),
            (b"\r\n\r\n", true),
        ] {
            assert_eq!(
                classify(bytes, MEANT) == Classification::Undecided,
                undecided,
                "{}",
                bytes.escape_ascii()
            );
        }
    }

    #[test]
    fn what_some_server_takes_for_a_request_names_the_host_or_is_refused() {
        for begins in [
            &b" GET / HTTP/1.1"[..],
            b"\tG1 / HTTP/1.1",
            b"M.SEARCH / HTTP/1.1",
            b"GET / http/1.1",
            b"\x0bGET / HTTP/1.1",
            b"\x1cGET\x1f/ HTTP/1.1",
            b"\x85GET / HTTP/1.1",
            b"\xa0\xa0GET\xa0/ HTTP/1.1",
        ] {
            let request = [begins, b"\r\nHost: other.example.org\r\n\r\n"].concat();
            let classified = classify(&request, MEANT);
            let begins = begins.escape_ascii();
            assert!(matches!(classified, Classification::Refuse { .. }), "{begins}: {classified:?}");
        }
    }

    #[test]
    fn what_a_server_skips_before_a_client_hello_is_refused() {
        for (begins, protocol) in [
            (&b"\x15\x03\x01\0\x02\x01\x5a"[..], Protocol::Tls),
            // Servers in Java and Go do not mind the version of this record.
            (b"\x15\x02\0\0\x02\x01\x5a", Protocol::Tls),
            (b"\x15\0\0\0\x04\x01\x5a\x01\x5a", Protocol::Tls),
            (b"\x14\x03\x03\0\x01\x01", Protocol::Tls),
            (b"\x17\x03\x03\0\x01\0", Protocol::Tls),
            (b"\x18\x03\x03\0\x03\x01\0\0", Protocol::Tls),
            (b"\x1a\x03\x03\0\x01\0", Protocol::Tls),
            (b"PROXY TCP4 192.0.2.1 192.0.2.2 1 443\r\n", Protocol::Other),
            (b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", Protocol::Other),
        ] {
            for end in 1..begins.len() {
                let part = classify(&begins[..end], MEANT);
                assert_ne!(part, Classification::Pass, "{}", begins[..end].escape_ascii());
            }
            let classified = classify(begins, MEANT);
            let Classification::Refuse { protocol: refused, .. } = classified else {
                panic!("{}: {classified:?}", begins.escape_ascii())
            };
            assert_eq!(refused, protocol, "{}", begins.escape_ascii());
        }
        // The control: messages of MySQL and MongoDB begin with their length.
        for begins in [
            &b"\x15\x01\0\x01\x85\xa6\xff\x01"[..],
            b"\x15\x01\0\0\x02\0\0\0",
            b"\x18\x01\0\x01",
            b"\x14\x03\0\0\x01\0\0\0",
            b"\x1a\x03\0\0",
        ] {
            assert_eq!(classify(begins, MEANT), Classification::Pass, "{}", begins.escape_ascii());
        }
    }

    #[test]
    fn the_port_counts_where_it_is_written() {
        for (host, pass) in [
            ("api.example.org", true),
            ("API.example.ORG.:8080", true),
            ("api.example.org:80", false),
            ("api.example.org:", false),
            ("api.example.org:08080", true),
            ("api.example.org:8080:1", false),
            ("user@api.example.org", false),
            ("api.example.org, b.example.org", false),
            ("", false),
        ] {
            let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(classify(request.as_bytes(), MEANT) == Classification::Pass, pass, "{host}");
        }
    }

    #[test]
    fn what_never_ends_is_given_up() {
        for (begins, goes_on) in [("GET /", "a"), ("GET / HTTP/1.1\r\nX: ", "a"), ("", "A"), ("", "\r\n")] {
            let bytes = format!("{begins}{}", goes_on.repeat(MAX_HEAD));
            assert_eq!(
                classify(&bytes.as_bytes()[..MAX_HEAD - 1], MEANT),
                Classification::Undecided,
                "{begins}{goes_on}"
            );
            let whole = classify(bytes.as_bytes(), MEANT);
            assert!(matches!(whole, Classification::Refuse { .. }), "{begins}{goes_on}: {whole:?}");
        }
    }
}
