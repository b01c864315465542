//! Questions: a host that no rule allows and none denies is asked about where somebody can answer, and whoever wants it waits.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use policy::rules::network::{Host, HostPattern, HostRule, Pattern};
use policy::rules::verdict::Origin;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::audit::{Answer, Audit, Via};
use crate::current::Live;

/// How long an answer is waited for. Then it is refused, as if nobody had been asked.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How many questions wait for an answer at a time.
const MAX_OPEN: usize = 16;

/// How many questions are asked in a minute.
const MAX_PER_MINUTE: usize = 30;

const MINUTE: Duration = Duration::from_secs(60);

/// What a person is asked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Question {
    /// Which one it is, of those of this sandbox.
    pub id: u64,
    pub host: Host,
    pub port: u16,
}

/// What whoever answers is notified of.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum News {
    Asked(Question),
    /// Nobody does any more: it was answered, or nobody waits.
    Settled(u64),
}

/// Notifies somebody who can answer. When that fails they are gone.
pub type NotifyQuestion = Box<dyn FnMut(&News) -> io::Result<()> + Send>;

/// The questions of one sandbox.
pub struct Questions {
    audit: Arc<Audit>,
    live: Live,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    attending: Vec<(u64, NotifyQuestion)>,
    open: Vec<OpenQuestion>,
    /// When the last ones were asked.
    asked: VecDeque<Instant>,
    next: u64,
}

/// A question that waits for its answer.
struct OpenQuestion {
    question: Question,
    via: Via,
    until: Instant,
    /// How many connections wait for it.
    waiting: usize,
    once: watch::Sender<bool>,
}

/// What came of asking.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    /// It may be reached by whoever has waited, because of this rule that nobody else has.
    Once(HostRule),
    /// Rules decide it now.
    Decided,
    /// Nobody has said anything, for this reason.
    Unanswered(&'static str),
}

impl Questions {
    pub(crate) fn new(audit: Arc<Audit>, live: Live) -> Self {
        Self { audit, live, inner: Mutex::default() }
    }

    /// Adds somebody who can answer, and notifies them of what waits already. Returns what [`Self::leave`] takes.
    pub fn attend(&self, mut notify: NotifyQuestion) -> io::Result<u64> {
        let mut inner = self.inner();
        for open in &inner.open {
            notify(&News::Asked(open.question.clone()))?;
        }
        inner.next += 1;
        let id = inner.next;
        inner.attending.push((id, notify));
        Ok(id)
    }

    /// Takes them away again.
    pub fn leave(&self, attending: u64) {
        self.inner().attending.retain(|(id, _)| *id != attending);
    }

    /// Lets those pass who wait for an answer to this question. Returns whether anybody does.
    pub fn allow_once(&self, id: u64, uid: u32) -> bool {
        let mut inner = self.inner();
        let open = inner.open.iter().find(|open| open.question.id == id);
        let waits = open.is_some_and(|open| open.once.send(true).is_ok());
        if waits {
            self.settle(&mut inner, id, Answer::Once, Some(uid));
        }
        waits
    }

    /// Returns whether there is anybody who can answer.
    pub(crate) fn is_attended(&self) -> bool {
        !self.inner().attending.is_empty()
    }

    /// Asks about a host that is wanted on a port, where it is undecided, and waits for the answer.
    pub(crate) async fn ask(&self, via: Via, host: &Host, port: u16) -> Outcome {
        let mut current = self.live.changes();
        if !current.borrow_and_update().rules.is_undecided(host, port) {
            return Outcome::Decided;
        }
        let mut waiting = match self.join(via, host, port) {
            Ok(waiting) => waiting,
            Err(reason) => return Outcome::Unanswered(reason),
        };
        let (id, until) = (waiting.id, waiting.until);
        let decided = current.wait_for(|current| !current.rules.is_undecided(host, port));
        let (outcome, answer) = tokio::select! {
            // Whatever was said first of all holds, also where the time is over in the same moment.
            biased;
            Ok(_) = waiting.once.wait_for(|once| *once) => {
                let pattern = HostPattern::Exact { host: host.clone(), port: Some(port) };
                let rule = HostRule::new(Pattern::Hosts(pattern), Origin::Live("egress ask".to_owned()));
                (Outcome::Once(rule), Answer::Once)
            }
            _ = decided => (Outcome::Decided, Answer::Rules),
            () = sleep_until(until) => (Outcome::Unanswered("nobody has answered in time"), Answer::None),
        };
        self.settle(&mut self.inner(), id, answer, None);
        outcome
    }

    /// Waits with others who have asked the same, or asks.
    fn join(&self, via: Via, host: &Host, port: u16) -> Result<Waiting<'_>, &'static str> {
        let (mut inner, now) = (self.inner(), Instant::now());
        if inner.attending.is_empty() {
            return Err("");
        }
        let same =
            inner.open.iter_mut().find(|open| open.question.host == *host && open.question.port == port);
        if let Some(open) = same {
            open.waiting += 1;
            let (id, until, once) = (open.question.id, open.until, open.once.subscribe());
            return Ok(Waiting { questions: self, id, until, once });
        }
        while inner.asked.front().is_some_and(|asked| now.duration_since(*asked) >= MINUTE) {
            inner.asked.pop_front();
        }
        if inner.open.len() >= MAX_OPEN {
            return Err("too many other questions wait for an answer");
        }
        if inner.asked.len() >= MAX_PER_MINUTE {
            return Err("too many questions were asked within a minute");
        }
        inner.asked.push_back(now);
        inner.next += 1;
        let question = Question { id: inner.next, host: host.clone(), port };
        self.audit.asked(question.id, via, host, port, None, None);
        inner.notify(&News::Asked(question.clone()));
        let (until, (answered, once)) = (now + PATIENCE, watch::channel(false));
        let id = question.id;
        inner.open.push(OpenQuestion { question, via, until, waiting: 1, once: answered });
        Ok(Waiting { questions: self, id, until, once })
    }

    /// Ends a question, if it waits still.
    fn settle(&self, inner: &mut Inner, id: u64, answer: Answer, uid: Option<u32>) {
        let Some(at) = inner.open.iter().position(|open| open.question.id == id) else { return };
        let OpenQuestion { question, via, .. } = inner.open.remove(at);
        self.audit.asked(id, via, &question.host, question.port, Some(answer), uid);
        inner.notify(&News::Settled(id));
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Notifies everybody. Who cannot be notified does not attend any more.
    fn notify(&mut self, news: &News) {
        self.attending.retain_mut(|(_, notify)| notify(news).is_ok());
    }
}

/// A connection that waits for an answer.
struct Waiting<'a> {
    questions: &'a Questions,
    id: u64,
    until: Instant,
    once: watch::Receiver<bool>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut inner = self.questions.inner();
        let Some(open) = inner.open.iter_mut().find(|open| open.question.id == self.id) else { return };
        open.waiting -= 1;
        if open.waiting == 0 {
            // Whoever has asked is gone.
            self.questions.settle(&mut inner, self.id, Answer::None, None);
        }
    }
}
