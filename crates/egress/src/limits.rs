//! Limits: how much of the proxy's memory, descriptors and patience one sandbox may use.

use std::time::Duration;

/// How large the head of a request or of an answer may be, in bytes.
pub(crate) const MAX_HEAD: usize = 64 << 10;

/// The limits of one sandbox.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// How many connections it may have open to its proxy at once. Each needs two descriptors.
    pub connections: usize,
    /// How many listeners it may have for names. Each needs a descriptor.
    pub listeners: usize,
    /// How long what a client says first may take to arrive.
    pub head: Duration,
    /// How long a connection may wait for its next request of HTTP, and that take to arrive.
    pub kept: Duration,
    /// How long it may take to reach a host.
    pub connect: Duration,
    /// For how long nothing may pass, either way. What lasts longer ends after this span at the earliest, after twice as much at the latest.
    pub idle: Duration,
    /// How many bytes may pass in all, both ways together. Then what is open ends, and nothing more is dialled.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            listeners: 4096,
            head: Duration::from_secs(30),
            // Longer than clients keep connections that they do not use, which then never meet one that is just being closed.
            kept: Duration::from_secs(120),
            connect: Duration::from_secs(30),
            // A model may think for minutes before its first word, and a database may wait for hours: those send keep-alives.
            idle: Duration::from_secs(30 * 60),
            bytes: u64::MAX,
        }
    }
}

impl Limits {
    /// Lowers the numbers of connections and of listeners to what so many descriptors are enough for.
    #[must_use]
    pub fn within(self, descriptors: usize) -> Self {
        // Standard streams, logs, DNS, and connections to upstreams that are kept.
        let kept = 64.min(descriptors / 2);
        let listeners = self.listeners.min((descriptors - kept) / 4);
        let connections = self.connections.min((descriptors - kept - listeners) / 2);
        Self { connections, listeners, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;

    #[test]
    fn connections_and_listeners_fit_into_the_descriptors() {
        for (descriptors, expected) in
            [(1 << 20, (1024, 4096)), (4096, (1024, 1008)), (1024, (360, 240)), (64, (12, 8)), (0, (0, 0))]
        {
            let limits = Limits::default().within(descriptors);
            assert_eq!((limits.connections, limits.listeners), expected, "{descriptors}");
        }
    }
}
