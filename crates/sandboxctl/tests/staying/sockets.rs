//! Sockets of the host in persistent sandboxes: served without a client, for as long as PID 1 lives.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Instant;

use rustix::net::sockopt::socket_peercred;

use crate::place::Place;
use crate::{PATIENCE, Staying, everywhere, ours, said};

/// Answers one connection after the other, and returns which process has connected each.
fn serve(listener: UnixListener, connections: usize) -> std::thread::JoinHandle<Vec<(u32, i32)>> {
    let answer = |mut stream: UnixStream| {
        let mut sent = Vec::new();
        stream.read_to_end(&mut sent).unwrap();
        sent.make_ascii_uppercase();
        stream.write_all(&sent).unwrap();
        let peer = socket_peercred(&stream).unwrap();
        (peer.uid.as_raw(), peer.pid.as_raw_nonzero().get())
    };
    std::thread::spawn(move || (0..connections).map(|_| answer(listener.accept().unwrap().0)).collect())
}

/// Asks the service, from inside.
const ASK: &str = "
import socket
s = socket.socket(socket.AF_UNIX); s.connect('/run/given.sock')
s.sendall(b'ping'); s.shutdown(socket.SHUT_WR)
print(s.recv(10).decode())
";

#[test]
fn a_service_is_reached_until_the_sandbox_ends() {
    for (caller, runner) in everywhere("sockets of the host in persistent sandboxes") {
        let place = Place::on(caller, runner);
        let path = place.path("service.sock");
        let listener = UnixListener::bind(&path).unwrap();
        place.give(&path);
        let server = serve(listener, 3);
        let sandbox = Staying::create(&place, &["--socket", &format!("{}:/run/given.sock", path.display())]);
        for _ in 0..2 {
            assert_eq!(sandbox.prints(&["python3", "-c", ASK]), "PING\n", "in {runner:?} by {caller:?}");
        }

        // Started again, it is served again.
        said(&ours(&place, &["stop", &sandbox.name]).output().unwrap());
        said(&ours(&place, &["start", &sandbox.name]).output().unwrap());
        assert_eq!(sandbox.prints(&["python3", "-c", ASK]), "PING\n", "in {runner:?} by {caller:?}");

        // One process of the caller's has connected for each life, and none is left.
        let relays = server.join().unwrap();
        let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&path).unwrap());
        assert!(relays.iter().all(|(uid, _)| *uid == owner), "in {runner:?} by {caller:?}: {relays:?}");
        let numbers: Vec<_> = relays.iter().map(|(_, pid)| *pid).collect();
        assert!(
            numbers[0] == numbers[1] && numbers[1] != numbers[2],
            "in {runner:?} by {caller:?}: {numbers:?}"
        );
        let lives = |pid: i32| Path::new(&format!("/proc/{pid}")).exists();
        // The control: it lives without a client.
        assert!(lives(numbers[2]), "in {runner:?} by {caller:?}");
        said(&ours(&place, &["rm", "--force", &sandbox.name]).output().unwrap());
        let until = Instant::now() + PATIENCE;
        while numbers.iter().any(|pid| lives(*pid)) {
            assert!(Instant::now() < until, "in {runner:?} by {caller:?}: {numbers:?}");
        }
    }
}
