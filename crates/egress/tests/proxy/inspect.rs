//! Hosts that rules allow for requests alone: by every listener the proxy decides each request, and the server sees what was allowed.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use egress::proxy::Proxy;
use policy::rules::network::{HostRule, HostRules, NetworkMode};
use policy::rules::verdict::Origin;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::fronting::{client_hello, tunnel};
use crate::smuggling::{INNER, recorder};
use crate::support::{Log, head, rest, serve_logged};

/// Returns rules in which `@` stands for `localhost` and this port.
fn rules(port: u16, allow: &[&str], deny: &[&str]) -> HostRules {
    let parse = |list: &[&str]| -> Vec<HostRule> {
        let rule = |text: &&str| text.replace('@', &format!("localhost:{port}")).parse().unwrap();
        list.iter().map(|text| HostRule::new(rule(text), Origin::Default)).collect()
    };
    HostRules::new(NetworkMode::Allowlist, parse(allow), parse(deny))
}

/// A proxy in front of a server that records what it receives.
struct Stand {
    proxy: SocketAddr,
    shared: Arc<Proxy>,
    log: Log,
    server: SocketAddr,
    record: Arc<Mutex<Vec<String>>>,
}

/// How the server is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Listener {
    /// By a whole URL.
    Url,
    Connect,
    Socks,
}

const LISTENERS: [Listener; 3] = [Listener::Url, Listener::Connect, Listener::Socks];

impl Stand {
    async fn new(allow: &[&str], deny: &[&str]) -> Self {
        let (server, record) = recorder().await;
        let (proxy, shared, log) = serve_logged(rules(server.port(), allow, deny)).await;
        Self { proxy, shared, log, server, record }
    }

    /// Opens a connection on which `localhost` is asked for.
    async fn open(&self, listener: Listener) -> TcpStream {
        match listener {
            Listener::Url => TcpStream::connect(self.proxy).await.unwrap(),
            Listener::Connect | Listener::Socks => {
                tunnel(self.proxy, self.server.port(), listener == Listener::Socks).await
            }
        }
    }

    /// Sends requests on one connection, each the method and the path and what follows the first line, and returns the answers.
    async fn ask(&self, listener: Listener, requests: &[(&str, &str)]) -> String {
        let mut stream = self.open(listener).await;
        let base = if listener == Listener::Url {
            format!("http://localhost:{}", self.server.port())
        } else {
            String::new()
        };
        let mut text = String::new();
        for (first, others) in requests {
            let (method, path) = first.split_once(' ').unwrap();
            write!(text, "{method} {base}{path} HTTP/1.1{others}").unwrap();
        }
        stream.write_all(text.as_bytes()).await.unwrap();
        rest(&mut stream).await
    }

    /// Returns the first lines of what the server has received since.
    fn received(&self) -> Vec<String> {
        let record = std::mem::take(&mut *self.record.lock().unwrap());
        record.iter().map(|text| text.lines().next().unwrap_or_default().to_owned()).collect()
    }
}

/// What ends a request that ends its connection.
fn last(port: u16) -> String {
    format!("\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n")
}

/// What ends a request that others follow.
fn followed(port: u16) -> String {
    format!("\r\nHost: localhost:{port}\r\n\r\n")
}

#[tokio::test]
async fn by_every_listener_a_request_passes_where_a_rule_describes_it() {
    for listener in LISTENERS {
        let stand = Stand::new(&["GET,HEAD http://@/pub/*"], &[]).await;
        let last = last(stand.server.port());
        let answer = stand.ask(listener, &[("GET /pub/a?b=c", &last)]).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{listener:?}: {answer}");
        assert_eq!(stand.received(), ["GET /pub/a?b=c HTTP/1.1"], "{listener:?}");
        for request in [
            "POST /pub/a", "GET /private", "get /pub/a", "GET /pub/../private", "GET /pub/%2e%2e/private",
            "GET /pub//a", "GET /pub/..%2fprivate", "GET /pub/..;/private", "GET /PUB/a", "OPTIONS /",
        ] {
            let answer = stand.ask(listener, &[(request, &last)]).await;
            assert!(answer.starts_with("HTTP/1.1 403"), "{listener:?} {request}: {answer}");
            assert!(
                answer.contains("matches nothing in `[network] allow`"),
                "{listener:?} {request}: {answer}"
            );
        }
        assert!(stand.received().is_empty(), "{listener:?}");

        // The same requests, with a rule about the host: the server has them all.
        stand.shared.set_rules(rules(stand.server.port(), &["@"], &[]));
        for request in ["POST /pub/a", "GET /private", "GET /pub/../private", "GET /pub//a"] {
            let answer = stand.ask(listener, &[(request, &last)]).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{listener:?} {request}: {answer}");
        }
        assert_eq!(stand.received().len(), 4, "{listener:?}");
    }
}

#[tokio::test]
async fn what_is_refused_says_which_rule_is_missing() {
    let stand = Stand::new(&["GET http://@/pub/*"], &[]).await;
    let port = stand.server.port();
    for listener in LISTENERS {
        let answer = stand.ask(listener, &[("POST /pub/a?secret", &last(port))]).await;
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(
            (body["error"].as_str(), body["port"].as_u64()),
            (Some("egress.denied"), Some(port.into()))
        );
        assert_eq!(
            body["remedy"],
            format!("add \"POST http://localhost:{port}/pub/a\" to `allow` in `[network]` of sandbox.toml")
        );
        assert!(
            body["message"].as_str().unwrap().contains(&format!("GET http://localhost:{port}/pub/*")),
            "{body}"
        );
    }
    let lines = stand.log.lines();
    let vias: Vec<_> = lines.iter().map(|line| line["via"].as_str().unwrap()).collect();
    assert_eq!(vias, ["http", "http", "socks"], "{lines:?}");
    for line in lines {
        assert_eq!((line["verdict"].as_str(), line["status"].as_u64()), (Some("deny"), Some(403)));
        assert_eq!((line["method"].as_str(), line["path"].as_str()), (Some("POST"), Some("/pub/a")));
    }
    assert!(!stand.log.text().contains("secret"), "{}", stand.log.text());
}

#[tokio::test]
async fn a_denied_request_between_others_alone_is_refused() {
    for listener in LISTENERS {
        let stand = Stand::new(&["GET http://@/pub/*"], &[]).await;
        let port = stand.server.port();
        let body = format!("\r\nHost: localhost:{port}\r\nContent-Length: {}\r\n\r\n{INNER}", INNER.len());
        let answers = stand
            .ask(
                listener,
                &[("GET /pub/1", &followed(port)), ("POST /pub/2", &body), ("GET /pub/3", &last(port))],
            )
            .await;
        let statuses: Vec<_> = answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
        assert_eq!(statuses, ["200", "403", "200"], "{listener:?}: {answers}");
        assert_eq!(stand.received(), ["GET /pub/1 HTTP/1.1", "GET /pub/3 HTTP/1.1"], "{listener:?}");
        let counts = stand.shared.audit().counts();
        assert_eq!((counts.requests, counts.refusals), (2, 1), "{listener:?}: {}", stand.log.text());
    }
}

#[tokio::test]
async fn one_connection_to_the_proxy_asks_several_hosts_each_by_its_rules() {
    let stand = Stand::new(&["GET http://@/a", "GET http://b.@/b"], &[]).await;
    let port = stand.server.port();
    let mut stream = stand.open(Listener::Url).await;
    for (url, status) in [
        ("localhost", "a"),
        ("b.localhost", "b"),
        ("localhost", "b"),
        ("b.localhost", "a"),
        ("c.localhost", "a"),
    ]
    .map(|(host, path)| {
        (
            format!("http://{host}:{port}/{path}"),
            if host == "c.localhost" || (host == "localhost") != (path == "a") { "403" } else { "200" },
        )
    }) {
        // The header says something else each time: the URL counts.
        stream
            .write_all(format!("GET {url} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").as_bytes())
            .await
            .unwrap();
        let head = head(&mut stream).await;
        assert_eq!(&head[9..12], status, "{url}: {head}");
        let length =
            head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        stream.read_exact(&mut vec![0; length.unwrap()]).await.unwrap();
    }
    assert_eq!(stand.received(), ["GET /a HTTP/1.1", "GET /b HTTP/1.1"]);
}

#[tokio::test]
async fn every_request_of_a_connection_names_the_host_that_it_is_to() {
    for listener in [Listener::Connect, Listener::Socks] {
        let stand = Stand::new(&["* http://@/*"], &[]).await;
        let port = stand.server.port();
        let good = [followed(port), "\r\nHost: LocalHost.\r\n\r\n".to_owned()];
        for good in good {
            for bad in [
                "\r\nHost: other.localhost\r\n\r\n".to_owned(),
                "\r\nHost: localhost:1\r\n\r\n".to_owned(),
                "\r\nHost: localhost:\r\n\r\n".to_owned(),
                "\r\nHost: me@localhost\r\n\r\n".to_owned(),
                "\r\nHost: localhost, other\r\n\r\n".to_owned(),
                "\r\nHost: \r\n\r\n".to_owned(),
                "\r\n\r\n".to_owned(),
                format!("\r\nHost: localhost:{port}\r\nHost: other\r\n\r\n"),
            ] {
                let mut stream = stand.open(listener).await;
                stream
                    .write_all(
                        format!("GET /1 HTTP/1.1{good}GET /2 HTTP/1.1\r\nConnection: close{bad}").as_bytes(),
                    )
                    .await
                    .unwrap();
                let answers = rest(&mut stream).await;
                let statuses: Vec<_> =
                    answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
                assert!(matches!(statuses[..], ["200", "403" | "400"]), "{listener:?} {bad:?}: {answers}");
                assert_eq!(stand.received(), ["GET /1 HTTP/1.1"], "{listener:?} {bad:?}");
            }
        }
        for (url, status) in
            [("http://other/", "403"), ("https://localhost/", "403"), ("http://localhost/", "200")]
        {
            let answer = stand
                .ask(listener, &[("GET /1", &followed(port)), (&format!("GET {url}"), &last(port))])
                .await;
            assert_eq!(
                answer.matches("HTTP/1.1 200").count(),
                1 + usize::from(status == "200"),
                "{url}: {answer}"
            );
        }
        // The first request as well.
        let answer = stand.ask(listener, &[("GET /1", "\r\nHost: other\r\n\r\n")]).await;
        assert!(
            answer.starts_with("HTTP/1.1 403") && answer.contains("egress.mismatch"),
            "{listener:?}: {answer}"
        );
    }
}

#[tokio::test]
async fn a_host_rule_lets_everything_pass_that_no_rule_about_requests_denies() {
    for listener in LISTENERS {
        let stand = Stand::new(&["@"], &["DELETE http://@/*", "* http://@/admin/*"]).await;
        let last = last(stand.server.port());
        for (request, status) in [
            ("POST /x", "200"),
            ("GET /a//b", "403"),
            ("DELETE /x", "403"),
            ("delete /x", "403"),
            ("GET /admin/x", "403"),
            ("GET /%61dmin/x", "403"),
            ("GET /x/../admin/x", "403"),
            ("GET /Admin/x", "403"),
            ("GET /administration", "200"),
        ] {
            let answer = stand.ask(listener, &[(request, &last)]).await;
            assert_eq!(&answer[9..12], status, "{listener:?} {request}: {answer}");
            assert!(!answer.contains("remedy"), "nothing that is added to `allow` helps: {answer}");
            let received = stand.received();
            assert_eq!(received.len(), usize::from(status == "200"), "{listener:?} {request}: {received:?}");
        }
    }
}

#[tokio::test]
async fn what_servers_read_differently_reaches_none_on_a_connection_that_ends_here() {
    let inner = INNER.len();
    for listener in [Listener::Connect, Listener::Socks] {
        for framing in [
            format!("Content-Length: {inner}\r\nContent-Length: 0\r\n\r\n{INNER}"),
            format!("Content-Length: +{inner}\r\n\r\n{INNER}"),
            format!("Content-Length : {inner}\r\n\r\n{INNER}"),
            format!("Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{INNER}"),
            format!(" Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{INNER}"),
            format!("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{INNER}"),
            format!("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n{INNER}"),
            format!("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n{INNER}"),
            format!("X: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{INNER}"),
            format!("X: a\0b\r\n\r\n{INNER}"),
        ] {
            let stand = Stand::new(&["POST http://@/outer"], &[]).await;
            let rest = format!("\r\nHost: localhost:{}\r\n{framing}", stand.server.port());
            let answer = stand.ask(listener, &[("POST /outer", &rest)]).await;
            let refused = ["HTTP/1.1 400", "HTTP/1.1 403"].iter().any(|status| answer.starts_with(status));
            assert!(answer.is_empty() || refused, "{framing:?}: {answer:?}");
            assert_eq!(
                answer.matches("HTTP/1.1").count(),
                usize::from(!answer.is_empty()),
                "{framing:?}: {answer:?}"
            );
            assert!(stand.received().is_empty(), "{framing:?}");
        }
        // Chunks beside a length: the chunks count, and what follows them is a request of its own, which no rule describes.
        let stand = Stand::new(&["POST http://@/outer"], &[]).await;
        let rest = format!(
            "\r\nHost: localhost:{}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{INNER}",
            stand.server.port()
        );
        stand.ask(listener, &[("POST /outer", &rest)]).await;
        let received = stand.record.lock().unwrap().clone();
        assert_eq!(received.len(), 1, "{received:?}");
        assert!(
            !received[0].contains("/inner") && !received[0].to_lowercase().contains("content-length"),
            "{received:?}"
        );
    }
}

#[tokio::test]
async fn a_query_that_names_a_method_is_refused_however_it_is_written() {
    for listener in LISTENERS {
        let stand = Stand::new(&["POST http://@/*"], &[]).await;
        let port = stand.server.port();
        for (query, status) in [
            ("a=b&%24httpMethod=DELETE", "403"),
            ("_method=DELETE", "403"),
            ("a=b;_method=DELETE", "403"),
            // PHP, `qs` of Node, ASP.NET.
            ("_method%00a=DELETE", "403"),
            ("+_method%00=DELETE", "403"),
            ("[_method]=DELETE", "403"),
            ("%5B_method%5D=DELETE", "403"),
            ("%u005fmethod=DELETE", "403"),
            ("a[_method]=DELETE", "200"),
            ("a=_method", "200"),
        ] {
            let mut stream = stand.open(listener).await;
            let base =
                if listener == Listener::Url { format!("http://localhost:{port}") } else { String::new() };
            let request = format!("POST {base}/x?{query} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let answer = head(&mut stream).await;
            assert_eq!(&answer[9..12], status, "{listener:?} {query}: {answer}");
            let received = std::mem::take(&mut *stand.record.lock().unwrap());
            assert_eq!(received.is_empty(), status != "200", "{listener:?} {query}: {received:?}");
        }
    }
}

#[tokio::test]
async fn headers_that_name_another_request_are_refused_and_other_protocols_do_not_follow() {
    for listener in LISTENERS {
        let stand = Stand::new(&["POST http://@/*"], &[]).await;
        let port = stand.server.port();
        for (header, status) in [
            ("X-HTTP-Method-Override: DELETE", "403"),
            ("x_http_method_override: DELETE", "403"),
            ("X.HTTP.Method.Override: DELETE", "403"),
            ("X~HTTP!Method+Override: DELETE", "403"),
            ("X.Custom: x", "403"),
            ("X-Custom: kept", "200"),
            ("X-Original-URL: /admin", "403"),
            ("SCRIPT_NAME: /x", "403"),
            ("Script-Name: /x", "403"),
            ("X-Script-Name: /x", "403"),
            ("X-Invoke-Path: /admin", "403"),
            ("x-amz-copy-source: /bucket/private", "403"),
            ("X-Object-Manifest: private/", "403"),
            ("X-Forwarded-Host: other", "403"),
            ("X-Forwarded: other", "403"),
            ("X-HTTP-Host-Override: other", "403"),
            ("HTTP-Method-Override: DELETE", "403"),
            ("X-Waws-Unencoded-Url: /admin", "403"),
            ("X-Envoy-Original-Host: other", "403"),
            ("Connection: upgrade\r\nUpgrade: websocket", "426"),
            ("Connection: upgrade\r\nUpgrade: h2c, websocket", "426"),
            ("Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk", "200"),
        ] {
            let others = format!("\r\nHost: localhost:{port}\r\nContent-Length: 0\r\n{header}\r\n\r\n");
            let mut stream = stand.open(listener).await;
            let base =
                if listener == Listener::Url { format!("http://localhost:{port}") } else { String::new() };
            stream.write_all(format!("POST {base}/x HTTP/1.1{others}").as_bytes()).await.unwrap();
            let answer = head(&mut stream).await;
            assert_eq!(&answer[9..12], status, "{listener:?} {header}: {answer}");
            let received = std::mem::take(&mut *stand.record.lock().unwrap()).concat().to_lowercase();
            assert_eq!(received.is_empty(), status != "200", "{listener:?} {header}: {received}");
            assert!(!received.contains("upgrade") && !received.contains("http2-settings"), "{received}");
        }
    }
}

#[tokio::test]
async fn what_is_no_http_is_refused_where_requests_are_decided() {
    let stand = Stand::new(&["GET http://@/*"], &[]).await;
    for listener in [Listener::Connect, Listener::Socks] {
        for (bytes, answered) in [
            (client_hello("localhost"), "\u{15}"),
            (b"SSH-2.0-OpenSSH_9.9\r\n".to_vec(), "HTTP/1.1 400"),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), ""),
        ] {
            let mut stream = stand.open(listener).await;
            stream.write_all(&bytes).await.unwrap();
            let answer = rest(&mut stream).await;
            assert!(answer.starts_with(answered), "{listener:?} {}: {answer:?}", bytes.escape_ascii());
        }
    }
    assert!(stand.received().is_empty());
    let counts = stand.shared.audit().counts();
    assert!(counts.refusals + counts.errors >= 4, "{}", stand.log.text());
}

#[tokio::test]
async fn bodies_pass_as_they_arrive_in_both_directions() {
    for listener in LISTENERS {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        let (proxy, _, _) = serve_logged(rules(port, &["POST http://@/*"], &[])).await;
        let (mut client, base) = match listener {
            Listener::Url => (TcpStream::connect(proxy).await.unwrap(), format!("http://localhost:{port}")),
            Listener::Connect | Listener::Socks => {
                (tunnel(proxy, port, listener == Listener::Socks).await, String::new())
            }
        };
        let head_of = format!(
            "POST {base}/ HTTP/1.1\r\nHost: localhost:{port}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n"
        );
        client.write_all(head_of.as_bytes()).await.unwrap();
        let (mut server, _) = server.accept().await.unwrap();
        head(&mut server).await;
        let mut chunk = [0; 8];
        server.read_exact(&mut chunk).await.unwrap();
        assert_eq!(&chunk, b"3\r\none\r\n", "before the body ends");
        server.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n").await.unwrap();
        assert!(head(&mut client).await.starts_with("HTTP/1.1 200"));
        client.read_exact(&mut chunk).await.unwrap();
        assert_eq!(&chunk, b"3\r\ntwo\r\n", "{listener:?}: before either body ends");
        client.write_all(b"0\r\n\r\n").await.unwrap();
        let mut end = [0; 5];
        server.read_exact(&mut end).await.unwrap();
        server.write_all(b"0\r\n\r\n").await.unwrap();
        client.read_exact(&mut end).await.unwrap();
        assert_eq!(&end, b"0\r\n\r\n", "{listener:?}");
    }
}

#[tokio::test]
async fn rules_that_change_decide_about_the_next_request_and_end_what_is_no_longer_allowed() {
    let stand = Stand::new(&["@"], &[]).await;
    let port = stand.server.port();
    // A tunnel that nobody looks into ends when a rule about requests comes.
    let mut tunnel = stand.open(Listener::Connect).await;
    tunnel.write_all(b"\0").await.unwrap();
    stand.shared.set_rules(rules(port, &["@"], &["DELETE http://@/*"]));
    assert_eq!(rest(&mut tunnel).await, "");
    let mut stream = stand.open(Listener::Connect).await;
    for (deny, status) in
        [(&["DELETE http://@/*"][..], "200"), (&["GET http://@/*"], "403"), (&["GET http://@/b"], "200")]
    {
        stand.shared.set_rules(rules(port, &["@"], deny));
        stream
            .write_all(format!("GET /a HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").as_bytes())
            .await
            .unwrap();
        let head = head(&mut stream).await;
        assert_eq!(&head[9..12], status, "{head}");
        let length =
            head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        stream.read_exact(&mut vec![0; length.unwrap()]).await.unwrap();
    }
    // A request whose answer does not end.
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    let (proxy, shared, _) = serve_logged(rules(port, &["GET http://@/*"], &[])).await;
    let mut client = crate::fronting::tunnel(proxy, port, false).await;
    client.write_all(format!("GET /a HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").as_bytes()).await.unwrap();
    let (mut server, _) = server.accept().await.unwrap();
    head(&mut server).await;
    server.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n").await.unwrap();
    head(&mut client).await;
    shared.set_rules(rules(port, &["GET http://@/b"], &[]));
    assert!(!rest(&mut client).await.contains("0\r\n\r\n"));
}
