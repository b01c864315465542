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
    .in_every_network()
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

def ask(family, address):
    question = socket.socket(family, socket.SOCK_DGRAM)
    question.sendto(b"which address has a name?", (address, 53))

attempt("a datagram", lambda: ask(socket.AF_INET, "192.0.2.1"))
attempt("a datagram by IPv6", lambda: ask(socket.AF_INET6, "2001:db8::1"))

# Sockets of ping(8) need no right, but that of a group (ping_group_range, icmp(7)).
def ping(family, protocol, address, kind):
    echo = socket.socket(family, socket.SOCK_DGRAM, protocol)
    echo.sendto(bytes([kind, 0, 0, 0, 0, 1, 0, 1]), (address, 0))

attempt("an echo request", lambda: ping(socket.AF_INET, socket.IPPROTO_ICMP, "192.0.2.1", 8))
attempt("an echo request by IPv6", lambda: ping(socket.AF_INET6, socket.IPPROTO_ICMPV6, "2001:db8::1", 128))
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
done
echo 0 0 >/proc/sys/net/ipv4/ping_group_range
# The kernel adds the route of an IPv6 address a moment after the address.
for address in 2001:db8::1 fd00:ec2::254; do
    until ip -6 route show table local | grep -q "^local $address "; do :; done
done""", shell=True, check=True)
listener = socket.create_server(("::", 53), family=socket.AF_INET6, dualstack_ipv6=True)
"#,
    )
    .in_every_network()
    .gets(&[
        ("192.0.2.1", "ok", "ENETUNREACH"),
        ("10.0.0.1", "ok", "ENETUNREACH"),
        ("172.17.0.1", "ok", "ENETUNREACH"),
        ("169.254.169.254", "ok", "ENETUNREACH"),
        ("2001:db8::1", "ok", "ENETUNREACH"),
        ("fd00:ec2::254", "ok", "ENETUNREACH"),
        ("a datagram", "ok", "ENETUNREACH"),
        ("a datagram by IPv6", "ok", "ENETUNREACH"),
        // Docker gives containers the group for sockets of ping(8); there is nowhere to send from them.
        ("an echo request", "ok", "EACCES|ENETUNREACH"),
        ("an echo request by IPv6", "ok", "EACCES|ENETUNREACH"),
    ]);
}
