//! Messages of DNS: a query is read, and answered with a message of its own (RFC 1035, RFC 6891). Nothing here looks a name up.

use std::net::{IpAddr, Ipv4Addr};

use hickory_proto::op::{Edns, Header, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, PTR};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use hickory_proto::serialize::binary::{BinDecodable, BinDecoder};
use policy::rules::network::{Host, HostError};

/// How large a query may be, in bytes: what is sent in one packet everywhere (RFC 9715). Ours are answered in less than 512.
pub const MAX_QUERY: u16 = 1232;

/// For how many seconds an answer may be kept. Rules change while a sandbox lives.
const TTL: u32 = 30;

/// How many additional records a query may have: one of EDNS, and a signature.
const MAX_ADDITIONAL: u16 = 2;

/// What arrived.
#[derive(Debug)]
pub enum Received {
    /// No query. It is not answered, so that two servers cannot be made to talk to each other.
    Ignored,
    /// A query that cannot be answered, and the message that says so.
    Refused(Vec<u8>),
    Question(DnsQuestion),
}

/// A question that can be answered.
#[derive(Debug)]
pub struct DnsQuestion {
    header: Header,
    query: Query,
    edns: bool,
}

/// What a question is about.
#[derive(Debug, Eq, PartialEq)]
pub enum Subject {
    /// The root of all names.
    Root,
    /// A host, and which of its addresses.
    Host(Host, Family),
    /// The name of an address.
    Reverse(Option<IpAddr>),
    /// What no host is called, as it is shown.
    NotAHost(String, HostError),
}

/// What is asked of a host.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Family {
    V4,
    V6,
    /// Nothing that a host has here: mail servers, keys, texts.
    Other,
}

/// What is answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DnsAnswer {
    Address(IpAddr),
    Name(String),
    /// The name is there, without anything of this kind.
    Empty,
    NoSuchName,
    /// It could not be found out.
    Failure,
}

/// Reads a message.
pub fn read(bytes: &[u8]) -> Received {
    let Ok(header) = Header::read(&mut BinDecoder::new(bytes)) else {
        return Received::Ignored;
    };
    if header.message_type() == MessageType::Response {
        return Received::Ignored;
    }
    let refused = |code| Received::Refused(refusal(&header, code));
    if header.op_code() != OpCode::Query {
        return refused(ResponseCode::NotImp);
    }
    // The numbers of records come first: memory is set aside by them before a record is read.
    let counts = (header.query_count(), header.answer_count(), header.name_server_count());
    if bytes.len() > MAX_QUERY.into() || counts != (1, 0, 0) || header.additional_count() > MAX_ADDITIONAL {
        return refused(ResponseCode::FormErr);
    }
    let Ok(mut message) = Message::from_vec(bytes) else {
        return refused(ResponseCode::FormErr);
    };
    let Some(query) = message.take_queries().pop() else {
        return refused(ResponseCode::FormErr);
    };
    let question = DnsQuestion { header, query, edns: message.extensions().is_some() };
    if message.extensions().as_ref().is_some_and(|edns| edns.version() != 0) {
        return Received::Refused(question.reply_with(ResponseCode::BADVERS, None));
    }
    let transfer = matches!(question.query.query_type(), RecordType::AXFR | RecordType::IXFR);
    if question.query.query_class() != DNSClass::IN || transfer {
        return Received::Refused(question.reply_with(ResponseCode::NotImp, None));
    }
    Received::Question(question)
}

impl DnsQuestion {
    /// Returns what it is about.
    pub fn subject(&self) -> Subject {
        let name = self.query.name();
        if name.is_root() {
            return Subject::Root;
        }
        reverse(name).unwrap_or_else(|| match host(name) {
            Ok(host) => Subject::Host(host, self.family()),
            Err(error) => Subject::NotAHost(name.to_ascii(), error),
        })
    }

    /// Answers it.
    pub fn reply(&self, answer: &DnsAnswer) -> Vec<u8> {
        let data = match answer {
            DnsAnswer::Address(IpAddr::V4(address)) => Some(RData::A(A(*address))),
            DnsAnswer::Address(IpAddr::V6(address)) => Some(RData::AAAA(AAAA(*address))),
            DnsAnswer::Name(name) => {
                Name::from_ascii(format!("{name}.")).ok().map(|name| RData::PTR(PTR(name)))
            }
            DnsAnswer::Empty | DnsAnswer::NoSuchName | DnsAnswer::Failure => None,
        };
        let code = match answer {
            DnsAnswer::NoSuchName => ResponseCode::NXDomain,
            DnsAnswer::Failure => ResponseCode::ServFail,
            _ => ResponseCode::NoError,
        };
        self.reply_with(code, data)
    }

    fn family(&self) -> Family {
        match self.query.query_type() {
            RecordType::A => Family::V4,
            RecordType::AAAA => Family::V6,
            _ => Family::Other,
        }
    }

    fn reply_with(&self, code: ResponseCode, data: Option<RData>) -> Vec<u8> {
        let mut message = Message::new();
        message.set_header(response(&self.header, code));
        // The question as it came, upper and lower case included: some clients compare (draft-vixie-dnsext-dns0x20).
        message.add_query(self.query.clone());
        if let Some(data) = data {
            message.add_answer(Record::from_rdata(self.query.name().clone(), TTL, data));
        }
        if self.edns {
            let mut edns = Edns::new();
            edns.set_max_payload(MAX_QUERY).set_version(0);
            message.set_edns(edns);
        }
        message.to_vec().unwrap_or_else(|_| refusal(&self.header, ResponseCode::ServFail))
    }
}

/// Makes the header of an answer. Recursion is available, as resolvers of libraries want it (Go's ignores an empty answer otherwise).
fn response(query: &Header, code: ResponseCode) -> Header {
    let mut header = Header::response_from_request(query);
    header
        .set_recursion_available(true)
        .set_authoritative(false)
        .set_authentic_data(false)
        .set_response_code(code);
    header
}

/// Refuses what has no question that could be repeated.
fn refusal(query: &Header, code: ResponseCode) -> Vec<u8> {
    let mut message = Message::new();
    message.set_header(response(query, code));
    message.to_vec().unwrap_or_default()
}

/// Returns the host of a name, by the rules that a host obeys everywhere else.
fn host(name: &Name) -> Result<Host, HostError> {
    let mut text = String::new();
    for label in name {
        let label = String::from_utf8_lossy(label);
        if label.contains('.') {
            // A dot within a label would become one between two.
            return Err(HostError::Character { given: name.to_ascii(), character: '.' });
        }
        text.push_str(&label);
        text.push('.');
    }
    text.parse()
}

/// Returns the address whose name is asked for, if it is that (RFC 1035, section 3.5; RFC 3596, section 2.5).
fn reverse(name: &Name) -> Option<Subject> {
    let text = name.to_ascii().to_ascii_lowercase();
    if let Some(labels) = text.strip_suffix(".in-addr.arpa.") {
        let forward: Vec<&str> = labels.rsplit('.').collect();
        return Some(Subject::Reverse(forward.join(".").parse::<Ipv4Addr>().ok().map(IpAddr::V4)));
    }
    let labels = text.strip_suffix(".ip6.arpa.")?;
    let digits: String = labels.rsplit('.').collect();
    let is_whole = digits.len() == 32 && labels.len() == 63;
    let number = is_whole.then(|| u128::from_str_radix(&digits, 16).ok()).flatten();
    Some(Subject::Reverse(number.map(|number| IpAddr::V6(number.into()))))
}
