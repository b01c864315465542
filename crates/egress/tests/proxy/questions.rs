//! Hosts that somebody is asked about: who waits for the answer, what it opens, and what bounds the questions.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use egress::changes::ChangingRules;
use egress::proxy::Proxy;
use egress::questions::{News, PATIENCE, Question};
use policy::rules::network::{HostRule, HostRules, NetworkMode};
use policy::rules::verdict::Origin;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::support::{Log, said, serve_logged};

/// A proxy with somebody who is notified of everything.
struct Asking {
    at: SocketAddr,
    proxy: Arc<Proxy>,
    log: Log,
    news: Receiver<News>,
    attending: u64,
}

fn rules(list: &[&str]) -> Vec<HostRule> {
    list.iter().map(|host| HostRule::new(host.parse().unwrap(), Origin::Default)).collect()
}

async fn asking(allow: &[&str], deny: &[&str]) -> Asking {
    let rules = HostRules::new(NetworkMode::Allowlist, rules(allow), rules(deny));
    let (at, proxy, log) = serve_logged(rules).await;
    let (notify, news) = channel();
    let notify = Box::new(move |one: &News| notify.send(one.clone()).map_err(std::io::Error::other));
    let attending = proxy.questions().attend(notify).unwrap();
    Asking { at, proxy, log, news, attending }
}

impl Asking {
    /// Waits for the next question.
    async fn question(&self) -> Question {
        loop {
            match self.news.try_recv() {
                Ok(News::Asked(question)) => return question,
                Ok(News::Settled(_)) => {}
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    /// Asks for a tunnel, and returns all that comes back, however long it takes.
    fn connect(&self, to: impl std::fmt::Display) -> JoinHandle<String> {
        let request = format!("CONNECT {to} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let at = self.at;
        tokio::spawn(async move {
            let (mut stream, mut answer) = (TcpStream::connect(at).await.unwrap(), String::new());
            stream.write_all(request.as_bytes()).await.unwrap();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        })
    }

    fn answers(&self) -> Vec<String> {
        let lines = self.log.lines();
        lines.iter().filter_map(|line| line["answer"].as_str().map(str::to_owned)).collect()
    }
}

/// A server that closes what connects to it, under a name that leads there.
async fn closing_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    port
}

#[tokio::test]
async fn whoever_wants_a_host_waits_until_a_rule_says_whether_it_may_be_reached() {
    let asking = asking(&["a.example.org:443"], &[]).await;
    let (one, same) = (asking.connect("b.example.org:443"), asking.connect("B.example.org.:443"));
    let question = asking.question().await;
    assert_eq!((question.host.to_string().as_str(), question.port), ("b.example.org", 443));
    assert!(!one.is_finished() && !same.is_finished());
    // The control: another host is decided meanwhile.
    let refused = said(asking.at, "CONNECT 127.0.0.1:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(refused.await.starts_with("HTTP/1.1 403"));
    asking.proxy.set_rules(HostRules::new(NetworkMode::Allowlist, Vec::new(), rules(&["b.example.org"])));
    for answer in [one, same] {
        let answer = answer.await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("wins over `allow`"), "{answer}");
    }
    assert_eq!(asking.news.try_recv(), Ok(News::Settled(question.id)), "it was asked once");
    assert_eq!(asking.answers(), ["rules"], "{}", asking.log.text());
}

#[tokio::test]
async fn once_is_for_those_who_wait_and_the_next_one_asks_again() {
    let asking = asking(&[], &[]).await;
    // An address of documentation, where nobody answers: that it is dialled is seen by the rule.
    let (one, two) = (asking.connect("192.0.2.1:9"), asking.connect("192.0.2.2:9"));
    let (first, second) = (asking.question().await, asking.question().await);
    assert_ne!(first.id, second.id);
    assert!(asking.proxy.questions().allow_once(first.id, 7));
    assert!(!asking.proxy.questions().allow_once(first.id, 7), "it was answered");
    while !asking.log.text().contains(r#""answer":"once","uid":7"#) {
        tokio::task::yield_now().await;
    }
    assert!(!two.is_finished(), "another host waits for an answer of its own");
    let third =
        asking.connect(if first.host.to_string() == "192.0.2.1" { "192.0.2.1:9" } else { "192.0.2.2:9" });
    let again = asking.question().await;
    assert_eq!(again.host, first.host, "the next connection asks again");
    for waiting in [one, two, third] {
        waiting.abort();
    }
}

#[tokio::test]
async fn nobody_is_asked_about_what_rules_deny_or_what_leads_inwards() {
    let asking = asking(&["*.example.net:443"], &["*.example.org"]).await;
    let port = closing_server().await;
    for host in [
        "b.example.org:443", "localhost:80", "169.254.169.254:80", "10.0.0.1:80", "[::1]:22", "a_b!:443",
        "probe.invalid:443",
    ] {
        let answer = asking.connect(host).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 4"), "{host}: {answer}");
    }
    assert!(asking.connect(format!("127.0.0.1:{port}")).await.unwrap().starts_with("HTTP/1.1 403"));
    assert!(asking.news.try_recv().is_err() && asking.answers().is_empty(), "{}", asking.log.text());
}

#[tokio::test(start_paused = true)]
async fn what_nobody_answers_is_refused_in_time() {
    let asking = asking(&[], &[]).await;
    let started = tokio::time::Instant::now();
    let answer = asking.proxy.clone();
    let waiting = asking.connect("b.example.org:443");
    let answered = waiting.await.unwrap();
    assert!(answered.starts_with("HTTP/1.1 403") && answered.contains("nobody has answered"), "{answered}");
    assert!(started.elapsed() >= PATIENCE && started.elapsed() < PATIENCE + Duration::from_secs(5));
    assert_eq!((asking.answers(), answer.audit().counts().refusals), (vec!["none".to_owned()], 1));
    // Nobody can answer any more: it is refused at once, as without questions.
    asking.proxy.questions().leave(asking.attending);
    let started = tokio::time::Instant::now();
    let answered = asking.connect("c.example.org:443").await.unwrap();
    assert!(answered.starts_with("HTTP/1.1 403") && !answered.contains("answer"), "{answered}");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn questions_are_bounded_and_end_with_who_has_asked() {
    let asking = asking(&[], &[]).await;
    let mut waiting = Vec::new();
    for number in 0..16 {
        waiting.push(asking.connect(format!("host{number}.example.org:443")));
        asking.question().await;
    }
    let refused = asking.connect("one.more.example.org:443").await.unwrap();
    assert!(refused.contains("too many other questions"), "{refused}");
    // Who goes away makes room.
    for (number, client) in waiting.into_iter().enumerate() {
        client.abort();
        while asking.answers().len() <= number {
            tokio::task::yield_now().await;
        }
    }
    for number in 0..14 {
        let client = asking.connect(format!("other{number}.example.org:443"));
        asking.question().await;
        client.abort();
        while asking.answers().len() <= 16 + number {
            tokio::task::yield_now().await;
        }
    }
    let refused = asking.connect("one.more.example.org:443").await.unwrap();
    assert!(refused.contains("within a minute"), "{refused}");
    // The control: a host that is decided is not asked about, and not refused for that.
    let mut changing = ChangingRules::new(Vec::new(), Vec::new());
    changing.deny(vec!["one.more.example.org".parse().unwrap()]).unwrap();
    asking.proxy.set_rules(changing.rules());
    let refused = asking.connect("one.more.example.org:443").await.unwrap();
    assert!(refused.contains("wins over `allow`"), "{refused}");
}
