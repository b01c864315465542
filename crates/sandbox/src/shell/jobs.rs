//! Background jobs: commands in sandboxes that stay which run beside whoever has started them, until they end or this process does.
//!
//! Each job has one thread, which reads what the command writes into a buffer of bounded size. What nobody has fetched when the buffer is full is
//! dropped, the oldest first, and counted.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use super::note::note;
use super::output::whole;
use super::{Cancel, ShellEnd, ShellRequest, ShellText};
use crate::host::capture::Captured;
use crate::session::error::StartError;
use crate::session::staying::spawn::RunningCommand;
use crate::state::sandboxes::StayingSandbox;

/// How many jobs there are at once, those included that have ended and that nobody has fetched the rest of.
pub const MOST: usize = 32;

/// How many bytes of each stream wait to be fetched.
const BUFFER: usize = 1 << 20;

/// How much is read at once.
const PIECE: usize = 16 << 10;

/// The jobs of one session. Dropped, all of them are killed.
#[derive(Debug, Default)]
pub struct Jobs {
    all: Mutex<JobList>,
}

#[derive(Debug, Default)]
struct JobList {
    jobs: BTreeMap<u64, Arc<Job>>,
    last: u64,
}

/// Why nothing can be done with a job.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// There is none.
    #[error(
        "there is no job {0}: it was never started, or its end was reported already; `shell_list` lists those that there are"
    )]
    NotFound(u64),
    /// There are too many.
    #[error(
        "there are {MOST} jobs already, which is the most; kill one, or fetch the rest of one that has ended"
    )]
    TooMany,
    #[error(transparent)]
    Start(#[from] StartError),
}

/// What was fetched of a job.
#[derive(Debug)]
pub struct JobReport {
    pub id: u64,
    /// What was new on standard output.
    pub stdout: ShellText,
    /// What was new on standard error.
    pub stderr: ShellText,
    /// How it has ended; `None` while it runs.
    pub end: Option<ShellEnd>,
    /// Whether there is more to fetch.
    pub has_more: bool,
    pub duration: Duration,
    /// That the policy has made it fail, where that is certain.
    pub note: Option<String>,
}

/// A job, as a list shows it.
#[derive(Clone, Debug)]
pub struct JobSummary {
    pub id: u64,
    /// What runs, as it was asked for.
    pub script: String,
    pub sandbox: String,
    pub end: Option<ShellEnd>,
    pub duration: Duration,
}

#[derive(Debug)]
struct Job {
    script: String,
    sandbox: String,
    plan: policy::plan::Plan,
    began: Instant,
    kill: Cancel,
    state: Mutex<JobState>,
    /// Readable while there is something to fetch.
    news: OwnedFd,
}

#[derive(Debug, Default)]
struct JobState {
    streams: [Stream; 2],
    end: Option<(ShellEnd, Duration)>,
}

/// What waits of one stream.
#[derive(Debug, Default)]
struct Stream {
    bytes: VecDeque<u8>,
    /// How many were dropped since the last fetch.
    dropped: u64,
    /// The end of the stream, for a note.
    last: VecDeque<u8>,
}

impl Stream {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let over = self.bytes.len().saturating_sub(BUFFER);
        self.bytes.drain(..over);
        self.dropped += over as u64;
        self.last.extend(&bytes[bytes.len().saturating_sub(PIECE)..]);
        let over = self.last.len().saturating_sub(PIECE);
        self.last.drain(..over);
    }

    /// Takes the first bytes, and no part of a character that is not complete yet.
    fn take(&mut self, most: usize, is_over: bool) -> ShellText {
        let length = self.bytes.len().min(most);
        let bytes = self.bytes.make_contiguous();
        let length = if is_over && length == bytes.len() { length } else { whole(&bytes[..length]) };
        let taken: Vec<u8> = self.bytes.drain(..length).collect();
        let dropped = std::mem::take(&mut self.dropped);
        let total = dropped + taken.len() as u64;
        ShellText { is_truncated: dropped > 0, ..Captured { bytes: taken, total, truncated: false }.into() }
    }
}

impl Jobs {
    /// Starts a command, and returns the number of its job.
    ///
    /// # Errors
    ///
    /// There are too many, or the command cannot be started.
    pub fn start(&self, sandbox: &StayingSandbox, request: ShellRequest) -> Result<u64, JobError> {
        // Before anything is started; who starts two at once may have one too many for a moment.
        if self.lock().jobs.len() >= MOST {
            return Err(JobError::TooMany);
        }
        let script = match &request.script {
            super::Script::Shell(text) => text.clone(),
            super::Script::Argv(argv) => argv.join(" "),
        };
        let opening = StartError::step("watching the command");
        let (command, stdin) = request.command(sandbox);
        let job = Arc::new(Job {
            script,
            sandbox: sandbox.name().to_owned(),
            plan: sandbox.record.plan.clone(),
            began: Instant::now(),
            kill: Cancel::new().map_err(opening)?,
            state: Mutex::default(),
            news: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
                .map_err(|errno| opening(errno.into()))?,
        });
        let running = sandbox.spawn(command)?;
        let watched = Arc::clone(&job);
        let thread = std::thread::Builder::new().name("job".to_owned());
        thread.spawn(move || watched.watch(running, &stdin)).map_err(opening)?;
        let mut all = self.lock();
        all.last += 1;
        let id = all.last;
        all.jobs.insert(id, job);
        Ok(id)
    }

    /// Fetches what is new of a job: at most so many bytes of each stream. Where there is nothing, it waits for so long, or until `cancel` is raised. A
    /// job of which all was fetched and that has ended is forgotten.
    ///
    /// # Errors
    ///
    /// There is no such job.
    pub fn poll(&self, id: u64, most: usize, wait: Duration, cancel: &Cancel) -> Result<JobReport, JobError> {
        let job = self.lock().jobs.get(&id).cloned().ok_or(JobError::NotFound(id))?;
        job.wait(wait, cancel);
        let report = job.fetch(id, most);
        if report.end.is_some() && !report.has_more {
            self.lock().jobs.remove(&id);
        }
        Ok(report)
    }

    /// Kills a job with all that it has started. Its end can be fetched as any other.
    ///
    /// # Errors
    ///
    /// There is no such job.
    pub fn kill(&self, id: u64) -> Result<(), JobError> {
        let job = self.lock().jobs.get(&id).cloned().ok_or(JobError::NotFound(id))?;
        job.kill.raise();
        Ok(())
    }

    /// Lists them, the oldest first.
    pub fn list(&self) -> Vec<JobSummary> {
        let all = self.lock();
        let summary = |(id, job): (&u64, &Arc<Job>)| {
            let (end, duration) = job.ended();
            JobSummary { id: *id, script: job.script.clone(), sandbox: job.sandbox.clone(), end, duration }
        };
        all.jobs.iter().map(summary).collect()
    }

    /// Kills all of them.
    pub fn kill_all(&self) {
        self.lock().jobs.values().for_each(|job| job.kill.raise());
    }

    fn lock(&self) -> MutexGuard<'_, JobList> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.kill_all();
    }
}

impl Job {
    fn lock(&self) -> MutexGuard<'_, JobState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> (Option<ShellEnd>, Duration) {
        match &self.lock().end {
            Some((end, duration)) => (Some(end.clone()), *duration),
            None => (None, self.began.elapsed()),
        }
    }

    /// Says that there is something to fetch.
    fn tell(&self) {
        let _ = rustix::io::write(&self.news, &1_u64.to_ne_bytes());
    }

    fn wait(&self, wait: Duration, cancel: &Cancel) {
        let mut ready = [
            PollFd::from_borrowed_fd(self.news.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(cancel.as_fd(), PollFlags::IN),
        ];
        // Interrupted, there is nothing new yet, which is what is reported then.
        let _ = poll(&mut ready, Some(&Timespec::try_from(wait).unwrap_or_default()));
    }

    fn fetch(&self, id: u64, most: usize) -> JobReport {
        let state = &mut *self.lock();
        let is_over = state.end.is_some();
        let [stdout, stderr] = state.streams.each_mut().map(|stream| stream.take(most, is_over));
        let has_more = state.streams.iter().any(|stream| !stream.bytes.is_empty());
        if !has_more && !is_over {
            let _ = rustix::io::read(&self.news, &mut [0; 8]);
        }
        let (end, duration) = match &state.end {
            Some((end, duration)) => (Some(end.clone()), *duration),
            None => (None, self.began.elapsed()),
        };
        let note = match &end {
            Some(ShellEnd::Ended(end)) if !has_more => {
                let [out, err] =
                    state.streams.each_mut().map(|stream| stream.last.make_contiguous().to_vec());
                note(&self.plan, end, &out, &err)
            }
            Some(_) | None => None,
        };
        JobReport { id, stdout, stderr, end, has_more, duration, note }
    }

    /// Reads what the command writes until it has ended.
    fn watch(&self, mut running: RunningCommand, stdin: &[u8]) {
        let end = self.read_to_end(&mut running, stdin).unwrap_or_else(|_| {
            // It cannot be watched any more, and so it must not go on.
            let _ = running.kill();
            ShellEnd::Cancelled
        });
        self.lock().end = Some((end, self.began.elapsed()));
        self.tell();
    }

    fn read_to_end(&self, running: &mut RunningCommand, stdin: &[u8]) -> Result<ShellEnd, StartError> {
        let failed = StartError::step("reading the output of the command");
        let mut pipes = [running.stdout.take(), running.stderr.take()];
        let mut input = running.stdin.take();
        for file in pipes.iter().flatten().chain(&input) {
            rustix::io::ioctl_fionbio(file, true).map_err(|errno| failed(errno.into()))?;
        }
        let mut unwritten = stdin;
        let mut is_killed = false;
        loop {
            if unwritten.is_empty() {
                input = None;
            }
            let wanted = if is_killed { PollFlags::empty() } else { PollFlags::IN };
            let mut ready = vec![
                PollFd::from_borrowed_fd(running.control(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.kill.as_fd(), wanted),
            ];
            ready.extend(
                pipes.iter().flatten().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)),
            );
            ready.extend(input.iter().map(|input| PollFd::from_borrowed_fd(input.as_fd(), PollFlags::OUT)));
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            match poll(&mut ready, running.has_ended().then_some(&now)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(errno.into())),
            }
            let has_event = !ready[0].revents().is_empty() || running.has_ended();
            let wants_end = !is_killed && !ready[1].revents().is_empty();
            drop(ready);
            if wants_end {
                is_killed = true;
                running.kill()?;
            }
            if let Some(file) = &input {
                match rustix::io::write(file, unwritten) {
                    Ok(written) => unwritten = &unwritten[written..],
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    // It reads no more.
                    Err(_) => unwritten = &[],
                }
            }
            let end = if has_event { running.on_event()? } else { None };
            for (at, pipe) in pipes.iter_mut().enumerate() {
                self.read(at, pipe, end.is_some()).map_err(failed)?;
            }
            if let Some(end) = end {
                let outcome = running.outcome(end, None);
                return Ok(if is_killed { ShellEnd::Cancelled } else { ShellEnd::Ended(outcome.end) });
            }
        }
    }

    /// Reads what is there of one stream: a bounded number of times, unless it is for the last time.
    fn read(&self, at: usize, pipe: &mut Option<std::fs::File>, is_last: bool) -> io::Result<()> {
        let mut reads = 0;
        let mut piece = [0; PIECE];
        while let Some(file) = pipe.as_ref().filter(|_| reads < 16 || (is_last && reads < 1024)) {
            reads += 1;
            match rustix::io::read(file, &mut piece) {
                Ok(0) => *pipe = None,
                Ok(length) => {
                    self.lock().streams[at].add(&piece[..length]);
                    self.tell();
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_fetches_is_dropped_oldest_first_and_counted() {
        let mut stream = Stream::default();
        stream.add(&vec![b'a'; BUFFER]);
        stream.add(b"bc");
        let text = stream.take(usize::MAX, false);
        assert_eq!(text.text.len(), BUFFER);
        assert!(text.text.ends_with("abc") && text.is_truncated);
        assert_eq!(text.total, BUFFER as u64 + 2);
    }

    #[test]
    fn what_is_fetched_in_parts_is_whole_and_no_character_is_cut() {
        let mut stream = Stream::default();
        stream.add("aü".as_bytes());
        assert_eq!(stream.take(2, false).text, "a");
        let rest = stream.take(2, false);
        assert_eq!((rest.text.as_str(), rest.base64, rest.is_truncated), ("ü", None, false));
        // Half of one, of which the rest may come.
        stream.add(b"\xc3");
        assert_eq!(stream.take(9, false).text, "");
        stream.add(b"\xbc");
        assert_eq!(stream.take(9, false).text, "ü");
    }

    #[test]
    fn a_job_that_is_not_there_is_an_error_that_says_what_to_do() {
        let error = Jobs::default().kill(7).unwrap_err().to_string();
        assert!(error.contains("there is no job 7") && error.contains("shell_list"), "{error}");
    }
}
