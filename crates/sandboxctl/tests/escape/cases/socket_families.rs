//! Sockets that are more than a way to talk: raw ones, and families that lead past every namespace.

use crate::attack::{Attack, Control};

#[test]
fn only_plain_sockets_are_made() {
    Attack::new(
        r#"
def make(family, kind, protocol=0):
    checked(libc.socket(family, kind, protocol))

STREAM, DATAGRAM, RAW = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW
attempt("raw IPv4", lambda: make(socket.AF_INET, RAW, socket.IPPROTO_ICMP))
attempt("raw IPv6", lambda: make(socket.AF_INET6, RAW, socket.IPPROTO_ICMPV6))
attempt("packet", lambda: make(socket.AF_PACKET, RAW, 0x300))
attempt("packet, cooked", lambda: make(socket.AF_PACKET, DATAGRAM, 0x300))
attempt("vsock", lambda: make(socket.AF_VSOCK, STREAM))
attempt("netlink for firewalls", lambda: make(socket.AF_NETLINK, DATAGRAM, 12))
attempt("netlink for events", lambda: make(socket.AF_NETLINK, DATAGRAM, 15))
attempt("netlink for diagnosis", lambda: make(socket.AF_NETLINK, DATAGRAM, 4))
attempt("raw socketpair", lambda: checked(libc.socketpair(socket.AF_PACKET, RAW, 0, (ctypes.c_int * 2)())))
"#,
    )
    .control(Control::Namespaces(&[]))
    // A kernel may have no vsock and none of two kinds of netlink; the filter does not ask it.
    .in_every_network()
    .gets(&[
        ("raw IPv4", "ok", "EPERM"),
        ("raw IPv6", "ok", "EPERM"),
        ("packet", "ok", "EPERM"),
        ("packet, cooked", "ok", "EAFNOSUPPORT"),
        ("vsock", "ok|EAFNOSUPPORT", "EAFNOSUPPORT"),
        ("netlink for firewalls", "ok|EPROTONOSUPPORT", "EAFNOSUPPORT"),
        ("netlink for events", "ok", "EAFNOSUPPORT"),
        ("netlink for diagnosis", "ok|EPROTONOSUPPORT", "EAFNOSUPPORT"),
        ("raw socketpair", "ENOTSUP", "EPERM"),
    ]);
}
