//! Background jobs: commands in persistent sandboxes which run beside whoever has started them, until they end or this process does.
//!
//! Each job has one thread, which reads what the command writes into a buffer of bounded size. What nobody has fetched when the buffer is full is
//! dropped, the oldest first, and counted.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::note::note;
use super::output::whole;
use super::{Cancel, ShellEnd, ShellRequest, ShellText};
use crate::host::capture::Captured;
use crate::session::error::StartError;
use crate::session::staying::attend::OutputStream;
use crate::session::staying::spawn::RunningCommand;
use crate::state::sandboxes::StayingSandbox;

/// How many jobs there are at once, those included that have ended and that nobody has fetched the rest of.
pub const MOST: usize = 32;

/// How many bytes of each stream wait to be fetched.
const BUFFER: usize = 1 << 20;

/// How much of the end of a stream is kept for a note.
const LAST: usize = 16 << 10;

/// How many bytes a character of UTF-8 has at most.
const LONGEST_CHARACTER: usize = 4;

/// The jobs of one session. Dropped, all of them are killed.
#[derive(Debug, Default)]
pub struct Jobs {
    all: Mutex<JobList>,
}

#[derive(Debug, Default)]
struct JobList {
    stage: Stage,
    jobs: BTreeMap<u64, Arc<Job>>,
    /// How many are about to start.
    starting: usize,
    last: u64,
}

/// Whether jobs can start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Stage {
    #[default]
    Open,
    Ended,
}

/// Why nothing can be done with a job.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    #[error(
        "there is no job {0}: it was never started, or its end was reported already; `shell_list` lists those that there are"
    )]
    NotFound(u64),
    #[error(
        "there are {MOST} jobs already, which is the most; kill one, or fetch the rest of one that has ended"
    )]
    TooMany,
    /// Whoever has asked does not want to know any more.
    #[error("cancelled; nothing was fetched")]
    Cancelled,
    #[error("the session has ended, and no job can be started in it any more")]
    Ended,
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

impl JobState {
    fn stream(&mut self, stream: OutputStream) -> &mut Stream {
        let [stdout, stderr] = &mut self.streams;
        match stream {
            OutputStream::Stdout => stdout,
            OutputStream::Stderr => stderr,
        }
    }
}

impl Stream {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let over = self.bytes.len().saturating_sub(BUFFER);
        self.bytes.drain(..over);
        self.dropped += over as u64;
        self.last.extend(&bytes[bytes.len().saturating_sub(LAST)..]);
        let over = self.last.len().saturating_sub(LAST);
        self.last.drain(..over);
    }

    /// Returns whether there is something to take: the beginning of a character is not, while the rest may come.
    fn has_more(&mut self, is_over: bool) -> bool {
        let bytes = self.bytes.make_contiguous();
        !bytes.is_empty() && (is_over || whole(&bytes[..bytes.len().min(LONGEST_CHARACTER)]) > 0)
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
        let place = self.reserve()?;
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
        let mut all = self.lock();
        if all.stage == Stage::Ended {
            // Dropped, the command ends.
            return Err(JobError::Ended);
        }
        thread.spawn(move || watched.watch(running, &stdin)).map_err(opening)?;
        all.last += 1;
        let id = all.last;
        all.jobs.insert(id, job);
        drop(all);
        drop(place);
        Ok(id)
    }

    /// Takes the place of a job that is about to start.
    fn reserve(&self) -> Result<Place<'_>, JobError> {
        let mut all = self.lock();
        if all.stage == Stage::Ended {
            return Err(JobError::Ended);
        }
        if all.jobs.len() + all.starting >= MOST {
            return Err(JobError::TooMany);
        }
        all.starting += 1;
        Ok(Place(self))
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
        if cancel.is_raised() {
            // What was fetched now, nobody would get.
            return Err(JobError::Cancelled);
        }
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

    /// Kills all of them, and lets no other one start.
    pub fn end(&self) {
        let mut all = self.lock();
        all.stage = Stage::Ended;
        all.jobs.values().for_each(|job| job.kill.raise());
    }

    fn lock(&self) -> MutexGuard<'_, JobList> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.end();
    }
}

/// The place of a job that is about to start, until it has or has not.
struct Place<'a>(&'a Jobs);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.lock().starting -= 1;
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
    fn notify(&self) {
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
        let has_more = state.streams.iter_mut().any(|stream| stream.has_more(is_over));
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
        let mut take = |stream, piece: &[u8]| {
            self.lock().stream(stream).add(piece);
            self.notify();
        };
        let attended = running.attend(stdin, Some(self.kill.as_fd()), &mut take);
        let end = if let Ok((end, wanted)) = attended {
            ShellEnd::of(running.outcome(end, None).end, wanted)
        } else {
            // It cannot be watched any more, and so it must not go on.
            let _ = running.kill();
            ShellEnd::Cancelled
        };
        self.lock().end = Some((end, self.began.elapsed()));
        self.notify();
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
        assert!(!stream.has_more(false), "whoever waits for more waits");
        assert!(stream.has_more(true));
        assert_eq!(stream.take(9, false).text, "");
        stream.add(b"\xbc");
        assert!(stream.has_more(false));
        assert_eq!(stream.take(9, false).text, "ü");
    }

    #[test]
    fn a_job_that_is_not_there_is_an_error_that_says_what_to_do() {
        let error = Jobs::default().kill(7).unwrap_err().to_string();
        assert!(error.contains("there is no job 7") && error.contains("shell_list"), "{error}");
    }
}
