//! The answer to a request as a stream of events, see <https://html.spec.whatwg.org/multipage/server-sent-events.html>.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame};
use rmcp::model::JsonRpcMessage;
use tokio::time::{Instant, Interval, interval_at};

use super::session::Pending;
use crate::room::Held;

/// How often something is sent where there is nothing to say, so that nobody on the way takes the connection for dead.
const ALIVE: Duration = Duration::from_secs(15);

/// The events that answer a request.
pub(super) struct Events {
    /// None after the answer.
    pending: Option<Pending>,
    ticks: Interval,
}

/// An event that is being written, and the room that it takes until then.
struct Event {
    text: String,
    _room: Held,
}

impl AsRef<[u8]> for Event {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl Events {
    /// Makes the stream of what answers this request.
    pub(super) fn new(pending: Pending) -> Self {
        Self { pending: Some(pending), ticks: interval_at(Instant::now() + ALIVE, ALIVE) }
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(pending) = &mut self.pending else { return Poll::Ready(None) };
        match pending.poll_next(context) {
            Poll::Ready(Some(message)) => {
                let data = serde_json::to_string(&message).unwrap_or_default();
                let text = format!("event: message\ndata: {data}\n\n");
                let room = pending.room_for(text.len());
                if matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) {
                    self.pending = None;
                }
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(Event { text, _room: room })))))
            }
            Poll::Ready(None) => {
                self.pending = None;
                Poll::Ready(None)
            }
            Poll::Pending => {
                ready!(self.ticks.poll_tick(context));
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b": it goes on\n\n")))))
            }
        }
    }
}
