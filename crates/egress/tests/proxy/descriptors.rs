//! More connections than there are descriptors: those that fit are served, and the listener outlives the rest.

use std::os::fd::OwnedFd;
use std::process::Command;

use egress::limits::Limits;
use egress::proxy::Setup;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{PATIENCE, head, rest, rules, serve, server};

/// Set in the process that has few descriptors.
const FEW: &str = "EGRESS_TEST_FEW_DESCRIPTORS";

/// Returns how many descriptors this process may have.
fn allowed() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    line.split_whitespace().nth(3).unwrap().parse().unwrap()
}

#[tokio::test]
async fn ten_thousand_connections_at_once_leave_the_proxy_alive() {
    // Both ends are in this process. Other tests run beside this one.
    let count = 10_000.min((allowed() / 2).saturating_sub(300)).max(50);
    let limits = Limits { connections: count / 10, ..Limits::default() };
    let (at, server) =
        server("\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
    let (proxy, shared) = serve(Setup { limits, ..Setup::from(rules(&[at.to_string()])) }).await;
    let mut streams = Vec::new();
    for _ in 0..count {
        streams.push(TcpStream::connect(proxy).await.unwrap());
    }
    // What was refused is closed or says why; what was admitted waits for a request.
    let refused = async {
        while shared.audit().counts().errors < (count - limits.connections) as u64 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, refused).await.unwrap();
    let last = rest(streams.last_mut().unwrap()).await;
    assert!(last.is_empty() || last.contains("egress.busy"), "{last}");
    let first = &mut streams[0];
    let request = format!("GET http://{at}/ HTTP/1.1\r\nHost: x\r\n\r\n");
    first.write_all(request.as_bytes()).await.unwrap();
    assert!(head(first).await.starts_with("HTTP/1.1 200"));
    assert!(server.await.unwrap().starts_with("GET / HTTP/1.1"));
}

/// Needs a process of its own, because it takes all descriptors.
#[tokio::test]
async fn a_lack_of_descriptors_does_not_end_the_listener() {
    if std::env::var_os(FEW).is_none() {
        let own = std::env::current_exe().unwrap();
        let name = "descriptors::a_lack_of_descriptors_does_not_end_the_listener";
        let status = Command::new("sh")
            .args(["-c", "ulimit -n 64 && exec \"$0\" --exact \"$1\""])
            .arg(own)
            .arg(name)
            .env(FEW, "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let (proxy, _) = serve(rules(&[])).await;
    let mut taken: Vec<OwnedFd> = Vec::new();
    let null = std::fs::File::open("/dev/null").unwrap();
    // A client that has its descriptor, and no descriptor for the proxy to accept it with.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    while let Ok(one) = null.try_clone() {
        taken.push(one.into());
    }
    let mut stream = socket.connect(proxy).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let answer = tokio::time::timeout(std::time::Duration::from_millis(300), stream.readable()).await;
    assert!(answer.is_err(), "control: it was not accepted");
    drop(taken);
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}
