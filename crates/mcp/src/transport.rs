//! How clients are reached: over standard streams, or HTTP.

pub mod http;
mod inbound;
pub mod stdio;
pub(crate) mod token;

use std::sync::Arc;
use std::time::Duration;

use sandbox::host::left;
use tokio::runtime::{Builder, Runtime};

use crate::admission::{COMMANDS, ENDS, QUICK};
use crate::session::Session;

/// The longest message that is read.
const MOST_MESSAGE: usize = 4 << 20;

/// How long the rest may take when the server ends: calls that are to end, and sandboxes that are removed.
const ENDING: Duration = Duration::from_secs(30);

/// Makes the threads of a server: two speak the protocol, and so many wait for sandboxes as calls may run at once, with some for streams and for sessions
/// that end.
fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(COMMANDS + QUICK + ENDS + 8)
        .thread_name("mcp")
        .enable_all()
        .build()
}

/// Ends what a client had, on a thread that may wait.
async fn end(session: Arc<Session>) {
    // It fails where the runtime ends, which waits for it.
    let _ = tokio::task::spawn_blocking(move || session.end()).await;
}

/// Collects what has ended of sandboxes that were made here: PID 1 and its sidecars are children of this process, which lives on.
async fn collect_children() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut ended) = signal(SignalKind::child()) else { return };
    while ended.recv().await.is_some() {
        left::collect();
    }
}
