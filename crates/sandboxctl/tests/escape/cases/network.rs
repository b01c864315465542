//! Reaching anything over the network: this host, others, name servers, the metadata service of a cloud.

use std::mem;
use std::net::{TcpListener, UdpSocket};
use std::thread;

use crate::attack::{Attack, Control};

#[test]
fn the_loopback_of_the_host_is_another_one() {
    Attack::new(
        r#"
tcp, udp = map(int, sys.argv[1:])
attempt("connect to a listener of the host", lambda: socket.create_connection(("127.0.0.1", tcp)))
attempt("the same by IPv6", lambda: socket.create_connection(("::ffff:127.0.0.1", tcp)))

def ask_a_name_server():
    question = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    question.connect(("127.0.0.1", udp))
    question.send(b"which address has a name?")
    question.recv(100)

attempt("ask a name server of the host", ask_a_name_server)
"#,
    )
    .prepare(|_| {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let ports = [tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port()];
        mem::forget(tcp);
        thread::spawn(move || {
            while let Ok((_, asker)) = udp.recv_from(&mut [0; 100]) {
                let _ = udp.send_to(b"192.0.2.1", asker);
            }
        });
        ports.map(|port| port.to_string()).to_vec()
    })
    .gets(&[
        ("connect to a listener of the host", "ok", "ECONNREFUSED"),
        ("the same by IPv6", "ok", "ECONNREFUSED"),
        ("ask a name server of the host", "ok", "ECONNREFUSED"),
    ]);
}

/// The addresses are those of documentation (RFC 5737, RFC 3849), of private networks and of metadata services.
/// In the control they are given to the loopback interface of a namespace of its own: no packet leaves.
#[test]
fn no_other_host_is_reached() {
    Attack::new(
        r#"
for address in ["192.0.2.1", "10.0.0.1", "172.17.0.1", "169.254.169.254", "2001:db8::1", "fd00:ec2::254"]:
    attempt(address, lambda: socket.create_connection((address, 53)))

def ask():
    question = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    question.sendto(b"which address has a name?", ("192.0.2.1", 53))

attempt("a datagram", ask)
"#,
    )
    .control(Control::Namespaces(&[]))
    .before_the_control(
        r#"
import subprocess
subprocess.run("""
ip link set lo up
for address in 192.0.2.1/32 10.0.0.1/32 172.17.0.1/32 169.254.169.254/32 2001:db8::1/128 fd00:ec2::254/128; do
    ip address add $address dev lo nodad
done""", shell=True, check=True)
listener = socket.create_server(("::", 53), family=socket.AF_INET6, dualstack_ipv6=True)
"#,
    )
    .gets(&[
        ("192.0.2.1", "ok", "ENETUNREACH"),
        ("10.0.0.1", "ok", "ENETUNREACH"),
        ("172.17.0.1", "ok", "ENETUNREACH"),
        ("169.254.169.254", "ok", "ENETUNREACH"),
        ("2001:db8::1", "ok", "ENETUNREACH"),
        ("fd00:ec2::254", "ok", "ENETUNREACH"),
        ("a datagram", "ok", "ENETUNREACH"),
    ]);
}
