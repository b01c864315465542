//! The explicit listener: HTTP and SOCKS5 as to a proxy.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{exchange, proxy, said, server, tunnel};

#[tokio::test]
async fn connect_passes_bytes_both_ways_to_a_host_that_is_allowed() {
    let (at, server) = server("ping", "pong").await;
    let proxy = proxy(&[at.to_string()]).await;
    let mut stream = tunnel(proxy, at).await;
    stream.write_all(b"ping").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert_eq!((answer.as_str(), server.await.unwrap().as_str()), ("pong", "ping"));
}

#[tokio::test]
async fn a_host_that_no_rule_allows_is_refused_with_the_rule_that_is_missing() {
    let (at, server) = server("ping", "pong").await;
    let proxy = proxy(&["api.example.org:443".to_owned()]).await;
    for request in [
        format!("CONNECT {at} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"),
        format!("GET http://{at}/ HTTP/1.1\r\nHost: api.example.org\r\nConnection: close\r\n\r\n"),
        "CONNECT api.example.org:22 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(),
    ] {
        let answer = said(proxy, &request).await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((body["error"].as_str(), body["retry"].as_bool()), (Some("egress.denied"), Some(false)));
        let remedy = body["remedy"].as_str().unwrap();
        assert!(remedy.ends_with("to `allow` in `[network]` of sandbox.toml"), "a name is not known: {body}");
    }
    assert!(!server.is_finished(), "nobody has connected");
}

#[tokio::test]
async fn a_request_for_a_url_is_forwarded_as_the_server_expects_it() {
    let (at, server) = server(
        "\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n\r\nok",
    )
    .await;
    let proxy = proxy(&[at.to_string()]).await;
    let answer = said(
        proxy,
        &format!(
            "POST http://{at}/path?q=1 HTTP/1.1\r\nHost: other.example.org\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nX-Kept: 1\r\n\
             Proxy-Authorization: Basic eA==\r\nContent-Length: 4\r\n\r\nbody"
        ),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nok"), "{answer}");
    assert!(!answer.contains("X-Hop"), "{answer}");
    let got = server.await.unwrap();
    assert!(got.starts_with("POST /path?q=1 HTTP/1.1\r\n"), "{got}");
    assert!(got.contains(&format!("Host: {at}\r\n")) && got.contains("X-Kept: 1\r\n"), "{got}");
    for hidden in ["other.example.org", "X-Mine", "Proxy-Authorization"] {
        assert!(!got.contains(hidden), "{got}");
    }
}

#[tokio::test]
async fn each_end_has_its_own_version_of_http() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    for (version, answer, expected) in [
        ("1.0", chunked, "HTTP/1.0 200"),
        ("1.0", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.0 200"),
        ("1.1", "HTTP/1.0 200 OK\r\n\r\nok", "HTTP/1.1 200"),
    ] {
        let (at, server) = server("\r\n\r\n", answer).await;
        let proxy = proxy(&[at.to_string()]).await;
        let request = format!("GET http://{at}/ HTTP/{version}\r\nConnection: close\r\nHost: x\r\n\r\n");
        let got = said(proxy, request).await;
        assert!(got.starts_with(expected) && got.contains("ok"), "{got}");
        assert_eq!(got.contains("chunked"), version == "1.1", "{got}");
        assert!(server.await.unwrap().starts_with("GET / HTTP/1.1\r\n"));
    }
}

#[tokio::test]
async fn socks_connects_by_address_and_by_name() {
    for by_name in [false, true] {
        let (at, server) = server("ping", "pong").await;
        let proxy =
            proxy(&[format!("{}:{}", if by_name { "localhost" } else { "127.0.0.1" }, at.port())]).await;
        let host: &[u8] = if by_name { b"\x03\x09localhost" } else { b"\x01\x7f\x00\x00\x01" };
        let request = [b"\x05\x01\x00", host, &at.port().to_be_bytes()];
        let answer = exchange(proxy, &[b"\x05\x01\x00", request[0], request[1], request[2], b"ping"]).await;
        assert_eq!(answer, b"\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00pong", "{by_name}");
        assert_eq!(server.await.unwrap(), "ping");
    }
}

#[tokio::test]
async fn socks_refuses_by_its_own_replies() {
    let proxy = proxy(&["api.example.org:443".to_owned()]).await;
    let reply = |code: u8| [b"\x05\x00\x05", &[code][..], b"\x00\x01\x00\x00\x00\x00\x00\x00"].concat();
    for (request, code) in [
        (&b"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"[..], 2),
        (b"\x05\x01\x00\x03\x03a\x00b\x00\x50", 2),
        (b"\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", 7),
        (b"\x05\x01\x00\x09", 8),
    ] {
        assert_eq!(exchange(proxy, &[b"\x05\x01\x00", request]).await, reply(code), "{request:?}");
    }
    assert_eq!(exchange(proxy, &[b"\x05\x01\x02"]).await, b"\x05\xff");
    assert_eq!(exchange(proxy, &[b"\x05"]).await, b"");
}

#[tokio::test]
async fn what_is_malformed_is_refused() {
    let (at, server) = server("never", "").await;
    let proxy = proxy(&[at.to_string()]).await;
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "400"),
        (format!("GET https://{at}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), "400"),
        (format!("GET http://me@{at}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), "400"),
        ("CONNECT 127.0.0.1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "400"),
        ("CONNECT 127.0.0.1:0 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "400"),
        (format!("GET http://{at}/ HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n"), "400"),
        (
            format!("CONNECT {at} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"),
            "400",
        ),
        ("CONNECT 127.0.0.1:99999 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "400"),
        ("CONNECT a\0b:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "400"),
        ("CONNECT a\u{1}b:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "400"),
        ("GET http://a\tb/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "400"),
        ("CONNECT [127.0.0.1]:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "403"),
        ("CONNECT 127.0.0.1.:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "403"),
        ("CONNECT 0177.0.0.1:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "403"),
        ("CONNECT localhost.:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "403"),
        ("CONNECT 0x7f.1:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "403"),
        ("CONNECT 2130706433:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "403"),
        ("CONNECT [::ffff:127.0.0.1]:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned(), "403"),
        (
            format!(
                "POST http://{at}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nbody"
            ),
            "400",
        ),
        (format!("POST http://{at}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x\r\n\r\nbody"), "400"),
        ("\u{16}\u{3}\u{1}\u{2}\r\n\r\n".to_owned(), "400"),
    ] {
        let answer = said(proxy, &request).await;
        let shown = &request[..request.len().min(80)];
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{shown:?}: {answer:?}");
    }
    assert!(!server.is_finished(), "nobody has connected");
}
