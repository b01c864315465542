//! Questions of a sandbox, for `run --ask` and `egress ask`: shown to a person who answers them, or printed for a program.
//!
//! What is shown on a terminal decides what a person says, and what is typed there is the answer. So nothing of the agent's is on that
//! terminal, nor a pipe that may end there.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::str::FromStr;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use confine::protocol::{EgressQuestion, EgressRequest};
use policy::rules::limits;
use policy::rules::network::{Host, HostAndPort};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};
use sandbox::session::egress::{LiveError, Living, News, Questions};
use serde::Serialize;

use super::change::failure;
use crate::cli::Format;
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::text::{json_for_stdout, one_line, several};
use crate::ui::Ui;

/// What is shown to a person who answers otherwise.
const HELP: &str = "o (once), s (until the sandbox ends), a time such as 10m, or d (deny until it ends)";

/// The terminal of whoever has started this, whatever became of the standard streams: see tty(4).
const TERMINAL: &str = "/dev/tty";

/// Whom questions are for.
enum Audience {
    /// A person at this terminal.
    Person(File),
    /// A program that reads standard output.
    Program,
}

/// Answers the questions of a sandbox that this process starts.
pub(crate) struct Asker {
    /// Taken by the thread that answers.
    audience: Cell<Option<Audience>>,
    printing: Cell<Option<JoinHandle<()>>>,
}

impl Asker {
    /// Finds whom to ask while a command of this process runs.
    pub(crate) fn find(ui: &Ui) -> Result<Self, CommandError> {
        let streams = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
        let shares_terminal = streams[0].is_terminal() || !streams[1..].iter().copied().all(is_file);
        if ui.format() == Format::Text && shares_terminal {
            let message = "--ask: what the command writes to a terminal could pass for a question, and it could read the answer";
            return Err(CommandError::message(Code::UsageInvalid, message)
                .hint("name the sandbox with `--name NAME` and answer in another terminal: `sandboxctl egress ask NAME`")
                .hint("or have its input come from elsewhere, and both outputs go to files; `--format json` prints questions for a program"));
        }
        Ok(Self { audience: Cell::new(Some(audience(ui)?)), printing: Cell::default() })
    }

    /// Answers them, in a thread of its own.
    pub(crate) fn answer(&self, sandbox: &str, living: Living, mut questions: Questions) {
        let sandbox = sandbox.to_owned();
        let (wait, body): (bool, Box<dyn FnOnce() + Send>) = match self.audience.take() {
            // Without somebody to answer, everything is refused as if nobody had been asked.
            Some(Audience::Program) => (true, Box::new(move || drop(print(&sandbox, &mut questions)))),
            Some(Audience::Person(terminal)) => {
                (false, Box::new(move || drop(converse(&sandbox, &living, &mut questions, terminal))))
            }
            None => return,
        };
        let thread = std::thread::Builder::new().spawn(body).ok();
        self.printing.set(thread.filter(|_| wait));
    }

    /// Waits until everything is printed that was asked: the sandbox has ended.
    pub(crate) fn finish(&self) {
        if let Some(thread) = self.printing.take() {
            let _ = thread.join();
        }
    }
}

/// Returns whether a stream leads to a file or to `/dev/null`, and so to nobody's terminal.
fn is_file(stream: BorrowedFd<'_>) -> bool {
    let kind = fstat(stream).map(|stat| FileType::from_raw_mode(stat.st_mode));
    kind.is_ok_and(|kind| {
        kind == FileType::RegularFile || kind == FileType::CharacterDevice && !stream.is_terminal()
    })
}

fn audience(ui: &Ui) -> Result<Audience, CommandError> {
    if ui.format() == Format::Json {
        return Ok(Audience::Program);
    }
    let terminal = File::options().read(true).write(true).open(TERMINAL);
    terminal.map(Audience::Person).map_err(|error| {
        let cause = anyhow::Error::new(error).context("there is no terminal to ask on");
        CommandError::new(Code::UsageInvalid, cause).hint("`--format json` prints questions for a program")
    })
}

/// Answers the questions of a living sandbox until it ends.
pub(super) fn ask(ui: &Ui, context: &Context, name: &str) -> Result<ExitCode, CommandError> {
    let audience = audience(ui)?;
    let failed = |error| failure(context, name, error);
    let living = Living::find(&context.state(), context.caller, name).map_err(failed)?;
    let mut questions = living.answer_questions().map_err(failed)?;
    let ended = match audience {
        Audience::Program => print(name, &mut questions),
        Audience::Person(mut terminal) => {
            let message = format!("Questions of the sandbox \"{name}\" are shown here until it ends.\n");
            show(&mut terminal, &message).and_then(|()| converse(name, &living, &mut questions, terminal))
        }
    };
    match ended {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            Err(CommandError::new(Code::OutputClosed, error))
        }
        ended => {
            ended.context("cannot ask")?;
            Ok(ExitCode::Success)
        }
    }
}

/// What happens to a question, for programs.
#[derive(Serialize)]
#[serde(tag = "event")]
enum Event<'a> {
    #[serde(rename = "egress.ask")]
    Ask { id: u64, sandbox: &'a str, host: &'a str, port: u16 },
    #[serde(rename = "egress.settled")]
    Settled { id: u64, sandbox: &'a str },
}

/// Prints a line of JSON for each.
fn print(sandbox: &str, questions: &mut Questions) -> io::Result<()> {
    while let Some(news) = questions.receive()? {
        let event = match &news {
            News::Asked(EgressQuestion { id, host, port }) => {
                Event::Ask { id: *id, sandbox, host, port: *port }
            }
            News::Settled(id) => Event::Settled { id: *id, sandbox },
        };
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{}", json_for_stdout(&serde_json::to_string(&event)?))?;
        stdout.flush()?;
    }
    Ok(())
}

/// What a person says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answer {
    Once,
    Sandbox,
    For(Duration),
    Deny,
}

impl FromStr for Answer {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "o" | "once" => Ok(Self::Once),
            "s" | "sandbox" => Ok(Self::Sandbox),
            "d" | "deny" | "n" | "no" => Ok(Self::Deny),
            time => limits::duration(time).map(Self::For).map_err(drop),
        }
    }
}

impl Answer {
    /// Makes what is asked of the egress proxy. A question names a host in its canonical form.
    fn request(self, question: &EgressQuestion) -> Option<EgressRequest> {
        let host: Host = question.host.parse().ok()?;
        let target = HostAndPort { host: &host, port: question.port }.to_string();
        let allow = |seconds| Some(EgressRequest::Allow { hosts: vec![target.parse().ok()?], seconds });
        match self {
            Self::Once => Some(EgressRequest::AllowOnce { question: question.id }),
            Self::Sandbox => allow(None),
            Self::For(time) => allow(Some(time.as_secs().max(1))),
            Self::Deny => Some(EgressRequest::Deny { hosts: vec![target.parse().ok()?] }),
        }
    }
}

/// What a person sees last on the terminal, and so what a line that they type means.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Shown {
    /// Nothing that wants an answer.
    Nothing,
    Question(u64),
    /// That nobody waits any more. Whoever typed an answer to that question has not read the next one.
    Withdrawn,
}

/// Shows one question after the other, and passes the answers on.
fn converse(sandbox: &str, living: &Living, questions: &mut Questions, mut terminal: File) -> io::Result<()> {
    let mut waiting: VecDeque<EgressQuestion> = VecDeque::new();
    let mut shown = Shown::Nothing;
    loop {
        if let (Shown::Nothing, Some(next)) = (shown, waiting.front()) {
            // What was typed before is no answer.
            tcflush(&terminal, QueueSelector::IFlush)?;
            show(&mut terminal, &question(sandbox, next))?;
            shown = Shown::Question(next.id);
        }
        let (notified, typed) = {
            let mut ready = vec![PollFd::from_borrowed_fd(questions.as_fd(), PollFlags::IN)];
            if shown != Shown::Nothing {
                ready.push(PollFd::new(&terminal, PollFlags::IN));
            }
            match poll(&mut ready, None) {
                Err(Errno::INTR) => continue,
                polled => polled?,
            };
            (!ready[0].revents().is_empty(), ready.get(1).is_some_and(|typed| !typed.revents().is_empty()))
        };
        if notified {
            match questions.receive()? {
                None => return Ok(()),
                Some(News::Asked(question)) => waiting.push_back(question),
                Some(News::Settled(id)) => {
                    waiting.retain(|question| question.id != id);
                    if shown == Shown::Question(id) {
                        show(
                            &mut terminal,
                            "\nNobody waits for an answer any more. Press Enter to go on.\n",
                        )?;
                        shown = Shown::Withdrawn;
                    }
                }
            }
        } else if typed {
            // A terminal gives one line, or what is there of it when somebody ends the input.
            let mut line = [0; 4096];
            let read = terminal.read(&mut line)?;
            if shown == Shown::Withdrawn {
                shown = Shown::Nothing;
                continue;
            }
            let line = String::from_utf8_lossy(&line[..read]);
            let (Some(question), Ok(answer)) = (waiting.front(), line.trim().parse::<Answer>()) else {
                show(&mut terminal, &format!("{HELP}: "))?;
                continue;
            };
            let Some(request) = answer.request(question) else { continue };
            match living.ask(&request) {
                Ok(_) => {}
                Err(LiveError::Refused(reason)) => show(&mut terminal, &format!("{reason}\n"))?,
                Err(error) => return Err(io::Error::other(error)),
            }
            // That it is settled is said once more, and concerns nobody then.
            waiting.pop_front();
            shown = Shown::Nothing;
        }
    }
}

fn question(sandbox: &str, EgressQuestion { host, port, .. }: &EgressQuestion) -> String {
    let [sandbox, host] = [sandbox, host].map(one_line);
    format!(
        "\nThe sandbox \"{sandbox}\" asks for {host}, port {port}, of which no rule says anything.\n{HELP}: "
    )
}

fn show(terminal: &mut File, text: &str) -> io::Result<()> {
    terminal.write_all(several(text).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_what_was_meant_or_none() {
        for (text, answer) in [
            ("o", Ok(Answer::Once)),
            ("once", Ok(Answer::Once)),
            ("s", Ok(Answer::Sandbox)),
            ("10m", Ok(Answer::For(Duration::from_secs(600)))),
            ("10", Ok(Answer::For(Duration::from_secs(10)))),
            ("d", Ok(Answer::Deny)),
            ("no", Ok(Answer::Deny)),
            ("", Err(())),
            ("y", Err(())),
            ("o s", Err(())),
        ] {
            assert_eq!(text.parse(), answer, "{text:?}");
        }
    }

    #[test]
    fn an_answer_names_the_host_and_the_port_of_its_question() {
        let question = EgressQuestion { id: 7, host: "2001:db8::1".to_owned(), port: 443 };
        let hosts = |answer: Answer| match answer.request(&question) {
            Some(EgressRequest::Allow { hosts, seconds }) => (hosts[0].to_string(), seconds),
            Some(EgressRequest::Deny { hosts }) => (hosts[0].to_string(), None),
            other => panic!("{other:?}"),
        };
        assert_eq!(hosts(Answer::Sandbox), ("[2001:db8::1]:443".to_owned(), None));
        assert_eq!(hosts(Answer::For(Duration::from_millis(5))), ("[2001:db8::1]:443".to_owned(), Some(1)));
        assert_eq!(hosts(Answer::Deny), ("[2001:db8::1]:443".to_owned(), None));
        assert_eq!(Answer::Once.request(&question), Some(EgressRequest::AllowOnce { question: 7 }));
    }

    #[test]
    fn a_question_steers_no_terminal() {
        let asked = EgressQuestion { id: 1, host: "a\x1b[2K\rb".to_owned(), port: 1 };
        assert!(!question("s", &asked).contains(['\x1b', '\r']));
    }
}
