//! Any bytes as what a client and the processes of a persistent sandbox say to each other: reading them ends without a panic, and what was
//! read is sent and read again as the same.
#![no_main]

use std::fmt::Debug;
use std::io::Write;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use confine::protocol::{
    ControlSocket, ExecRequest, FileEvent, FileRequest, Purpose, SandboxUsage, StayStatus,
};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a socket's buffer takes without a reader.
const MOST: usize = 64 << 10;

fuzz_target!(|bytes: &[u8]| {
    let bytes = &bytes[..bytes.len().min(MOST)];
    // As PID 1 has it: the first byte says what follows.
    match bytes.split_first().map(|(first, rest)| (Purpose::of(*first), rest)) {
        Some((Some(Purpose::Exec), rest)) => read_to_the_end::<ExecRequest>(rest),
        Some((Some(Purpose::Files), rest)) => {
            read_to_the_end::<FileRequest>(rest);
            read_to_the_end::<FileEvent>(rest);
        }
        Some((Some(Purpose::Status), rest)) => read_to_the_end::<StayStatus>(rest),
        Some((Some(Purpose::Usage), rest)) => read_to_the_end::<SandboxUsage>(rest),
        Some((Some(purpose), _)) => assert_eq!(purpose.byte(), bytes[0]),
        Some((None, _)) | None => {}
    }
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
