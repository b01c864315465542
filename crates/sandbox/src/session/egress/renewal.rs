//! Credentials that are read again while a sandbox lives: the egress proxy asks for one that a server has refused.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use confine::protocol::{ControlSocket, RenewedValue};
use policy::plan::{Plan, Secret, SecretSource};
use rustix::net::Shutdown;
use zeroize::Zeroizing;

use crate::secrets::SecretValue;
use crate::session::closed::Closed;

/// Between two readings of a source. An agent can have a server refuse the credential as often as it likes.
const PAUSE: Duration = Duration::from_secs(30);

/// Reads a secret again, and says itself why it cannot. What that waits for ends when the descriptor can be read.
pub type SecretRenewer<'a> = dyn Fn(&Secret, BorrowedFd<'_>) -> Option<SecretValue> + Sync + 'a;

/// Answers what an egress proxy asks on this socket, in a thread of its own, for as long as something else lasts.
pub(crate) fn during<T>(
    socket: Option<OwnedFd>,
    plan: &Plan,
    read: Option<&SecretRenewer<'_>>,
    watch: impl FnOnce() -> T,
) -> T {
    // A variable of this process has the value that it had.
    let can_change = |secret: &&Secret| !matches!(secret.source, SecretSource::Env(_));
    let secrets: BTreeMap<&str, &Secret> = plan
        .routes
        .iter()
        .filter_map(|route| Some((route.name.as_str(), route.credential.as_ref().filter(can_change)?)))
        .collect();
    let (Some(socket), Some(read)) = (socket.filter(|_| !secrets.is_empty()), read) else { return watch() };
    let Ok(end) = socket.try_clone() else { return watch() };
    thread::scope(|scope| {
        // Without it, a credential stays what it was.
        let _ = thread::Builder::new().spawn_scoped(scope, || answer(socket, &secrets, read));
        let watched = watch();
        let _ = rustix::net::shutdown(&end, Shutdown::Both);
        watched
    })
}

fn answer(socket: OwnedFd, secrets: &BTreeMap<&str, &Secret>, read: &SecretRenewer<'_>) {
    let Ok(over) = socket.try_clone() else { return };
    let mut control = ControlSocket::from(socket);
    let mut last: BTreeMap<&str, Instant> = BTreeMap::new();
    while let Ok(Some(route)) = control.receive::<String>() {
        let known = secrets.get_key_value(route.as_str());
        let due = known.filter(|(route, _)| last.get(**route).is_none_or(|last| last.elapsed() >= PAUSE));
        let value: RenewedValue = due.and_then(|(route, secret)| {
            last.insert(route, Instant::now());
            let _closed = Closed::close().ok()?;
            let value = read(secret, over.as_fd())?;
            Some(Zeroizing::new(value.as_bytes().to_vec()))
        });
        if control.send(&value, &[]).is_err() {
            return;
        }
    }
}
