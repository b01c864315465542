//! Requests of the owner, in a thread of the proxy's own: they change the rules and answer questions, and what was allowed for a time is
//! taken back.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use confine::protocol::{
    ControlSocket, EgressAnswer, EgressQuestion, EgressRequest, EgressRules, EnvEntry, MAX_HOSTS,
    RefusedHost, RuleInForce, UnreachedHost,
};
use egress::audit::{ChangeOfRules, Changed};
use egress::changes::ChangingRules;
use egress::proxy::Proxy;
use egress::questions::{News, NotifyQuestion, Question};
use policy::rules::network::{Host, HostRule, Wanted};
use policy::rules::verdict::Decision;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;

/// How long a client may take to say what it wants. Others wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many clients may wait for the end of the sandbox, or for questions.
const MAX_ATTENDING: usize = 64;

/// What takes requests.
pub(super) struct Requests {
    pub(super) listener: UnixListener,
    /// The user whose requests are taken, beside root's.
    pub(super) owner: u32,
    pub(super) rules: ChangingRules,
    pub(super) proxy: Arc<Proxy>,
    /// What a command inside needs in its environment.
    pub(super) variables: Vec<EnvEntry>,
    /// Who waits for the end.
    pub(super) attending: Vec<Attending>,
    /// Held while a request is answered: what was asked for may end the sandbox.
    pub(super) answering: Arc<Mutex<()>>,
}

/// A client that stays connected.
pub(super) struct Attending {
    client: UnixStream,
    /// Under which number it answers questions.
    answers: Option<u64>,
}

impl Requests {
    /// Takes requests for as long as this process lives, and returns why it cannot any more.
    pub(super) fn serve(mut self) -> io::Error {
        loop {
            if let Err(error) = self.serve_next() {
                return error;
            }
        }
    }

    /// Takes the requests that were made already: whoever is to answer questions does so before there is one.
    pub(super) fn serve_waiting(&mut self) -> io::Result<()> {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        while poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&now))? > 0 {
            self.serve_next()?;
        }
        Ok(())
    }

    fn serve_next(&mut self) -> io::Result<()> {
        let left = self.rules.next_expiry().map(|at| at.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut ready = vec![PollFd::new(&self.listener, PollFlags::IN)];
        ready.extend(self.attending.iter().map(|client| PollFd::new(&client.client, PollFlags::empty())));
        match poll(&mut ready, left.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(()),
            polled => polled?,
        };
        let mut ready =
            ready.into_iter().map(|one| !one.revents().is_empty()).collect::<Vec<_>>().into_iter();
        let asked = ready.next() == Some(true);
        self.attending.retain(|client| {
            let gone = ready.next() == Some(true);
            if let (true, Some(number)) = (gone, client.answers) {
                self.proxy.questions().leave(number);
            }
            !gone
        });
        self.expire();
        if asked {
            let answering = Arc::clone(&self.answering);
            let _answering = answering.lock();
            // What goes wrong with one client concerns no other.
            let _ = self.listener.accept().and_then(|(client, _)| self.answer(client));
        }
        Ok(())
    }

    fn expire(&mut self) {
        let hosts = self.rules.expire(Instant::now());
        if !hosts.is_empty() {
            self.proxy.set_rules(self.rules.rules());
            let hosts = hosts.iter().map(ToString::to_string).collect();
            self.record(Changed::Expired, hosts, None, None);
        }
    }

    fn record(&self, change: Changed, hosts: Vec<String>, seconds: Option<u64>, uid: Option<u32>) {
        self.proxy.audit().changed(&ChangeOfRules { change, hosts, seconds, uid });
    }

    fn answer(&mut self, client: UnixStream) -> io::Result<()> {
        let uid = socket_peercred(&client)?.uid.as_raw();
        if uid != self.owner && uid != 0 {
            return Ok(());
        }
        client.set_read_timeout(Some(PATIENCE))?;
        client.set_write_timeout(Some(PATIENCE))?;
        let (attends, asked) = (client.try_clone()?, client.try_clone()?);
        let mut socket = ControlSocket::from(OwnedFd::from(client));
        // Who says nothing has looked whether anybody listens.
        let Some(request) = socket.receive()? else { return Ok(()) };
        let answer = match request {
            EgressRequest::Attend | EgressRequest::AnswerQuestions
                if self.attending.len() >= MAX_ATTENDING =>
            {
                return Ok(());
            }
            EgressRequest::Attend => {
                self.attending.push(Attending { client: attends, answers: None });
                return Ok(());
            }
            EgressRequest::AnswerQuestions => {
                let answers = Some(self.proxy.questions().attend(notifier(asked)?)?);
                self.attending.push(Attending { client: attends, answers });
                return Ok(());
            }
            EgressRequest::Variables => EgressAnswer::Variables(self.variables.clone()),
            request => match self.change(request, uid) {
                Ok(()) => EgressAnswer::Rules(self.in_force()),
                Err(reason) => EgressAnswer::Refused(reason),
            },
        };
        socket.send(&answer, &[])
    }

    fn change(&mut self, request: EgressRequest, uid: u32) -> Result<(), String> {
        let (change, hosts, seconds) = match request {
            EgressRequest::List
            | EgressRequest::Variables
            | EgressRequest::Attend
            | EgressRequest::AnswerQuestions => return Ok(()),
            EgressRequest::AllowOnce { question } => {
                let waits = self.proxy.questions().allow_once(question, uid);
                return if waits {
                    Ok(())
                } else {
                    Err(format!("nobody waits for an answer to question {question}"))
                };
            }
            EgressRequest::Allow { hosts, seconds } => {
                few(hosts.len())?;
                let until = |seconds| {
                    let until = Instant::now().checked_add(Duration::from_secs(seconds));
                    until.ok_or_else(|| format!("{seconds} seconds are too long"))
                };
                let until = seconds.map(until).transpose()?;
                self.rules.allow(&hosts, until).map_err(|verdict| verdict.rule)?;
                (Changed::Allow, hosts.iter().map(ToString::to_string).collect(), seconds)
            }
            EgressRequest::Deny { hosts } => {
                few(hosts.len())?;
                let shown = hosts.iter().map(ToString::to_string).collect();
                self.rules.deny(hosts).map_err(|verdict| verdict.rule)?;
                (Changed::Deny, shown, None)
            }
            EgressRequest::Forget { hosts } => {
                few(hosts.len())?;
                self.rules.forget(&hosts).map_err(|verdict| verdict.rule)?;
                (Changed::Forget, hosts.iter().map(ToString::to_string).collect(), None)
            }
        };
        self.proxy.set_rules(self.rules.rules());
        self.record(change, hosts, seconds, Some(uid));
        Ok(())
    }

    fn in_force(&self) -> EgressRules {
        let now = Instant::now();
        let list = |decision| {
            let one = |(rule, until): (&HostRule, Option<Instant>)| RuleInForce {
                rule: rule.clone().into(),
                seconds_left: until.map(|until| until.saturating_duration_since(now).as_secs()),
            };
            self.rules.list(decision).map(one).collect()
        };
        let rules = self.rules.rules();
        let is_refused = |host: &str, port| match (host.parse::<Host>(), port) {
            (Ok(host), 0) => rules.ports(&host).is_err(),
            _ => rules.decide_wanted(host, None, port, &Wanted::Requests).decision != Decision::Allow,
        };
        let refused = self.proxy.audit().refused_hosts().into_iter();
        let refused = refused.filter(|refused| is_refused(&refused.host, refused.port));
        let refused = refused.map(|refused| RefusedHost {
            host: refused.host,
            port: refused.port,
            count: refused.count,
        });
        let unreached = self.proxy.audit().unreached_hosts().into_iter().map(|one| UnreachedHost {
            host: one.host.to_string(),
            port: one.port,
            count: one.count,
            why: one.why,
        });
        let [allow, deny] = [Decision::Allow, Decision::Deny].map(list);
        EgressRules { allow, deny, refused: refused.collect(), unreached: unreached.collect() }
    }
}

/// Returns what notifies a client of questions. The event loop of the proxy does not wait for one that does not read.
fn notifier(client: UnixStream) -> io::Result<NotifyQuestion> {
    client.set_nonblocking(true)?;
    let mut socket = ControlSocket::from(OwnedFd::from(client));
    Ok(Box::new(move |news| {
        let message = match news {
            News::Asked(Question { id, host, port }) => {
                EgressAnswer::Question(EgressQuestion { id: *id, host: host.to_string(), port: *port })
            }
            News::Settled(question) => EgressAnswer::Settled { question: *question },
        };
        socket.send(&message, &[])
    }))
}

fn few(hosts: usize) -> Result<(), String> {
    match hosts {
        0 => Err("no host is named".to_owned()),
        1..=MAX_HOSTS => Ok(()),
        _ => Err(format!("{hosts} hosts at once; {MAX_HOSTS} are the most")),
    }
}
