//! Bodies of answers: made here, or passed on as they arrive; and those of requests.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use crate::refusal::Refusal;

/// The body of an answer.
pub(crate) type Body = BoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// Returns a body that is all there.
pub(crate) fn whole(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).map_err(|never| match never {}).boxed()
}

/// Returns a body that passes as it arrives.
pub(crate) fn passing(body: Incoming) -> Body {
    body.map_err(Into::into).boxed()
}

/// Returns a body that passes as it arrives, and ends in an error when nothing has arrived for so long.
pub(crate) fn patient(body: Incoming, limit: Duration) -> Body {
    Patient { body, limit, end: Box::pin(sleep(limit)) }.boxed()
}

/// The body of a request as it leaves. Fields that follow it do not: nobody has looked at them, and some servers take them for headers.
pub(crate) struct Leaving(pub(crate) Incoming);

impl HttpBody for Leaving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let polled = Pin::new(&mut self.0).poll_frame(context);
        polled.map(|frame| frame.filter(|frame| !frame.as_ref().is_ok_and(Frame::is_trailers)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

struct Patient {
    body: Incoming,
    limit: Duration,
    end: Pin<Box<Sleep>>,
}

impl HttpBody for Patient {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            let end = Instant::now() + self.limit;
            self.end.as_mut().reset(end);
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        self.end.as_mut().poll(context).map(|()| Some(Err(Refusal::Silent(self.limit).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
