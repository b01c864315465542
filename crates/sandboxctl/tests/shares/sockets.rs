//! Sockets of the host that the command can connect to, in every provider: bytes pass as without a sandbox, and nothing else does.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread::{self, JoinHandle};

use crate::machine::{Caller, Feature, NORMAL, Runner, callers, is_there};
use crate::place::Place;
use crate::{error, places, said};

/// Listens at a path in a place, as the caller's service.
fn listen(place: &Place, name: &str) -> (PathBuf, UnixListener) {
    let path = place.path(name);
    let listener = UnixListener::bind(&path).unwrap();
    place.give(&path);
    (path, listener)
}

/// Serves connections until a thread ends: each of them is for `serve`.
fn serve<T: Send + 'static>(
    listener: UnixListener,
    connections: usize,
    mut serve: impl FnMut(UnixStream) -> T + Send + 'static,
) -> JoinHandle<Vec<T>> {
    thread::spawn(move || (0..connections).map(|_| serve(listener.accept().unwrap().0)).collect())
}

fn python(place: &Place, flags: &[&str], script: &str) -> Output {
    place.inside(&[&["--quiet"], flags].concat(), &["python3", "-c", script]).output().unwrap()
}

/// Sends more than any buffer holds, closes its half, and compares what comes back with what was sent.
const ECHO: &str = "
import os, socket, sys, threading
sent = os.urandom(3_000_000)
s = socket.socket(socket.AF_UNIX); s.connect(os.environ['SERVICE'])
def send(): s.sendall(sent); s.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
back = b''
while part := s.recv(65536): back += part
print(back == sent)
";

#[test]
fn bytes_pass_both_ways_and_each_half_closes_by_itself() {
    for (place, what) in places("sockets of the host") {
        let (path, listener) = listen(&place, "service.sock");
        // Only once everything has come does it answer.
        let server = serve(listener, 1, |mut stream| {
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            stream.write_all(&all).unwrap();
            all.len()
        });
        place.write(
            "workspace/sandbox.toml",
            "[sockets]\nservice = { host = \"../service.sock\", env_var = \"SERVICE\" }\n",
        );
        let refused = python(&place, &[], ECHO);
        let asked = format!("lets the agent connect to the socket {}", path.display());
        assert!(error(&refused).contains("trust"), "{what}: {refused:?}");
        let shown = place
            .outside(&[place.path("sandboxctl").as_os_str(), OsStr::new("trust"), OsStr::new("--show")])
            .output();
        assert!(said(shown.as_ref().unwrap()).contains(&asked), "{what}: {shown:?}");
        let output = python(&place, &["--trust"], ECHO);
        assert_eq!(said(&output), "True\n", "{what}: {output:?}");
        assert_eq!(server.join().unwrap(), [3_000_000]);
    }
}

#[test]
fn no_descriptor_passes_in_either_direction() {
    const TAKE: &str = "
import array, os, socket
s = socket.socket(socket.AF_UNIX); s.connect('/run/given.sock')
data, ancillary, flags, _ = s.recvmsg(10, socket.CMSG_SPACE(4))
print(data, [len(item[2]) for item in ancillary])
with open('/workspace/mine', 'w') as file:
    s.sendmsg([b'take'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [file.fileno()]))])
s.shutdown(socket.SHUT_WR); s.recv(1)
";
    for (place, what) in places("descriptors through sockets of the host") {
        let (path, listener) = listen(&place, "given.sock");
        let socket = path.to_str().unwrap();
        let server = serve(listener, 2, |stream| {
            let file = std::fs::File::open("/etc/hostname").unwrap();
            let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = rustix::net::SendAncillaryBuffer::new(&mut space);
            let given = [file.as_fd()];
            assert!(ancillary.push(rustix::net::SendAncillaryMessage::ScmRights(&given)));
            let bytes = [std::io::IoSlice::new(b"given")];
            rustix::net::sendmsg(&stream, &bytes, &mut ancillary, rustix::net::SendFlags::empty()).unwrap();
            let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = rustix::net::RecvAncillaryBuffer::new(&mut space);
            let mut data = [0; 10];
            let bytes = &mut [std::io::IoSliceMut::new(&mut data)];
            rustix::net::recvmsg(&stream, bytes, &mut ancillary, rustix::net::RecvFlags::empty()).unwrap();
            (data[..4].to_vec(), ancillary.drain().count())
        });
        // The control, without a sandbox.
        let script = TAKE.replace("/run/given.sock", socket).replace("/workspace/mine", "mine");
        let control = place.outside(&["python3", "-c", &script]).output().unwrap();
        assert_eq!(said(&control), "b'given' [4]\n", "{what}: {control:?}");
        let output = python(&place, &["--socket", &format!("{socket}:/run/given.sock")], TAKE);
        assert_eq!(said(&output), "b'given' []\n", "{what}: {output:?}");
        assert_eq!(server.join().unwrap(), [(b"take".to_vec(), 1), (b"take".to_vec(), 0)], "{what}");
    }
}

#[test]
fn a_variable_names_the_socket_and_has_its_path_inside() {
    for (place, what) in places("a socket that a variable names") {
        let (path, listener) = listen(&place, "agent.sock");
        let server = serve(listener, 1, |mut stream| stream.write_all(b"hello").unwrap());
        let script = "
import os, socket
path = os.environ['SSH_AUTH_SOCK']
s = socket.socket(socket.AF_UNIX); s.connect(path); print(path, s.recv(9))
";
        let mut command =
            place.inside(&["--report", "--socket", "env:SSH_AUTH_SOCK"], &["python3", "-c", script]);
        let output = command.env("SSH_AUTH_SOCK", &path).output().unwrap();
        // Temporary directories lie in /tmp, and there the sandbox can have it, too.
        let inside =
            if path.starts_with("/tmp") { path.to_str().unwrap() } else { "/run/ssh_auth_sock.sock" };
        assert_eq!(said(&output), format!("{inside} b'hello'\n"), "{what}: {output:?}");
        let line = format!("relayed to the host: {}", path.display());
        assert!(
            error(&output).lines().any(|said| said.starts_with("sockets ") && said.contains(&line)),
            "{what}: {output:?}"
        );
        server.join().unwrap();
        // The control: nothing of it is there unless it is named.
        let output = place
            .inside(&["--quiet"], &["python3", "-c", script])
            .env("SSH_AUTH_SOCK", &path)
            .output()
            .unwrap();
        assert!(error(&output).contains("KeyError: 'SSH_AUTH_SOCK'"), "{what}: {output:?}");
    }
}

#[test]
fn a_service_that_is_gone_is_named_and_nothing_waits_for_it() {
    for (place, what) in places("a service that is gone") {
        let (path, listener) = listen(&place, "gone.sock");
        let ask = "
import socket
for _ in range(3):
    s = socket.socket(socket.AF_UNIX); s.connect('/run/gone.sock'); print(s.recv(1))
";
        drop(listener);
        let flag = format!("{}:/run/gone.sock", path.display());
        let output = place.inside(&["--socket", &flag], &["python3", "-c", ask]).output().unwrap();
        assert_eq!(said(&output), "b''\n".repeat(3), "{what}: {output:?}");
        let warning = format!("cannot connect to the socket {}: Connection refused", path.display());
        assert_eq!(error(&output).matches(&warning).count(), 1, "{what}: {output:?}");
        // One of datagrams is none to connect a stream to.
        std::fs::remove_file(&path).unwrap();
        let datagrams = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        place.give(&path);
        let output = place.inside(&["--socket", &flag], &["python3", "-c", ask]).output().unwrap();
        assert!(error(&output).contains("Protocol wrong type for socket"), "{what}: {output:?}");
        drop(datagrams);
        // What is not there at all, or is no socket, is refused before anything starts.
        std::fs::remove_file(&path).unwrap();
        let output = place.inside(&["--socket", &flag], &["true"]).output().unwrap();
        assert!(error(&output).contains("gone.sock` does not exist"), "{what}: {output:?}");
        place.write("gone.sock", "");
        let output = place.inside(&["--socket", &flag], &["true"]).output().unwrap();
        assert!(error(&output).contains("is no socket, but a file"), "{what}: {output:?}");
    }
}

#[test]
fn many_connections_at_once_are_each_served() {
    const MANY: &str = "
import socket, threading
def ask(number):
    s = socket.socket(socket.AF_UNIX); s.connect('/tmp/many/s'); s.sendall(b'%d' % number); s.shutdown(socket.SHUT_WR)
    answers.append(s.recv(99) == b'%d' % number)
answers = []
threads = [threading.Thread(target=ask, args=[number]) for number in range(200)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(answers), all(answers))
";
    for (place, what) in places("many connections") {
        let (path, listener) = listen(&place, "many.sock");
        let server = serve(listener, 200, |mut stream| {
            thread::spawn(move || {
                let mut all = String::new();
                stream.read_to_string(&mut all).unwrap();
                stream.write_all(all.as_bytes()).unwrap();
                stream.shutdown(Shutdown::Both)
            });
        });
        let flag = format!("{}:/tmp/many/s", path.display());
        let output = python(&place, &["--socket", &flag], MANY);
        assert_eq!(said(&output), "200 True\n", "{what}: {output:?}");
        server.join().unwrap();
    }
}

#[test]
fn whoever_has_few_descriptors_serves_a_few_connections_at_a_time() {
    // Each waits until all of them are there, and then for its turn.
    const WAIT: &str = "
import resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400))
def connect():
    s = socket.socket(socket.AF_UNIX); s.connect('/run/few.sock'); s.sendall(b'x'); return s
all = [connect() for _ in range(100)]
answers = []
for s in all: answers.append(s.recv(1)); s.close()
print(len(answers), set(answers))
";
    for caller in callers("few descriptors") {
        let place = Place::new(caller);
        let (path, listener) = listen(&place, "few.sock");
        let server = serve(listener, 100, |mut stream| {
            thread::spawn(move || {
                let mut one = [0];
                stream.read_exact(&mut one).and_then(|()| stream.write_all(&one))
            });
        });
        let flag = format!("{}:/run/few.sock", path.display());
        let run = place.run(&["--quiet", "--socket", &flag], &["python3", "-c", WAIT]);
        let few = ["sh", "-c", "ulimit -S -n 80; exec \"$@\"", "sh"].map(Into::into).into_iter();
        let output = place.outside(&few.chain(run).collect::<Vec<std::ffi::OsString>>()).output().unwrap();
        assert_eq!(said(&output), "100 {b'x'}\n", "by {caller:?}: {output:?}");
        server.join().unwrap();
    }
}

#[test]
fn a_service_sees_the_user_behind_sudo_and_a_link_that_is_put_there_is_not_followed() {
    if !is_there(Feature::Root, "services that see who connects") {
        return;
    }
    let place = Place::on(Caller::Normal, Runner::Native);
    let (path, listener) = listen(&place, "peer.sock");
    let (other, secret) = listen(&place, "other.sock");
    secret.set_nonblocking(true).unwrap();
    let server = serve(listener, 1, |mut stream| {
        let peer = rustix::net::sockopt::socket_peercred(&stream).unwrap();
        stream.write_all(b"x").unwrap();
        (peer.uid.as_raw(), peer.gid.as_raw())
    });
    let script = "
import socket, time
def ask():
    s = socket.socket(socket.AF_UNIX); s.connect('/run/peer.sock'); return s.recv(1)
print(ask(), flush=True); input(); print(ask())
";
    let flag = format!("{}:/run/peer.sock", path.display());
    let words = place.run(&["--socket", &flag], &["python3", "-u", "-c", script]);
    let sudo = |command: &mut Command| {
        command.env("SUDO_UID", NORMAL.to_string()).env("SUDO_GID", NORMAL.to_string());
    };
    let mut command = place.command(&words);
    sudo(&mut command);
    let command = command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut run = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    assert_eq!(crate::ready::next_line(&mut run), "b'x'\n");
    assert_eq!(server.join().unwrap(), [(NORMAL, NORMAL)]);
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&other, &path).unwrap();
    run.stdin.take().unwrap().write_all(b"\n").unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(said(&output), "b''\n", "{output:?}");
    assert!(error(&output).contains("cannot connect to the socket"), "{output:?}");
    assert_eq!(secret.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn keys_of_an_ssh_agent_are_listed_and_stay_outside() {
    if !is_there(Feature::Clients, "ssh-agent") {
        return;
    }
    for caller in callers("ssh-agent") {
        let place = Place::new(caller);
        let script = r#"
            eval "$(ssh-agent)" >/dev/null; trap 'ssh-agent -k >/dev/null' EXIT
            ssh-keygen -q -t ed25519 -N '' -C of-the-caller -f ../key; ssh-add -q ../key
            "$@" sh -c 'ssh-add -L; ls -a /home/agent/.ssh 2>&1'
        "#;
        let run = place.run(&["--quiet", "--socket", "env:SSH_AUTH_SOCK"], &["env"]);
        place.give(place.path("x").parent().unwrap());
        let words = ["sh", "-c", script, "sh"].map(Into::into).into_iter().chain(run);
        let output = place.outside(&words.collect::<Vec<std::ffi::OsString>>()).output().unwrap();
        assert!(
            said(&output).starts_with("ssh-ed25519 ") && said(&output).contains("of-the-caller"),
            "{output:?}"
        );
        assert!(said(&output).contains("/home/agent/.ssh': No such file"), "{output:?}");
    }
}
