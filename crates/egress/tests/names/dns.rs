//! The DNS server, asked over real sockets, and what it makes of messages of every malformed kind.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use egress::dns;
use egress::dns::message::{Received, read};
use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RData, RecordType};
use policy::rules::network::Host;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use crate::inside::{Sandbox, Taken, sandbox};

/// Serves the names, and returns a socket that is connected to the server, and where it listens for connections.
async fn serve(sandbox: &Sandbox) -> (UdpSocket, SocketAddr) {
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    client.connect(udp.local_addr().unwrap()).await.unwrap();
    let at = tcp.local_addr().unwrap();
    tokio::spawn(dns::serve(sandbox.names.clone(), udp, tcp));
    (client, at)
}

fn query(name: &str, kind: RecordType) -> Message {
    query_of(Name::from_ascii(name).unwrap(), kind)
}

fn query_of(name: Name, kind: RecordType) -> Message {
    let mut message = Message::new();
    message.set_id(7).set_recursion_desired(true).add_query(Query::query(name, kind));
    message
}

async fn exchange(client: &UdpSocket, query: &[u8]) -> Message {
    client.send(query).await.unwrap();
    let mut buffer = [0; 4096];
    let length = client.recv(&mut buffer).await.unwrap();
    assert!(length <= 512, "every answer fits into the smallest packet");
    Message::from_vec(&buffer[..length]).unwrap()
}

async fn ask(client: &UdpSocket, name: &str, kind: RecordType) -> Message {
    ask_for(client, Name::from_ascii(name).unwrap(), kind).await
}

async fn ask_for(client: &UdpSocket, name: Name, kind: RecordType) -> Message {
    let query = query_of(name, kind);
    let reply = exchange(client, &query.to_vec().unwrap()).await;
    assert_eq!(
        (reply.id(), reply.message_type(), reply.queries()),
        (7, MessageType::Response, query.queries())
    );
    assert!(reply.recursion_desired() && reply.recursion_available());
    reply
}

fn address(reply: &Message) -> Ipv4Addr {
    match reply.answers() {
        [answer] => match answer.data() {
            RData::A(address) => address.0,
            other => panic!("{other}"),
        },
        other => panic!("{} {other:?}", reply.response_code()),
    }
}

#[tokio::test]
async fn a_name_that_is_allowed_has_an_address_of_its_own_with_listeners_on_its_ports() {
    let sandbox = sandbox(&["api.example.org:443", "db.example.org:5432", "*.example.net"]);
    let (client, _) = serve(&sandbox).await;
    let reply = ask(&client, "aPi.ExAmPlE.oRg.", RecordType::A).await;
    let api = address(&reply);
    assert!(api.octets()[0] == 127 && (64..128).contains(&api.octets()[1]), "{api}");
    assert!(reply.answers()[0].ttl() <= 60);
    assert_eq!(reply.answers()[0].name().to_ascii(), "aPi.ExAmPlE.oRg.", "upper and lower case come back");
    assert_eq!(reply.queries()[0].name().to_ascii(), "aPi.ExAmPlE.oRg.");
    assert_eq!(address(&ask(&client, "api.example.org.", RecordType::A).await), api);
    assert_eq!(sandbox.listeners.ports(api), [443]);

    let any = address(&ask(&client, "any.example.net.", RecordType::A).await);
    assert_ne!(any, api);
    assert_eq!(sandbox.listeners.ports(any), [22, 80, 443, 5432, 9418]);
    assert_eq!(sandbox.log.lines().len(), 0, "what is allowed is recorded when it is connected to");
}

#[tokio::test]
async fn a_name_that_no_rule_allows_is_not_there_and_is_recorded_once() {
    let sandbox = sandbox(&["api.example.org:443", "*.example.net"]);
    let (client, _) = serve(&sandbox).await;
    for _ in 0..3 {
        for (name, kind) in [
            (&b"evil|example|org"[..], RecordType::A),
            (b"evil|example|org", RecordType::TXT),
            (b"example|net", RecordType::AAAA),
            (b"a|api|example|org", RecordType::A),
            (b"192|0|2|1", RecordType::A),
            (b"2130706433", RecordType::A),
            (b"a\0b|example|net", RecordType::A),
            (b"a|example.net", RecordType::A),
            (b"-a|example|net", RecordType::A),
            (b"b\xc3\xbccher|example|net", RecordType::A),
            (b"evil|in-addr|arpa|example|org", RecordType::PTR),
        ] {
            let labels = Name::from_labels(name.split(|byte| *byte == b'|')).unwrap();
            let reply = ask_for(&client, labels, kind).await;
            let name = name.escape_ascii();
            assert_eq!((reply.response_code(), reply.answers().len()), (ResponseCode::NXDomain, 0), "{name}");
        }
    }
    let lines = sandbox.log.lines();
    let hosts: Vec<&str> = lines.iter().map(|line| line["host"].as_str().unwrap()).collect();
    let expected = [
        "evil.example.org", "example.net", "a.api.example.org", "192.0.2.1", "2130706433.",
        "a\\000b.example.net.", "a.example\\.net.", "\\-a.example.net.", "b\\303\\274cher.example.net.",
        "evil.in-addr.arpa.example.org",
    ];
    assert_eq!(hosts, expected);
    assert!(lines.iter().all(|line| line["via"] == "dns" && line["verdict"] == "deny"), "{lines:?}");
    assert!(
        lines[0]["rule"].as_str().unwrap().contains("matches nothing in `[network] allow`"),
        "{}",
        lines[0]
    );
}

#[tokio::test]
async fn names_in_great_number_do_not_fill_the_log() {
    let sandbox = sandbox(&["api.example.org:443"]);
    let (client, _) = serve(&sandbox).await;
    for number in 0..3000 {
        let reply = ask(&client, &format!("{number}.example.com."), RecordType::A).await;
        assert_eq!(reply.response_code(), ResponseCode::NXDomain);
    }
    let lines = sandbox.log.lines();
    assert_eq!((lines.len(), lines[1024]["host"].as_str()), (1025, Some("*")));
}

#[tokio::test]
async fn other_records_of_a_name_that_is_allowed_are_empty() {
    let sandbox = sandbox(&["api.example.org:443"]);
    let (client, _) = serve(&sandbox).await;
    for kind in [
        RecordType::AAAA,
        RecordType::ANY,
        RecordType::CNAME,
        RecordType::HTTPS,
        RecordType::MX,
        RecordType::NS,
        RecordType::SOA,
        RecordType::SRV,
        RecordType::SVCB,
        RecordType::TXT,
        RecordType::Unknown(65432),
    ] {
        let reply = ask(&client, "api.example.org.", kind).await;
        assert_eq!((reply.response_code(), reply.answers().len()), (ResponseCode::NoError, 0), "{kind}");
    }
    let root = ask(&client, ".", RecordType::NS).await;
    assert_eq!((root.response_code(), root.answers().len()), (ResponseCode::NoError, 0));
    assert_eq!(sandbox.log.lines().len(), 0);
}

#[tokio::test]
async fn addresses_have_names_again() {
    let sandbox = sandbox(&["api.example.org:443"]);
    let (client, _) = serve(&sandbox).await;
    let [a, b, c, d] = address(&ask(&client, "api.example.org.", RecordType::A).await).octets();
    let ours = format!("{d}.{c}.{b}.{a}.in-addr.arpa.");
    let loopback_6 = format!("1.{}ip6.arpa.", "0.".repeat(31));
    for (asked, name) in [
        (ours.as_str(), Some("api.example.org.")),
        ("1.0.0.127.in-addr.arpa.", Some("localhost.")),
        (loopback_6.as_str(), Some("localhost.")),
        ("9.255.127.127.in-addr.arpa.", None),
        ("8.8.8.8.in-addr.arpa.", None),
        ("8.8.in-addr.arpa.", None),
        ("x.0.0.127.in-addr.arpa.", None),
        ("1.ip6.arpa.", None),
    ] {
        let reply = ask(&client, asked, RecordType::PTR).await;
        let found = reply.answers().first().map(|answer| answer.data().to_string());
        assert_eq!(found.as_deref(), name, "{asked}");
        assert_eq!(reply.response_code() == ResponseCode::NXDomain, name.is_none(), "{asked}");
    }
    assert_eq!(sandbox.log.lines().len(), 0);
}

#[tokio::test]
async fn localhost_is_the_loopback_inside() {
    let sandbox = sandbox(&["localhost:11434"]);
    let (client, _) = serve(&sandbox).await;
    for name in ["localhost.", "LocalHost.", "a.b.localhost."] {
        assert_eq!(address(&ask(&client, name, RecordType::A).await), Ipv4Addr::LOCALHOST);
        let reply = ask(&client, name, RecordType::AAAA).await;
        assert_eq!(reply.answers()[0].data().to_string(), "::1");
        let reply = ask(&client, name, RecordType::MX).await;
        assert_eq!((reply.response_code(), reply.answers().len()), (ResponseCode::NoError, 0));
    }
}

#[tokio::test]
async fn a_server_inside_that_has_the_port_is_named() {
    let sandbox = sandbox(&["api.example.org:443", "any.example.org", "web.example.org:8443"]);
    let (client, _) = serve(&sandbox).await;
    let first = Ipv4Addr::new(127, 64, 0, 1);
    sandbox.listeners.take(Taken::At(SocketAddrV4::new(first, 8443)));
    let web = address(&ask(&client, "web.example.org.", RecordType::A).await);
    assert_eq!(
        (web, sandbox.listeners.ports(web)),
        (Ipv4Addr::new(127, 64, 0, 2), vec![8443]),
        "the next one is tried"
    );

    sandbox.listeners.take(Taken::Everywhere { port: 443 });
    for _ in 0..2 {
        let reply = ask(&client, "api.example.org.", RecordType::A).await;
        assert_eq!((reply.response_code(), reply.answers().len()), (ResponseCode::ServFail, 0));
    }
    // Without a port of its own, a name has those that are free.
    let any = address(&ask(&client, "any.example.org.", RecordType::A).await);
    assert_eq!(sandbox.listeners.ports(any), [22, 80, 8443, 9418]);
    let lines = sandbox.log.lines();
    let seen: Vec<_> =
        lines.iter().map(|line| (line["host"].as_str().unwrap(), line["port"].as_u64().unwrap())).collect();
    assert_eq!(seen, [("api.example.org", 443), ("any.example.org", 443)]);
    assert!(
        lines[0]["error"].as_str().unwrap().contains("a program inside listens on port 443"),
        "{}",
        lines[0]
    );
}

#[tokio::test]
async fn who_asks_for_a_name_at_the_same_time_gets_the_same_address() {
    let sandbox = sandbox(&["*.example.org:443"]);
    let host: Host = "a.example.org".parse().unwrap();
    let (one, other) = tokio::join!(sandbox.names.address(&host), sandbox.names.address(&host));
    assert_eq!(one.unwrap(), other.unwrap());
}

#[tokio::test(start_paused = true)]
async fn listeners_that_do_not_come_keep_nobody_else_waiting() {
    let sandbox = sandbox(&["*.example.org:443", "any.example.net", "web.example.net:8443"]);
    let (client, _) = serve(&sandbox).await;
    let known = address(&ask(&client, "a.example.org.", RecordType::A).await);
    sandbox.listeners.take(Taken::Never);
    let waiting = query("any.example.net.", RecordType::A).to_vec().unwrap();
    client.send(&waiting).await.unwrap();
    assert_eq!(address(&ask(&client, "a.example.org.", RecordType::A).await), known);
    let mut buffer = [0; 512];
    let length = client.recv(&mut buffer).await.unwrap();
    assert_eq!(Message::from_vec(&buffer[..length]).unwrap().response_code(), ResponseCode::ServFail);
    assert_eq!(sandbox.log.lines().len(), 1, "one port after the other is not waited for");
}

#[tokio::test]
async fn rules_that_change_change_names() {
    let sandbox = sandbox(&["a.example.org:443", "b.example.org:443"]);
    let (client, _) = serve(&sandbox).await;
    let first = address(&ask(&client, "a.example.org.", RecordType::A).await);
    sandbox.allow(&["a.example.org:443", "a.example.org:22"]);
    let second = address(&ask(&client, "a.example.org.", RecordType::A).await);
    assert_ne!(first, second, "the listeners of an address stay what they are");
    assert_eq!(sandbox.listeners.ports(second), [22, 443]);
    assert_eq!(ask(&client, "b.example.org.", RecordType::A).await.response_code(), ResponseCode::NXDomain);
    sandbox.allow(&["b.example.org:443"]);
    assert_eq!(ask(&client, "a.example.org.", RecordType::A).await.response_code(), ResponseCode::NXDomain);
    address(&ask(&client, "b.example.org.", RecordType::A).await);
}

#[tokio::test(start_paused = true)]
async fn a_port_that_was_taken_is_tried_again_after_a_while() {
    let sandbox = sandbox(&["any.example.org"]);
    let host: Host = "any.example.org".parse().unwrap();
    sandbox.listeners.take(Taken::Everywhere { port: 80 });
    let first = sandbox.names.address(&host).await.unwrap();
    sandbox.listeners.give_back();
    assert_eq!(sandbox.names.address(&host).await.unwrap(), first);
    tokio::time::advance(Duration::from_secs(60)).await;
    let second = sandbox.names.address(&host).await.unwrap();
    let ports = [first, second].map(|address| sandbox.listeners.ports(address));
    assert_eq!(ports, [vec![22, 443, 9418], vec![22, 80, 443, 9418]]);
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(sandbox.names.address(&host).await.unwrap(), second);
}

#[tokio::test]
async fn edns_is_answered_and_its_later_versions_are_refused() {
    let sandbox = sandbox(&["api.example.org:443"]);
    let (client, _) = serve(&sandbox).await;
    assert!(ask(&client, "api.example.org.", RecordType::A).await.extensions().is_none());
    for (version, code) in [(0, ResponseCode::NoError), (1, ResponseCode::BADVERS)] {
        let mut edns = Edns::new();
        edns.set_max_payload(4096).set_version(version).set_dnssec_ok(true);
        let mut query = query("api.example.org.", RecordType::A);
        query.set_edns(edns);
        let reply = exchange(&client, &query.to_vec().unwrap()).await;
        assert_eq!(u16::from(reply.response_code()), u16::from(code));
        let edns = reply.extensions().as_ref().unwrap();
        assert_eq!((edns.version(), edns.max_payload(), edns.flags().dnssec_ok), (0, 1232, false));
        assert_eq!(reply.answers().len(), usize::from(version == 0));
    }
}

/// What becomes of a message.
#[derive(Debug, PartialEq)]
enum Outcome {
    Ignored,
    Question,
    Refused(ResponseCode),
}

fn outcome(bytes: &[u8]) -> Outcome {
    match read(bytes) {
        Received::Ignored => Outcome::Ignored,
        Received::Question(_) => Outcome::Question,
        Received::Refused(reply) => {
            let reply = Message::from_vec(&reply).unwrap();
            assert_eq!((reply.message_type(), reply.answers().len()), (MessageType::Response, 0));
            Outcome::Refused(reply.response_code())
        }
    }
}

#[test]
fn messages_that_are_malformed_are_refused_or_ignored() {
    let whole = query("api.example.org.", RecordType::A).to_vec().unwrap();
    let edit = |at: usize, bytes: &[u8]| {
        let mut message = whole.clone();
        message[at..at + bytes.len()].copy_from_slice(bytes);
        message
    };
    // A header with one question, and then these bytes.
    let with = |rest: &[u8]| [&whole[..12], rest].concat();
    assert_eq!(outcome(&whole), Outcome::Question);
    for length in 0..whole.len() {
        let expected = if length < 12 { Outcome::Ignored } else { Outcome::Refused(ResponseCode::FormErr) };
        assert_eq!(outcome(&whole[..length]), expected, "{length} bytes");
    }
    let form_error = || Outcome::Refused(ResponseCode::FormErr);
    let not_implemented = || Outcome::Refused(ResponseCode::NotImp);
    let of_class = |class| {
        let mut message = query("api.example.org.", RecordType::A);
        message.queries_mut()[0].set_query_class(class);
        message.to_vec().unwrap()
    };
    let question = |labels: &[u8]| with(&[labels, &[0, 1, 0, 1]].concat());
    let long_name = [&[&[63][..], &[b'a'; 63]].concat().repeat(4)[..], &[0]].concat();
    let mut updating = query("api.example.org.", RecordType::A);
    updating.set_op_code(OpCode::Update);
    for (what, bytes, expected) in [
        ("a response", edit(2, &[0x81, 0x80]), Outcome::Ignored),
        ("a response with a reserved operation", edit(2, &[0xf9, 0x80]), Outcome::Ignored),
        ("an update", updating.to_vec().unwrap(), not_implemented()),
        ("a reserved operation", edit(2, &[0x79, 0]), not_implemented()),
        ("no question", edit(4, &[0, 0]), form_error()),
        ("two questions", edit(4, &[0, 2]), form_error()),
        ("65535 questions", edit(4, &[0xff, 0xff]), form_error()),
        ("an answer", edit(6, &[0, 1]), form_error()),
        ("65535 answers", edit(6, &[0xff, 0xff]), form_error()),
        ("an authority", edit(8, &[0, 1]), form_error()),
        ("an additional record that is not there", edit(10, &[0, 1]), form_error()),
        ("65535 additional records", edit(10, &[0xff, 0xff]), form_error()),
        ("a name that points to itself", question(&[0xc0, 12]), form_error()),
        ("a name that points forward", question(&[0xc0, 200]), form_error()),
        ("a name that points into itself", question(&[1, b'a', 0xc0, 12]), form_error()),
        // One byte of NUL there is a label, and so no host.
        ("a name that points to the header", question(&[1, b'a', 0xc0, 2]), Outcome::Question),
        ("half a pointer", with(&[0xc0]), form_error()),
        ("a label of a reserved kind", question(&[0x41, 1, 0]), form_error()),
        ("a label that is longer than the message", with(&[63, b'a']), form_error()),
        ("a name without an end", with(&[1, b'a']), form_error()),
        ("a name of 257 bytes", question(&long_name), form_error()),
        ("a name without a type", with(&[1, b'a', 0]), form_error()),
        ("more than may be", [whole.clone(), vec![0; 1232]].concat(), form_error()),
        (
            "two records of EDNS",
            {
                let record = [0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 0];
                [edit(10, &[0, 2]), record.repeat(2)].concat()
            },
            form_error(),
        ),
        (
            "EDNS that ends early",
            [edit(10, &[0, 1]), vec![0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 9, 1]].concat(),
            form_error(),
        ),
        ("of the class CH", of_class(DNSClass::CH), not_implemented()),
        ("of any class", of_class(DNSClass::ANY), not_implemented()),
        ("of the class NONE", of_class(DNSClass::NONE), not_implemented()),
        ("a transfer", query("api.example.org.", RecordType::AXFR).to_vec().unwrap(), not_implemented()),
    ] {
        assert_eq!(outcome(&bytes), expected, "{what}");
    }
}

#[tokio::test]
async fn the_server_lives_on_after_what_is_malformed() {
    let sandbox = sandbox(&["api.example.org:443"]);
    let (client, _) = serve(&sandbox).await;
    let whole = query("api.example.org.", RecordType::A).to_vec().unwrap();
    for length in 0..12 {
        client.send(&whole[..length]).await.unwrap();
    }
    let reply = exchange(&client, &whole[..20]).await;
    assert_eq!((reply.id(), reply.response_code()), (7, ResponseCode::FormErr));
    let reply = exchange(&client, &[whole.clone(), vec![0; 3000]].concat()).await;
    assert_eq!(reply.response_code(), ResponseCode::FormErr);
    address(&ask(&client, "api.example.org.", RecordType::A).await);
}

async fn receive(stream: &mut TcpStream) -> Message {
    let mut reply = vec![0; stream.read_u16().await.unwrap().into()];
    stream.read_exact(&mut reply).await.unwrap();
    Message::from_vec(&reply).unwrap()
}

#[tokio::test]
async fn a_connection_takes_queries_one_after_the_other_however_they_are_cut() {
    let sandbox = sandbox(&["*.example.org:443"]);
    let (_, at) = serve(&sandbox).await;
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let framed = |name: &str| {
        let query = query(name, RecordType::A).to_vec().unwrap();
        [&u16::try_from(query.len()).unwrap().to_be_bytes(), query.as_slice()].concat()
    };
    for byte in framed("a.example.org.") {
        stream.write_all(&[byte]).await.unwrap();
    }
    let first = address(&receive(&mut stream).await);
    stream.write_all(&[framed("b.example.org."), framed("a.example.org.")].concat()).await.unwrap();
    assert_ne!(address(&receive(&mut stream).await), first);
    assert_eq!(address(&receive(&mut stream).await), first);
    // What is too large ends it, since the rest is not read.
    stream
        .write_all(&[&[0xff, 0xff][..], &framed("a.example.org.")[2..], &[0; 2000]].concat())
        .await
        .unwrap();
    assert_eq!(receive(&mut stream).await.response_code(), ResponseCode::FormErr);
    assert!(stream.read_u8().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_sends_nothing_is_closed() {
    let sandbox = sandbox(&["*.example.org:443"]);
    let (_, at) = serve(&sandbox).await;
    for part in [&[][..], &[0], &[0, 30], &[0, 30, 1, 2]] {
        let mut stream = TcpStream::connect(at).await.unwrap();
        stream.write_all(part).await.unwrap();
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0, "{part:?}");
    }
    // A response is no query, and neither is nothing.
    for part in [&b"\0\0"[..], b"\0\x0c\0\x07\x81\x80\0\0\0\0\0\0\0\0"] {
        let mut stream = TcpStream::connect(at).await.unwrap();
        stream.write_all(part).await.unwrap();
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0, "{part:?}");
    }
}
