//! The relay between the caller's terminal and the master side of the agent's.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, OutputModes};

use super::filter::{Answers, ScreenFilter};
use super::screen::{Screen, stop_here};
use super::sequence::has_answer;
use crate::host::identity::Identity;

/// How much waits in one direction before no more is read.
const MAX_BUFFERED: usize = 64 << 10;

/// How much is written at once: on a shared description a larger write could block.
const PIECE: usize = 4 << 10;

/// How often a relay in the background looks whether it was brought to the front. A shell says nothing when it
/// does that to a job which was not stopped.
const FOREGROUND_POLL: Duration = Duration::from_millis(250);

/// How long after a question of the agent's its answer may still be on its way.
const ANSWERING: Duration = Duration::from_secs(1);

/// How long a terminal that has begun to answer has to be silent to have said everything.
const SILENCE: Duration = Duration::from_millis(200);

/// How many times as long as it may take nothing a terminal may take what is left at the end.
const SLOWEST: u32 = 10;

/// How long it may take, twice, before this process is stopped by `SIGTSTP`. The person is waiting.
const SUSPENDING: Duration = Duration::from_millis(200);

/// Ends a string or another sequence in every terminal.
const END_OF_SEQUENCE: &[u8] = b"\x18\x1b\\";

/// The caller's terminals among the standard streams.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// Standard input, if that is a terminal. It is made raw, and what is typed goes to the agent.
    pub input: Option<BorrowedFd<'a>>,
    /// Where the agent's terminal is shown: standard output if that is a terminal, else standard error, else
    /// standard input.
    pub output: BorrowedFd<'a>,
    /// Whose terminals these are: with their rights they are opened again.
    pub caller: Identity,
}

/// What a relay waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RelaySource {
    /// The caller's keyboard.
    Input,
    /// The caller's screen.
    Output,
    /// The agent's terminal.
    Master,
}

/// A relay that is driven by somebody else's poll loop.
///
/// Wait for [`Relay::fds`] with [`Relay::tick`] as the longest time, then call [`Relay::on_ready`] for each
/// that is ready, [`Relay::on_signal`] for every signal, and [`Relay::on_tick`] when nothing happened. Once the
/// agent has ended call [`Relay::finish`]. Dropping it restores the terminal; where a process ends without
/// dropping anything, call [`Relay::restore`] first.
#[derive(Debug)]
pub struct Relay {
    master: OwnedFd,
    input: Option<Screen>,
    output: Screen,
    to_agent: VecDeque<u8>,
    to_screen: VecDeque<u8>,
    /// What was read of the agent's terminal, where somebody listens.
    recorded: Option<Vec<u8>>,
    /// What of the agent's output is shown.
    filter: ScreenFilter,
    /// When the agent last asked the terminal something.
    asked: Option<Asked>,
    /// Nobody types any more: the caller's terminal has hung up.
    input_ended: bool,
    /// The agent's terminal was closed by everybody inside.
    master_ended: bool,
    in_foreground: bool,
}

/// For how long a relay lets go of a terminal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Leaving {
    /// This process is stopped.
    ForAWhile,
    ForGood,
}

/// A question to the terminal.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Instant,
    /// Whether the terminal has answered something since.
    heard: bool,
    /// Whether that may be the answer to another question.
    overlaps: bool,
}

impl Relay {
    /// Opens a relay on the caller's terminal, and gives the agent's its modes and size. Make it before the agent starts:
    /// a shell may have set modes of its own by then, which this would undo.
    ///
    /// In the background the terminal is left alone until this process is brought to the front: output is
    /// shown, as a shell allows it, and nothing is read.
    ///
    /// Somebody inside must keep the agent's terminal open as long as anybody might use it: once nobody has it,
    /// it counts as ended.
    pub fn new(master: OwnedFd, ends: Ends<'_>) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&master, true)?;
        let open = |terminal| Screen::open(terminal, ends.caller);
        let input = ends.input.map(open).transpose()?;
        let output = open(ends.output)?;
        let caller = input.as_ref().unwrap_or(&output);
        // In the background the modes are those of whatever is in front: a shell that edits a line.
        let mut modes =
            if caller.in_foreground() { caller.modes()? } else { rustix::termios::tcgetattr(&master)? };
        if input.is_none() {
            // The caller's terminal stays as it is, and translates newlines itself.
            modes.output_modes.remove(OutputModes::OPOST);
        }
        rustix::termios::tcsetattr(&master, OptionalActions::Now, &modes)?;
        let filter = ScreenFilter::of(&output);
        let mut relay = Self {
            master,
            input,
            output,
            to_agent: VecDeque::new(),
            to_screen: VecDeque::new(),
            recorded: None,
            filter,
            asked: None,
            input_ended: false,
            master_ended: false,
            in_foreground: false,
        };
        relay.resize()?;
        relay.sync_foreground()?;
        Ok(relay)
    }

    /// Keeps what is shown for [`Relay::output`] too.
    #[must_use]
    pub fn listening(mut self) -> Self {
        self.recorded = Some(Vec::new());
        self
    }

    /// Takes the output since the last call.
    pub fn output(&mut self) -> Vec<u8> {
        self.recorded.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Lists what to wait for, and for which events.
    pub fn fds(&self) -> Vec<(RelaySource, BorrowedFd<'_>, PollFlags)> {
        let mut fds = Vec::with_capacity(3);
        if let Some(input) = &self.input {
            if self.in_foreground && !self.input_ended && self.to_agent.len() < MAX_BUFFERED {
                fds.push((RelaySource::Input, input.as_fd(), PollFlags::IN));
            }
        }
        if !self.to_screen.is_empty() {
            fds.push((RelaySource::Output, self.output.as_fd(), PollFlags::OUT));
        }
        let mut events = PollFlags::empty();
        events.set(PollFlags::IN, self.to_screen.len() < MAX_BUFFERED);
        events.set(PollFlags::OUT, !self.to_agent.is_empty());
        if !self.master_ended && !events.is_empty() {
            fds.push((RelaySource::Master, self.master.as_fd(), events));
        }
        fds
    }

    /// Moves bytes. Never waits.
    pub fn on_ready(&mut self, source: RelaySource, events: PollFlags) -> io::Result<()> {
        match source {
            RelaySource::Input => {
                self.read_input()?;
                self.write_master()
            }
            RelaySource::Output => self.write_screen(),
            RelaySource::Master => {
                if events.contains(PollFlags::OUT) {
                    self.write_master()?;
                }
                if events.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
                    self.read_master()?;
                    self.write_screen()?;
                }
                Ok(())
            }
        }
    }

    /// Handles what concerns the terminal: `SIGWINCH`, `SIGTSTP`, which stops this process until it is continued, and
    /// `SIGCONT`. Others are the caller's to act on.
    pub fn on_signal(&mut self, signal: Signal) -> io::Result<()> {
        match signal {
            Signal::SIGWINCH => self.resize(),
            Signal::SIGTSTP => {
                self.drain(Instant::now() + SUSPENDING)?;
                self.show_end(Leaving::ForAWhile, Instant::now() + SUSPENDING)?;
                self.restore()?;
                stop_here()?;
                self.resume()
            }
            Signal::SIGCONT => self.resume(),
            _ => Ok(()),
        }
    }

    /// Returns how long to wait at most; `None` is for ever.
    pub fn tick(&self) -> Option<Duration> {
        (self.input.is_some() && !self.input_ended && !self.in_foreground).then_some(FOREGROUND_POLL)
    }

    /// Checks whether this process was brought to the front.
    pub fn on_tick(&mut self) -> io::Result<()> {
        if self.tick().is_some() {
            self.resume()?;
        }
        Ok(())
    }

    /// Shows what the agent has still written, and restores the terminal. If the terminal takes nothing for so long, or something of it for
    /// very long, the rest is lost.
    pub fn finish(mut self, patience: Duration) -> io::Result<()> {
        let end = Instant::now() + patience * SLOWEST;
        let mut taken = Instant::now();
        self.input_ended = true;
        self.to_agent.clear();
        while !(self.master_ended && self.to_screen.is_empty()) {
            let left = end.min(taken + patience).saturating_duration_since(Instant::now());
            let Some(timeout) = Timespec::try_from(left).ok().filter(|_| !left.is_zero()) else { break };
            let waiting = self.fds();
            let mut fds: Vec<_> =
                waiting.iter().map(|(_, fd, events)| PollFd::from_borrowed_fd(*fd, *events)).collect();
            match poll(&mut fds, Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let ready: Vec<_> = waiting
                .iter()
                .zip(&fds)
                .map(|((source, ..), fd)| (*source, fd.revents()))
                .filter(|(_, events)| !events.is_empty())
                .collect();
            for (source, events) in ready {
                self.on_ready(source, events)?;
                if source == RelaySource::Output {
                    taken = Instant::now();
                }
            }
        }
        self.show_end(Leaving::ForGood, Instant::now() + patience)?;
        self.read_replies()?;
        self.restore()
    }

    /// Ends what was not shown whole, and switches off what the agent has left on. What is shown after it is seen, then: an agent that goes on
    /// later finds the screen as it was.
    fn show_end(&mut self, leaving: Leaving, end: Instant) -> io::Result<()> {
        if !self.to_screen.is_empty() {
            self.to_screen = END_OF_SEQUENCE.iter().copied().collect();
        }
        self.switch_off();
        if leaving == Leaving::ForGood {
            self.to_screen.extend(self.filter.take_display_resets());
        }
        self.drain(end)
    }

    /// Shows what waits to be shown, until then at most.
    fn drain(&mut self, end: Instant) -> io::Result<()> {
        while !self.to_screen.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            let Some(timeout) = Timespec::try_from(left).ok().filter(|_| !left.is_zero()) else { break };
            let mut fds = [PollFd::new(&self.output, PollFlags::OUT)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) => break,
                Ok(_) => self.write_screen()?,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Switches off what the agent has left on. In the background the modes are those of whatever is in front.
    fn switch_off(&mut self) {
        if self.output.in_foreground() {
            self.to_screen.extend(self.filter.take_resets());
        }
    }

    /// Discards what the terminal answers to an agent that has ended: the caller's shell would read it.
    fn read_replies(&self) -> io::Result<()> {
        let (Some(input), Some(asked)) = (&self.input, self.asked) else { return Ok(()) };
        if !self.in_foreground {
            return Ok(());
        }
        let end = asked.at + ANSWERING;
        let mut heard = asked.heard;
        let mut buffer = [0; PIECE];
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let patience = if heard && !asked.overlaps { left.min(SILENCE) } else { left };
            let Some(timeout) = Timespec::try_from(patience).ok().filter(|_| !left.is_zero()) else { break };
            let mut fds = [PollFd::new(input, PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) => break,
                Ok(_) => match rustix::io::read(input, &mut buffer) {
                    Ok(0) | Err(Errno::IO) => break,
                    Ok(length) => heard |= has_answer(&buffer[..length]),
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(errno) => return Err(errno.into()),
                },
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Notes how many questions the agent asks the terminal now.
    fn note_questions(&mut self, count: u32) {
        if count == 0 {
            return;
        }
        let at = Instant::now();
        let is_open = |before: Asked| (before.overlaps || !before.heard) && at < before.at + ANSWERING;
        self.asked = Some(Asked { at, heard: false, overlaps: count > 1 || self.asked.is_some_and(is_open) });
    }

    /// Makes the caller's terminal what it was before.
    pub fn restore(&mut self) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), Screen::restore)
    }

    fn resume(&mut self) -> io::Result<()> {
        self.sync_foreground()?;
        self.resize()
    }

    /// Makes the terminal raw if this process is in the foreground.
    fn sync_foreground(&mut self) -> io::Result<()> {
        let Some(input) = &mut self.input else { return Ok(()) };
        self.in_foreground = input.in_foreground();
        if self.in_foreground { input.make_raw() } else { Ok(()) }
    }

    fn resize(&mut self) -> io::Result<()> {
        let size = self.input.as_ref().unwrap_or(&self.output).size()?;
        Ok(rustix::termios::tcsetwinsize(&self.master, size)?)
    }

    fn read_input(&mut self) -> io::Result<()> {
        let Some(input) = &self.input else { return Ok(()) };
        let mut buffer = [0; PIECE];
        match rustix::io::read(input, &mut buffer) {
            // A terminal ends when it hangs up; what Ctrl-D means is up to the agent's own.
            Ok(0) => self.input_ended = true,
            Ok(length) => {
                self.to_agent.extend(&buffer[..length]);
                if let Some(asked) = &mut self.asked {
                    asked.heard |= has_answer(&buffer[..length]);
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Either it has hung up, or this process was put into the background in the meantime.
            Err(Errno::IO) if input.in_foreground() => self.input_ended = true,
            Err(Errno::IO) => self.in_foreground = false,
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    fn read_master(&mut self) -> io::Result<()> {
        let mut buffer = [0; PIECE];
        while self.to_screen.len() < MAX_BUFFERED {
            match rustix::io::read(&self.master, &mut buffer) {
                // EIO: everybody inside has closed it, and everything they wrote has been read.
                Ok(0) | Err(Errno::IO) => {
                    self.master_ended = true;
                    break;
                }
                Ok(length) => {
                    let answers = match self.input {
                        Some(_) if self.in_foreground => Answers::Read,
                        _ => Answers::Unread,
                    };
                    self.to_screen.extend(self.filter.show(&buffer[..length], answers));
                    let count = self.filter.take_asked();
                    self.note_questions(count);
                    if let Some(recorded) = &mut self.recorded {
                        recorded.extend_from_slice(&buffer[..length]);
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    fn write_master(&mut self) -> io::Result<()> {
        match write_some(&self.master, &mut self.to_agent) {
            Err(Errno::IO) => self.to_agent.clear(),
            other => other?,
        }
        Ok(())
    }

    fn write_screen(&mut self) -> io::Result<()> {
        match write_some(&self.output, &mut self.to_screen) {
            // The caller's terminal has hung up: there is nobody to show it to. SIGHUP says so, too.
            Err(Errno::IO) => self.to_screen.clear(),
            other => other?,
        }
        Ok(())
    }
}

impl Drop for Relay {
    /// Has what is written next be seen, also where something has failed.
    fn drop(&mut self) {
        if self.filter.has_changed_display() || !self.to_screen.is_empty() {
            // There is nobody left to report it to.
            let _ = self.show_end(Leaving::ForGood, Instant::now() + SUSPENDING);
        }
    }
}

/// Writes as much as is taken now, and keeps the rest.
fn write_some(to: impl AsFd, bytes: &mut VecDeque<u8>) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let (next, _) = bytes.as_slices();
        match rustix::io::write(&to, &next[..next.len().min(PIECE)]) {
            Ok(length) => drop(bytes.drain(..length)),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};

    use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};

    use super::*;

    /// Opens both ends of a terminal.
    fn terminal() -> (File, OwnedFd) {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        unlockpt(&master).unwrap();
        let slave = ioctl_tiocgptpeer(&master, flags).unwrap();
        (File::from(master), slave)
    }

    /// Returns whether somebody who reads from a terminal next would get something.
    fn is_typed(slave: &OwnedFd) -> bool {
        let mut raw = rustix::termios::tcgetattr(slave).unwrap();
        raw.make_raw();
        rustix::termios::tcsetattr(slave, OptionalActions::Now, &raw).unwrap();
        let mut fds = [PollFd::new(slave, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
    }

    #[test]
    fn what_was_typed_and_not_read_is_not_for_whoever_comes_next() {
        let ((mut person, caller), (agent, _inside)) = (terminal(), terminal());
        let ends = Ends { input: Some(caller.as_fd()), output: caller.as_fd(), caller: Identity::own() };
        let mut relay = Relay::new(agent.into(), ends).unwrap();
        person.write_all(b"\x1b[?62;c").unwrap();
        assert!(is_typed(&caller), "the control");
        relay.restore().unwrap();
        assert!(!is_typed(&caller));
        drop(relay);
        person.write_all(b"x").unwrap();
        assert!(is_typed(&caller), "what comes later is somebody else's");
    }

    #[test]
    fn where_nobody_reads_the_answers_nothing_is_asked() {
        let ((mut person, caller), (agent, inside)) = (terminal(), terminal());
        let ends = Ends { input: None, output: caller.as_fd(), caller: Identity::own() };
        let relay = Relay::new(agent.into(), ends).unwrap();
        File::from(inside).write_all(b"\x1b[1mone\x1b[6n\x1b]11;?\x07\x1b[?1h\x1b=two").unwrap();
        relay.finish(Duration::from_secs(10)).unwrap();
        let mut seen = [0; 10];
        person.read_exact(&mut seen).unwrap();
        assert_eq!(&seen, b"\x1b[1monetwo");
    }

    #[test]
    fn what_changes_more_than_the_screen_is_not_shown_in_the_foreground_either() {
        let ((mut person, caller), (agent, inside)) = (terminal(), terminal());
        let ends = Ends { input: Some(caller.as_fd()), output: caller.as_fd(), caller: Identity::own() };
        let relay = Relay::new(agent.into(), ends).unwrap();
        let output = b"\x1b[1mone\x1b]7;file:///a\x07\x1b[?1003h\x1b[?25htwo";
        File::from(inside).write_all(output).unwrap();
        relay.finish(Duration::from_secs(10)).unwrap();
        // The mouse is switched off again.
        let mut seen = [0; 32];
        person.read_exact(&mut seen).unwrap();
        assert_eq!(&seen, b"\x1b[1mone\x1b[?1003h\x1b[?25htwo\x1b[?1003l");
    }

    /// Shows a large picture at the end, with the mouse switched on, on a terminal that rests so long after each piece, and returns what
    /// that gets.
    fn shown_at_the_end(rest: Duration, patience: Duration) -> Vec<u8> {
        let ((mut person, caller), (agent, inside)) = (terminal(), terminal());
        let ends = Ends { input: Some(caller.as_fd()), output: caller.as_fd(), caller: Identity::own() };
        let mut relay = Relay::new(agent.into(), ends).unwrap();
        relay.to_screen.extend(relay.filter.show(b"\x1b[?1003h", Answers::Read));
        relay.to_screen.extend(relay.filter.show(&picture(), Answers::Read));
        drop(inside);
        let terminal = std::thread::spawn(move || {
            let (mut seen, mut buffer) = (Vec::new(), [0; PIECE]);
            // EIO, when nobody has it any more.
            while let Ok(length) = person.read(&mut buffer) {
                seen.extend_from_slice(&buffer[..length]);
                std::thread::sleep(rest);
            }
            seen
        });
        relay.finish(patience).unwrap();
        drop(caller);
        terminal.join().unwrap()
    }

    fn picture() -> Vec<u8> {
        [b"\x1bPq", "~".repeat(10 << 20).as_bytes(), b"\x1b\\"].concat()
    }

    #[test]
    fn a_large_picture_at_the_end_is_shown_whole() {
        let seen = shown_at_the_end(Duration::from_micros(200), Duration::from_secs(5));
        let expected = [b"\x1b[?1003h", picture().as_slice(), b"\x1b[?1003l"].concat();
        assert!(seen == expected, "{} of {}", seen.len(), expected.len());
    }

    #[test]
    fn what_a_slow_terminal_has_not_got_at_the_end_is_over_and_modes_are_switched_off() {
        let seen = shown_at_the_end(Duration::from_millis(5), Duration::from_millis(400));
        assert!(seen.len() < picture().len(), "the control");
        assert!(seen.ends_with(b"~\x18\x1b\\\x1b[?1003l"), "{}", seen[seen.len() - 20..].escape_ascii());
    }

    #[test]
    fn somebody_who_listens_gets_every_byte() {
        let ((_person, caller), (agent, inside)) = (terminal(), terminal());
        let ends = Ends { input: None, output: caller.as_fd(), caller: Identity::own() };
        let mut relay = Relay::new(agent.into(), ends).unwrap().listening();
        let output = b"one\x1b]7;file:///a\x07\x1b[6ntwo";
        File::from(inside).write_all(output).unwrap();
        relay.on_ready(RelaySource::Master, PollFlags::IN).unwrap();
        assert_eq!(relay.output(), output);
    }

    /// Returns whether an answer is left to whoever reads next, which comes so long after the agent has asked, and ended.
    fn is_left(question: &'static [u8], answers: &'static [(u64, &'static [u8])]) -> bool {
        let ((mut person, caller), (agent, inside)) = (terminal(), terminal());
        let ends = Ends { input: Some(caller.as_fd()), output: caller.as_fd(), caller: Identity::own() };
        let relay = Relay::new(agent.into(), ends).unwrap();
        File::from(inside).write_all(question).unwrap();
        let terminal = std::thread::spawn(move || {
            let mut seen = vec![0; question.len()];
            person.read_exact(&mut seen).unwrap();
            for (after, answer) in answers {
                // A line of which the answer is so long on its way.
                std::thread::sleep(Duration::from_millis(*after));
                person.write_all(answer).unwrap();
            }
            person
        });
        relay.finish(Duration::from_secs(10)).unwrap();
        let _person = terminal.join().unwrap();
        is_typed(&caller)
    }

    #[test]
    fn an_answer_over_a_slow_line_is_waited_for() {
        assert!(!is_left(b"\x1b[6n", &[(500, b"\x1b[1;1R")]));
        // The control.
        assert!(is_left(b"\x1b[1m", &[(500, b"x")]));
    }

    #[test]
    fn each_of_two_questions_at_once_is_waited_for() {
        assert!(!is_left(b"\x1b[6n\x1b[6n", &[(100, b"\x1b[1;1R"), (400, b"\x1b[1;1R")]));
        // The control.
        assert!(is_left(b"\x1b[6n", &[(100, b"\x1b[1;1R"), (600, b"x")]));
    }

    #[test]
    fn a_key_is_no_answer() {
        assert!(!is_left(b"\x1b[6n", &[(100, b"x"), (400, b"\x1b[1;1R")]));
        assert!(!is_left(b"\x1b[6n", &[(100, b"\x1b[A"), (400, b"\x1b[1;1R")]));
    }

    #[test]
    fn where_two_questions_are_open_the_answer_to_one_is_not_the_end() {
        let ((_person, caller), (agent, _inside)) = (terminal(), terminal());
        let ends = Ends { input: Some(caller.as_fd()), output: caller.as_fd(), caller: Identity::own() };
        let mut relay = Relay::new(agent.into(), ends).unwrap();
        let overlaps = |relay: &Relay| relay.asked.unwrap().overlaps;
        relay.note_questions(1);
        assert!(!overlaps(&relay));
        relay.note_questions(1);
        assert!(overlaps(&relay));
        let earlier = |relay: &mut Relay, heard| {
            let at = Instant::now().checked_sub(ANSWERING / 2).unwrap();
            relay.asked = Some(Asked { at, heard, overlaps: false });
            relay.note_questions(1);
        };
        earlier(&mut relay, true);
        assert!(!overlaps(&relay));
        earlier(&mut relay, false);
        assert!(overlaps(&relay));
    }

    #[test]
    fn an_answer_that_comes_after_the_end_of_the_agent_is_waited_for() {
        let ((mut person, caller), (agent, inside)) = (terminal(), terminal());
        let ends = Ends { input: Some(caller.as_fd()), output: caller.as_fd(), caller: Identity::own() };
        let relay = Relay::new(agent.into(), ends).unwrap();
        File::from(inside).write_all(b"\x1b[c").unwrap();
        let terminal = std::thread::spawn(move || {
            let mut seen = [0; 3];
            person.read_exact(&mut seen).unwrap();
            person.write_all(b"\x1b[?62;c").unwrap();
            (person, seen)
        });
        relay.finish(Duration::from_secs(10)).unwrap();
        let (_person, seen) = terminal.join().unwrap();
        assert_eq!(&seen, b"\x1b[c");
        assert!(!is_typed(&caller));
    }
}
