//! The audit log: one line of JSON for each connection, whether it was allowed or refused. No bodies and no secrets are in it. What is
//! refused again and again has one line, and later one more that says how often.

use std::io::Write;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use hyper::{Method, StatusCode};
use policy::rules::network::Host;
use policy::rules::verdict::Verdict;
use policy::text::escape;
use serde::Serialize;

use crate::refusal::Refusal;
use crate::refused::{Refused, RefusedHosts};
use crate::repeats::Repeats;
use crate::traffic::Traffic;
use crate::unreached::{NotifyUnreached, Unreached, UnreachedHosts};

/// How much of a text of the sandbox's a line holds, in characters. No name is longer.
const MAX_TEXT: usize = 300;

/// How a host was asked for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// CONNECT, or a request for a whole URL.
    Http,
    /// SOCKS5.
    Socks,
    /// A connection to an address that stands for a name.
    Transparent,
    Dns,
    /// A route to a provider, to which the proxy adds a credential.
    Route,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Came {
    /// It was connected, or the request was sent, whatever happened after that.
    Allow,
    Deny,
    /// Nobody has refused it, and it failed before anything was sent.
    Error,
}

/// How often what has happened.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Counts {
    /// Connections to hosts, those that are open still not among them.
    pub connections: u64,
    /// Requests that were decided by themselves, on routes and by rules about requests, and sent.
    pub requests: u64,
    pub refusals: u64,
    /// What was not refused, and failed before anything was sent.
    pub errors: u64,
    /// Bytes that have left.
    pub sent: u64,
    /// Bytes that have come back.
    pub received: u64,
}

/// Where lines go, and what they add up to.
pub struct Audit {
    inner: Mutex<Inner>,
    /// Bytes that have passed, both ways together, on connections that are open too.
    passed: AtomicU64,
}

struct Inner {
    lines: Box<dyn Write + Send>,
    counts: Counts,
    refused: RefusedHosts,
    unreached: UnreachedHosts,
    /// Refusals that were recorded lately.
    repeats: Repeats<What>,
}

/// What is known of a connection while it lasts.
pub(crate) struct Open {
    via: Via,
    host: String,
    port: u16,
    began: Instant,
    time: SystemTime,
    address: Option<IpAddr>,
    through: Option<String>,
    rule: String,
    error: Option<String>,
    pub(crate) traffic: Arc<Traffic>,
}

/// A request that was decided by itself, without what it carries.
#[derive(Clone, Debug, Eq, Hash, PartialEq, Serialize)]
pub(crate) struct Requested {
    method: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
}

impl Open {
    /// Begins one.
    pub(crate) fn new(via: Via, host: &str, port: u16) -> Self {
        Self {
            via,
            host: shortened(host),
            port,
            began: Instant::now(),
            time: SystemTime::now(),
            address: None,
            through: None,
            rule: String::new(),
            error: None,
            traffic: Arc::default(),
        }
    }

    /// Notes which address was dialled, or through which other proxy, and by which rule.
    pub(crate) fn connected(&mut self, address: Option<IpAddr>, through: Option<String>, verdict: &Verdict) {
        (self.address, self.through) = (address, through);
        self.rule.clone_from(&verdict.rule);
    }

    /// Returns what was asked for, and where it leads.
    pub(crate) fn target(&self) -> (String, u16, Option<IpAddr>) {
        (self.host.clone(), self.port, self.address)
    }

    /// Notes what went wrong after that.
    pub(crate) fn failed(&mut self, error: String) {
        self.error = Some(error);
    }
}

impl Requested {
    /// Notes one. What is asked for stands in the path; a query may hold anything.
    pub(crate) fn new(method: &Method, path: &str) -> Self {
        Self { method: shortened(method.as_str()), path: shortened(path), status: None }
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

/// A change of the rules, as it is written.
#[derive(Serialize)]
struct ChangeLine<'a> {
    /// Milliseconds since the epoch.
    time: u128,
    #[serde(flatten)]
    change: &'a ChangeOfRules,
}

/// What is recorded of a credential that was read again.
#[derive(Serialize)]
struct RenewedLine<'a> {
    time: u128,
    change: &'static str,
    route: &'a str,
}

/// What has changed the rules.
#[derive(Clone, Debug, Serialize)]
pub struct ChangeOfRules {
    pub change: Changed,
    pub hosts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// Who has asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
}

/// How hosts have changed.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Changed {
    Allow,
    Deny,
    /// What was said of them is taken back.
    Forget,
    /// They were allowed for a time, which is over.
    Expired,
}

/// What came of a question.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// It was allowed to whoever waited.
    Once,
    /// It was allowed or denied by a rule, which stands in a line of its own.
    Rules,
    /// There was none in time, or nobody waited any more.
    None,
}

/// A question, as it is written, and once more with its answer.
#[derive(Serialize)]
struct QuestionLine {
    /// Milliseconds since the epoch.
    time: u128,
    question: u64,
    via: Via,
    host: String,
    port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Answer>,
    /// Who has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<u32>,
}

/// What a line says, however often it happens.
#[derive(Clone, Debug, Eq, Hash, PartialEq, Serialize)]
struct What {
    via: Via,
    host: String,
    port: u16,
    verdict: Came,
    /// What has decided; empty where it failed before a rule was asked.
    rule: String,
    /// What went wrong although nobody has refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    request: Option<Requested>,
}

/// A line, as it is written.
#[derive(Serialize)]
struct Line<'a> {
    /// Milliseconds since the epoch, when it was asked for.
    time: u128,
    #[serde(flatten)]
    what: &'a What,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
    /// The proxy that this host is behind, where it was on the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    through: Option<&'a str>,
    sent: u64,
    received: u64,
    /// How long it has lasted.
    ms: u128,
}

/// How often what a line says has happened since that line was written.
#[derive(Serialize)]
struct RepeatedLine<'a> {
    /// Milliseconds since the epoch.
    time: u128,
    #[serde(flatten)]
    what: &'a What,
    repeated: u64,
}

impl What {
    fn new(open: &Open, verdict: Came, rule: &str, error: Option<&str>, request: Option<&Requested>) -> Self {
        let (host, request) = (open.host.clone(), request.cloned());
        // Both may quote what was asked for.
        let (rule, error) = (shortened(rule), error.map(shortened));
        Self { via: open.via, host, port: open.port, verdict, rule, error, request }
    }

    /// Returns what there is to say of a refusal.
    fn of(open: &Open, refusal: &Refusal, requested: Option<&Requested>) -> Self {
        match refusal {
            Refusal::Rule(verdict) | Refusal::Request(verdict, _) => {
                Self::new(open, Came::Deny, &verdict.rule, None, requested)
            }
            Refusal::Mismatch(_)
            | Refusal::Steered
            | Refusal::Malformed(_)
            | Refusal::Volume(_)
            | Refusal::Upgrade
            | Refusal::NoRoute(_)
            | Refusal::Credential(..)
            | Refusal::Token(_)
            | Refusal::Operation { .. } => Self::new(open, Came::Deny, &refusal.to_string(), None, requested),
            Refusal::Failed { rule, why } => {
                Self::new(open, Came::Error, rule, Some(&why.to_string()), requested)
            }
            other => Self::new(open, Came::Error, "", Some(&other.to_string()), requested),
        }
    }

    /// Returns what stands for everything that there is no room for.
    fn too_many(via: Via) -> Self {
        let rule = "too much was refused: the rest is counted, and not recorded for some minutes".to_owned();
        Self { via, host: "*".to_owned(), port: 0, verdict: Came::Deny, rule, error: None, request: None }
    }
}

fn milliseconds(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()
}

/// A request that was sent. Dropped, it is recorded: a server does what it was asked also for a client that goes away.
pub(crate) struct Sent<'a> {
    audit: &'a Audit,
    open: &'a Open,
    requested: &'a Requested,
    rule: String,
    end: SentEnd,
}

/// What came of a request.
enum SentEnd {
    Answered(StatusCode),
    Refused(Refusal),
    Abandoned,
}

impl Sent<'_> {
    /// Notes the answer, or why there is none.
    pub(crate) fn ended(mut self, answered: Result<StatusCode, &Refusal>) {
        self.end = match answered {
            Ok(status) => SentEnd::Answered(status),
            Err(refusal) => SentEnd::Refused(refusal.clone()),
        };
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        let Self { audit, open, requested, rule, end } = self;
        match end {
            SentEnd::Answered(status) => {
                let requested = Requested { status: Some(status.as_u16()), ..requested.clone() };
                audit.request_ended(open, &requested, rule, None);
            }
            SentEnd::Refused(refusal) => {
                let requested = Requested { status: Some(refusal.status()), ..requested.clone() };
                match What::of(open, refusal, Some(&requested)) {
                    // It has left: what goes wrong after that concerns the answer.
                    What { verdict: Came::Error, error: Some(why), .. }
                        if !matches!(refusal, Refusal::Failed { .. }) =>
                    {
                        audit.request_ended(open, &requested, rule, Some(&why));
                    }
                    what => audit.refuse(open, what, refusal),
                }
            }
            SentEnd::Abandoned => {
                audit.request_ended(open, requested, rule, Some("the client went away before the answer"));
            }
        }
    }
}

impl Audit {
    /// Makes one that writes its lines there, each with one call; [`crate::rotate::Rotated`] keeps them within bounds.
    pub fn new(lines: impl Write + Send + 'static) -> Self {
        let (counts, refused, unreached, repeats) = Default::default();
        let inner = Inner { lines: Box::new(lines), counts, refused, unreached, repeats };
        Self { inner: Mutex::new(inner), passed: AtomicU64::new(0) }
    }

    /// Sets whom to notify of the first hosts that a rule allows and that are not reached. Nothing waits for that.
    pub fn notify_of_unreached(&self, notify: NotifyUnreached) {
        self.inner().unreached.notify_with(notify);
    }

    /// Returns what has happened until now.
    pub fn counts(&self) -> Counts {
        self.inner().counts
    }

    /// Counts bytes that pass, and fails when there are more than may be.
    pub(crate) fn pass(&self, bytes: usize, most: u64) -> Result<(), Refusal> {
        let passed = self.passed.fetch_add(bytes as u64, Relaxed) + bytes as u64;
        if passed > most { Err(Refusal::Volume(most)) } else { Ok(()) }
    }

    /// Returns which hosts no rule has allowed, the most wanted first.
    pub fn refused_hosts(&self) -> Vec<Refused> {
        self.inner().refused.listing()
    }

    /// Returns which hosts a rule allows and were not reached, the most wanted first.
    pub fn unreached_hosts(&self) -> Vec<Unreached> {
        self.inner().unreached.listing()
    }

    /// Records what was not connected.
    pub(crate) fn refused(&self, open: &Open, refusal: &Refusal) {
        self.refuse(open, What::of(open, refusal, None), refusal);
    }

    /// Records a request that was decided by itself and was not answered by its server.
    pub(crate) fn request_refused(&self, open: &Open, requested: &Requested, refusal: &Refusal) {
        let requested = Requested { status: Some(refusal.status()), ..requested.clone() };
        self.refuse(open, What::of(open, refusal, Some(&requested)), refusal);
    }

    /// Notes a request that was decided by itself and is sent now: it is recorded with what came of it. Its bytes are counted with its
    /// connection.
    pub(crate) fn sent<'a>(&'a self, open: &'a Open, requested: &'a Requested, rule: &str) -> Sent<'a> {
        Sent { audit: self, open, requested, rule: rule.to_owned(), end: SentEnd::Abandoned }
    }

    fn request_ended(&self, open: &Open, requested: &Requested, rule: &str, error: Option<&str>) {
        let what = What::new(open, Came::Allow, rule, error, Some(requested));
        let mut inner = self.inner();
        inner.write(open, &what);
        inner.counts.requests += 1;
    }

    /// Records the end of a connection.
    pub(crate) fn closed(&self, open: &Open) {
        let what = What::new(open, Came::Allow, &open.rule, open.error.as_deref(), None);
        let (sent, received) = open.traffic.total();
        let mut inner = self.inner();
        inner.write(open, &what);
        inner.counts.connections += 1;
        inner.counts.sent += sent;
        inner.counts.received += received;
    }

    /// Records that the rules were changed. What is refused after that is recorded anew.
    pub fn changed(&self, change: &ChangeOfRules) {
        let mut inner = self.inner();
        inner.write_repeated();
        inner.write_line(&ChangeLine { time: milliseconds(SystemTime::now()), change });
    }

    /// Records that the credential of a route is another one now.
    pub fn renewed(&self, route: &str) {
        let mut inner = self.inner();
        inner.write_repeated();
        inner.write_line(&RenewedLine { time: milliseconds(SystemTime::now()), change: "renewed", route });
    }

    /// Records a question, or its answer.
    pub(crate) fn asked(
        &self,
        question: u64,
        via: Via,
        host: &Host,
        port: u16,
        answer: Option<Answer>,
        uid: Option<u32>,
    ) {
        let (time, host) = (milliseconds(SystemTime::now()), host.to_string());
        self.inner().write_line(&QuestionLine { time, question, via, host, port, answer, uid });
    }

    /// Records how often was refused what has been recorded before: nothing more will be.
    pub fn end(&self) {
        self.inner().write_repeated();
    }

    fn refuse(&self, open: &Open, what: What, refusal: &Refusal) {
        let (mut inner, now) = (self.inner(), Instant::now());
        match what.verdict {
            Came::Error => inner.counts.errors += 1,
            Came::Allow | Came::Deny => inner.counts.refusals += 1,
        }
        if matches!(refusal, Refusal::Rule(_)) {
            inner.refused.add(&open.host, open.port);
        }
        inner.unreached.add(&open.host, open.port, refusal);
        if inner.repeats.is_over(now) {
            inner.write_repeated();
        }
        if let Some(what) = inner.repeats.note(what, What::too_many(open.via), now) {
            inner.write(open, &what);
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn write(&mut self, open: &Open, what: &What) {
        let (sent, received) = open.traffic.total();
        self.write_line(&Line {
            time: milliseconds(open.time),
            what,
            address: open.address,
            through: open.through.as_deref(),
            sent,
            received,
            ms: open.began.elapsed().as_millis(),
        });
    }

    fn write_repeated(&mut self) {
        let time = milliseconds(SystemTime::now());
        for (what, repeated) in self.repeats.end() {
            self.write_line(&RepeatedLine { time, what: &what, repeated });
        }
    }

    fn write_line(&mut self, line: &impl Serialize) {
        // Whoever prints a line prints no control character with it.
        let text = serde_json::to_string(line).unwrap_or_default();
        let text = format!("{}\n", escape::json(&text));
        // A log that is full stops nobody from working; whoever reads it sees where it ends.
        let _ = self.lines.write_all(text.as_bytes());
    }
}
