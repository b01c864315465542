//! A sandbox that is made ahead: its PID 1 waits for the client that is going to use it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How PID 1 waits for the client that is going to use it. It answers [`Event::Ready`](super::Event::Ready), and does not end with its first
/// client any more when it has answered [`Event::Stays`](super::Event::Stays) to [`Request::Leave`](super::Request::Leave).
///
/// Descriptors: the socket that it listens on, then [`Warm::held`] others. The first who connects is its client from then on, and reads
/// [`Event::Ready`](super::Event::Ready) first, with the held descriptors but for the first of them.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Warm {
    /// How long it waits before it ends.
    pub max_age: Duration,
    /// How many descriptors it only keeps open: files that are locked for as long as it lives.
    pub held: u8,
}
