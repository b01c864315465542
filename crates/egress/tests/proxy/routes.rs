//! Routes to providers: the credential is added out here, and for nothing but what it is meant for.

use std::sync::Arc;
use std::time::Duration;

use egress::limits::Limits;
use egress::proxy::Setup;
use egress::route::{Credential, Route};
use policy::rules::network::{HostRule, HostRules, NetworkMode};
use policy::rules::provider::CredentialProvider;
use policy::rules::verdict::Origin;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{head, rules, said, serve, serve_logged};
use crate::upstream::{CREDENTIAL, TOKEN, authorised, post, route, routed, secret, upstream};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Request-Id: 1\r\n\r\nok";

#[tokio::test]
async fn the_upstream_gets_the_credential_and_nothing_that_the_sandbox_brought_in_its_place() {
    let (at, received) = upstream(OK).await;
    let (proxy, shared, log) = serve_logged(routed(route(&format!("http://{at}/base")))).await;
    for token in [
        format!("x-api-key: {TOKEN}\r\n"),
        format!("Authorization: Bearer {TOKEN}\r\n"),
        format!("authorization: Bearer another\r\nx-goog-api-key: {TOKEN}\r\n"),
    ] {
        let more = "Cookie: a=b\r\nApi-Key: x\r\nX.Api.Key: x\r\nX~Auth!Token: x\r\nX.Forwarded.User: x\r\nPrivate-Token: x\r\nX-GitHub-Token: x\r\nProxy-Authorization: Basic eA==\r\nProxy-Any: x\r\nanthropic-beta: kept\r\n";
        let answer = said(proxy, post(&format!("{token}{more}"))).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nok"), "{answer}");
        assert!(answer.to_ascii_lowercase().contains("x-request-id: 1"), "{answer}");
        let got = received.requests().pop().unwrap();
        assert!(
            got.starts_with("POST /base/v1/messages HTTP/1.1\r\n") && got.ends_with("\r\n\r\nbody"),
            "{got}"
        );
        let lower = got.to_ascii_lowercase();
        assert!(lower.contains(&format!("\r\nhost: {at}\r\n")), "{got}");
        assert_eq!(lower.matches(&format!("authorization: bearer {CREDENTIAL}")).count(), 1, "{got}");
        assert!(lower.contains("anthropic-beta: kept"), "{got}");
        for gone in [
            TOKEN, "another", "cookie", "x-api-key", "\r\napi-key", "x-goog-api-key", "proxy-", "host: x",
            "private-", "x-github", "x.api.key", "x~auth", "x.forwarded",
        ] {
            assert!(!lower.contains(gone), "{gone}: {got}");
        }
    }
    let lines = log.lines();
    let line = lines.iter().find(|line| line["method"] == "POST").unwrap();
    assert_eq!(line["via"].as_str(), Some("route"), "{line}");
    assert_eq!(
        (line["path"].as_str(), line["status"].as_u64()),
        (Some("/model/v1/messages"), Some(200)),
        "{line}"
    );
    assert_eq!(shared.audit().counts().requests, 3);
    assert!(!log.text().contains(CREDENTIAL) && !log.text().contains(TOKEN), "{}", log.text());
}

#[tokio::test]
async fn a_request_without_the_token_is_401_and_one_for_something_else_403() {
    let (at, received) = upstream(OK).await;
    let (proxy, _, log) = serve_logged(routed(route(&format!("http://{at}")))).await;
    let get = |path: &str| {
        format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nx-api-key: {TOKEN}\r\n\r\n")
    };
    for (request, status, error) in [
        (post(""), 401, "egress.token"),
        (post("x-api-key: \r\n"), 401, "egress.token"),
        (post("x-api-key: another\r\n"), 401, "egress.token"),
        (post(&format!("x-api-key: {CREDENTIAL}\r\n")), 401, "egress.token"),
        (post(&format!("x-other: {TOKEN}\r\n")), 401, "egress.token"),
        (get("/model/v1/messages"), 403, "egress.operation"),
        (get("/model/v1/organizations"), 403, "egress.operation"),
        (get("/model/v1/models/../organizations"), 403, "egress.operation"),
        (get("/model/v1/models/%2e%2e/organizations"), 403, "egress.operation"),
        (get("/model/v1/models//organizations"), 403, "egress.operation"),
        (get("/model"), 403, "egress.operation"),
        (get("/model/v1/models/a?key=mine"), 400, "egress.malformed"),
        (get("/model/v1/models/a?private_token=mine"), 400, "egress.malformed"),
        (get("/model/v1/models/a?$httpMethod=DELETE"), 400, "egress.malformed"),
        (get("/other/v1/messages"), 400, "egress.no_route"),
        (get("/"), 400, "egress.no_route"),
    ] {
        let answer = said(proxy, &request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {answer}");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((body["error"].as_str(), body["retry"].as_bool()), (Some(error), Some(false)), "{body}");
        match error {
            "egress.operation" => assert_eq!(body["allowed"][0], "POST /model/v1/messages", "{body}"),
            "egress.no_route" => assert_eq!(body["allowed"][0], "model", "{body}"),
            _ => {}
        }
        assert!(!answer.contains(CREDENTIAL), "{answer}");
    }
    assert_eq!(received.connections(), 0, "nothing was sent");
    assert!(!log.text().contains(CREDENTIAL) && !log.text().contains("mine"), "{}", log.text());
}

#[tokio::test]
async fn the_upstream_of_a_route_is_reached_by_the_route_alone() {
    let (at, _) = upstream(OK).await;
    let (proxy, _) = serve(routed(route(&format!("http://{at}")))).await;
    for request in [
        format!("CONNECT {at} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
        format!(
            "POST http://{at}/v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        ),
    ] {
        assert!(said(proxy, &request).await.starts_with("HTTP/1.1 403"), "{request}");
    }
    // And not even so where a rule denies it.
    let pattern = at.ip().to_string().parse().unwrap();
    let deny = vec![HostRule::new(pattern, Origin::Default)];
    let rules = HostRules::new(NetworkMode::Allowlist, Vec::new(), deny);
    let setup = Setup { routes: vec![route(&format!("http://{at}"))], ..Setup::from(rules) };
    let answer = said(serve(setup).await.0, authorised()).await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("egress.denied"), "{answer}");
}

#[tokio::test]
async fn the_url_of_the_proxy_itself_may_be_asked_for_through_the_proxy() {
    let (at, received) = upstream(OK).await;
    let (proxy, _) = serve(routed(route(&format!("http://{at}")))).await;
    let request = authorised().replacen("/model", &format!("http://{proxy}/model"), 1);
    assert!(said(proxy, request).await.starts_with("HTTP/1.1 200"));
    assert!(received.requests()[0].starts_with("POST /v1/messages HTTP/1.1\r\n"));
}

#[tokio::test]
async fn connections_to_the_upstream_are_kept_for_the_next_request() {
    let (at, received) = upstream(OK).await;
    let (proxy, _) = serve(routed(route(&format!("http://{at}")))).await;
    let models = format!(
        "GET /model/v1/models/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nx-api-key: {TOKEN}\r\n\r\n"
    );
    for _ in 0..3 {
        assert!(said(proxy, models.as_str()).await.starts_with("HTTP/1.1 200"));
    }
    assert_eq!((received.requests().len(), received.connections()), (3, 1));
    // After a body there is no next one: a server that did not read it takes it for a request.
    for _ in 0..2 {
        assert!(said(proxy, authorised()).await.starts_with("HTTP/1.1 200"));
    }
    assert!(said(proxy, models.as_str()).await.starts_with("HTTP/1.1 200"));
    assert_eq!((received.requests().len(), received.connections()), (6, 3));
    let bodies = received.requests().into_iter().filter(|got| got.starts_with("POST"));
    assert!(bodies.into_iter().all(|got| got.to_ascii_lowercase().contains("connection: close")));
}

#[tokio::test]
async fn a_redirect_is_passed_on_and_not_followed() {
    let (other, elsewhere) = upstream(OK).await;
    let answer = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{other}/v1/messages\r\nContent-Length: 0\r\n\r\n"
    );
    let (at, _) = upstream(answer.leak()).await;
    let (proxy, _) = serve(routed(route(&format!("http://{at}")))).await;
    let answer = said(proxy, authorised()).await;
    assert!(answer.starts_with("HTTP/1.1 307") && answer.contains(&other.to_string()), "{answer}");
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn a_route_does_not_change_to_another_protocol() {
    let (at, received) = upstream(OK).await;
    let (proxy, _) = serve(routed(route(&format!("http://{at}")))).await;
    // Codex tries WebSocket on a path that is for POST.
    for path in ["/model/v1/models/a", "/model/v1/messages"] {
        let upgrade = "Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
        let mut stream = TcpStream::connect(proxy).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\n{upgrade}x-api-key: {TOKEN}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = head(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 426"), "{path}: {answer}");
    }
    assert_eq!(received.connections(), 0);
}

#[tokio::test]
async fn another_credential_counts_from_the_next_request_on() {
    let (at, received) = upstream(OK).await;
    let first = route(&format!("http://{at}"));
    let (proxy, shared) = serve(routed(first.clone())).await;
    assert!(said(proxy, authorised()).await.starts_with("HTTP/1.1 200"));
    let credential = Some(Credential::new("x-api-key", "{}", secret("renewed")).unwrap());
    Arc::clone(&shared).set_routes(vec![Route { credential, ..first }]);
    assert!(said(proxy, authorised()).await.starts_with("HTTP/1.1 200"));
    let requests = received.requests();
    assert!(requests[0].contains(CREDENTIAL) && !requests[0].contains("renewed"), "{requests:?}");
    assert!(requests[1].contains("x-api-key: renewed") && !requests[1].contains(CREDENTIAL), "{requests:?}");
    shared.set_routes(Vec::new());
    assert!(said(proxy, authorised()).await.starts_with("HTTP/1.1 400"));
}

#[tokio::test]
async fn an_upstream_that_is_down_or_says_nothing_is_named_so() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let down = free.local_addr().unwrap();
    drop(free);
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = silent.local_addr().unwrap();
    for (host, status, error) in [(down, "502", "egress.unreachable"), (at, "504", "egress.silent")] {
        let limits = Limits { idle: Duration::from_millis(200), ..Limits::default() };
        let (proxy, _) = serve(Setup { limits, ..routed(route(&format!("http://{host}"))) }).await;
        let answer = said(proxy, authorised()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(error), "{answer}");
        assert!(
            answer.contains(&format!("\"port\":{}", host.port())) && !answer.contains(CREDENTIAL),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_stops_halfway_ends() {
    let (at, _) = upstream("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin").await;
    let limits = Limits { idle: Duration::from_millis(200), ..Limits::default() };
    let (proxy, _) = serve(Setup { limits, ..routed(route(&format!("http://{at}"))) }).await;
    let answer = said(proxy, authorised()).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("begin"), "{answer}");
}

#[tokio::test]
async fn a_server_that_wants_no_credential_needs_none() {
    let (at, received) = upstream(OK).await;
    let provider = CredentialProvider::named("ollama").unwrap();
    let mut ollama = Route::of(provider, None, None).unwrap();
    ollama.upstream = Route::new("a", &format!("http://{at}")).unwrap().upstream;
    let (proxy, _) = serve(Setup { routes: vec![ollama], ..Setup::from(rules(&[])) }).await;
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    for path in ["/ollama/", "/ollama/api/tags", "/ollama/v1/models"] {
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
        assert!(head(&mut stream).await.starts_with("HTTP/1.1 200"), "{path}");
        stream.read_exact(&mut [0; 2]).await.unwrap();
    }
    let lower = received.requests().concat().to_ascii_lowercase();
    assert!(!lower.contains("authorization") && lower.contains("get /v1/models"), "{lower}");
}
