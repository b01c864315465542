//! The audit log: one line of JSON for each connection, whether it was allowed or refused. No bodies and no secrets are in it.

use std::io::Write;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use policy::rules::verdict::{Decision, Verdict};
use serde::Serialize;

use crate::refusal::Refusal;
use crate::traffic::Traffic;

/// How a host was asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// CONNECT, or a request for a whole URL.
    Http,
    /// SOCKS5.
    Socks,
    /// A connection to an address that stands for a name.
    Transparent,
    /// A question of DNS.
    Dns,
    /// A route to a provider, to which the proxy adds a credential.
    Route,
}

/// How often what has happened.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Counts {
    /// Connections to hosts.
    pub connections: u64,
    /// What was refused, or not reached.
    pub refusals: u64,
    /// Bytes that have left.
    pub sent: u64,
    /// Bytes that have come back.
    pub received: u64,
}

/// Where lines go, and what they add up to.
pub struct Audit {
    inner: Mutex<Inner>,
}

struct Inner {
    lines: Box<dyn Write + Send>,
    counts: Counts,
}

/// What is known of a connection while it lasts.
pub(crate) struct Open {
    via: Via,
    host: String,
    port: u16,
    began: Instant,
    time: SystemTime,
    address: Option<IpAddr>,
    rule: Option<String>,
    error: Option<String>,
    pub(crate) traffic: Arc<Traffic>,
}

impl Open {
    /// Begins one.
    pub(crate) fn new(via: Via, host: &str, port: u16) -> Self {
        let (began, time) = (Instant::now(), SystemTime::now());
        Self {
            via,
            host: host.to_owned(),
            port,
            began,
            time,
            address: None,
            rule: None,
            error: None,
            traffic: Arc::default(),
        }
    }

    /// Notes which address was dialled, and by which rule.
    pub(crate) fn connected(&mut self, address: IpAddr, verdict: &Verdict) {
        self.address = Some(address);
        self.rule = Some(verdict.rule.clone());
    }

    /// Notes what went wrong after that.
    pub(crate) fn failed(&mut self, error: String) {
        self.error = Some(error);
    }
}

/// A line, as it is written.
#[derive(Serialize)]
struct Line<'a> {
    /// Milliseconds since the epoch, when it was asked for.
    time: u128,
    via: Via,
    host: &'a str,
    port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
    verdict: Decision,
    rule: &'a str,
    /// What went wrong although it was allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    sent: u64,
    received: u64,
    /// How long it has lasted.
    ms: u128,
}

impl Audit {
    /// Makes one that writes its lines there.
    pub fn new(lines: impl Write + Send + 'static) -> Self {
        Self { inner: Mutex::new(Inner { lines: Box::new(lines), counts: Counts::default() }) }
    }

    /// Returns what has happened until now.
    pub fn counts(&self) -> Counts {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).counts
    }

    /// Records what was not connected.
    pub(crate) fn refused(&self, open: &Open, refusal: &Refusal) {
        let (verdict, rule, error) = match refusal {
            Refusal::Rule(verdict) => (verdict.decision, verdict.rule.clone(), None),
            Refusal::Mismatch(reason) => (Decision::Deny, reason.clone(), None),
            other => (Decision::Allow, String::new(), Some(other.to_string())),
        };
        self.write(open, verdict, &rule, error);
    }

    /// Records the end of a connection.
    pub(crate) fn closed(&self, open: &Open) {
        let rule = open.rule.as_deref().unwrap_or_default();
        self.write(open, Decision::Allow, rule, open.error.clone());
    }

    fn write(&self, open: &Open, verdict: Decision, rule: &str, error: Option<String>) {
        let (sent, received) = open.traffic.total();
        let line = Line {
            time: open.time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis(),
            via: open.via,
            host: &open.host,
            port: open.port,
            address: open.address,
            verdict,
            rule,
            error,
            sent,
            received,
            ms: open.began.elapsed().as_millis(),
        };
        let mut text = serde_json::to_vec(&line).unwrap_or_default();
        text.push(b'\n');
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = &mut inner.counts;
        if open.address.is_some() {
            counts.connections += 1;
            counts.sent += sent;
            counts.received += received;
        } else {
            counts.refusals += 1;
        }
        // A log that is full stops nobody from working; whoever reads it sees where it ends.
        let _ = inner.lines.write_all(&text);
    }
}
