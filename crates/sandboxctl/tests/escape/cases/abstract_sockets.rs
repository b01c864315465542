//! Abstract sockets: names without a file, so that no mount hides them.

use std::mem;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::attack::Attack;

#[test]
fn no_abstract_socket_of_the_host_answers() {
    Attack::new(
        r#"
attempt("connect", lambda: socket.socket(socket.AF_UNIX).connect("\0" + sys.argv[1]))
"#,
    )
    .prepare(|place| {
        let name = place.workspace().to_str().unwrap().to_owned();
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        mem::forget(UnixListener::bind_addr(&address).unwrap());
        vec![name]
    })
    .in_every_network()
    .gets(&[("connect", "ok", "ECONNREFUSED")]);
}
