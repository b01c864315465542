//! Any bytes on the control socket: reading them ends without a panic, and what was read is sent and read again as the same.
#![no_main]

use std::fmt::Debug;
use std::io::Write;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use confine::protocol::{ControlSocket, Event, Request};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a socket's buffer takes without a reader.
const MOST: usize = 64 << 10;

fuzz_target!(|bytes: &[u8]| {
    let bytes = &bytes[..bytes.len().min(MOST)];
    read_to_the_end::<Event>(bytes);
    read_to_the_end::<Request>(bytes);
});

fn read_to_the_end<M: Debug + DeserializeOwned + Serialize>(bytes: &[u8]) {
    let (mut ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    ours.write_all(bytes).expect("it fits into the buffer");
    ours.shutdown(Shutdown::Write).expect("it is connected");
    let mut theirs = ControlSocket::from(OwnedFd::from(theirs));
    while let Ok(Some(message)) = theirs.receive::<M>() {
        let (mut sender, mut receiver) = ControlSocket::pair().expect("a pair of sockets");
        sender.send(&message, &[]).expect("what was read can be sent");
        let again = receiver.receive::<M>().expect("what was sent can be read").expect("it was sent");
        assert_eq!(format!("{message:?}"), format!("{again:?}"));
    }
}
