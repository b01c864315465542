//! `batch`: many tasks, each in a fresh sandbox of its own, some at a time.

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use anyhow::Context as _;
use sandbox::batch::{
    Attempt, Batch, Ending, Finished, Limits, OnFailure, Queue, SubmitError, Task, TaskEnd, Then,
};
use sandbox::host::terminal::Signals;

use self::input::{Input, Line};
use self::interrupt::Interrupt;
use self::progress::Progress;
use self::record::{Outcome, Record, error_object};
use super::run_process::{Cancellation, RunEnvironment, RunProcess};
use crate::cli::{BatchArgs, PlanRequest, Unnamed};
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::load;
use crate::ui::Ui;

mod arguments;
mod input;
mod interrupt;
mod progress;
mod record;
mod task;

/// How many tasks of a pipe wait here: more may be in the pipe.
const MAX_WAITING: NonZeroUsize = NonZeroUsize::new(1000).expect("1000 is not 0");

pub(crate) fn batch(ui: &Ui, context: &Context, args: BatchArgs) -> Result<ExitCode, CommandError> {
    let BatchArgs { jobs, fail_fast, trust_tasks, defaults: Unnamed(defaults), file } = args;
    if defaults.name.is_some() {
        let message = "--name: a batch makes a sandbox for each task, and no two have one name";
        return Err(CommandError::message(Code::UsageInvalid, message)
            .hint("leave it out: `sandbox.name` in each line of the output says what each was called"));
    }
    let mut input = Input::open(context, file.as_deref(), |opened| {
        if trust_tasks { Ok(None) } else { opened.distrusted(context, &defaults) }
    })?;
    input.bound(|| load::timeout_of(context, &defaults));
    let source = if input.is_file() { Source::File(input.read_all()?) } else { Source::Pipe(input) };
    // Before there is any other thread: signals go to one that has not blocked them.
    let signals = Signals::block().context("cannot block signals")?;
    let total = match &source {
        Source::File(tasks) => Some(tasks.len()),
        Source::Pipe(_) => None,
    };
    let limits = Limits {
        running: jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN),
        waiting: MAX_WAITING,
        on_failure: if fail_fast { OnFailure::CancelAll } else { OnFailure::GoOn },
    };
    let is_quiet = ui.is_quiet();
    let (queue, running) = Batch::new(limits, move |attempt| run(attempt, &defaults, is_quiet));
    let canceller = running.canceller();
    let interrupt =
        Interrupt::watch(signals, move || canceller.cancel_all()).context("cannot start a thread")?;
    let mut output = Output { ui, progress: Progress::new(ui, total), is_success: true };
    let (refused, read) = match source {
        Source::File(tasks) => {
            let refused = submit_all(&queue, tasks)?;
            // No more will come.
            drop(queue);
            (refused, None)
        }
        Source::Pipe(input) => (Vec::new(), Some(submit_as_they_arrive(queue, input)?)),
    };
    // Where nothing is printed any more, nothing is run any more: the batch ends with this function.
    for finished in running {
        output.finished(finished)?;
    }
    for task in refused {
        output.cancelled(&task.payload)?;
    }
    // A batch that was cancelled does not wait for more to read.
    if let Some(Ok(result)) = read.map(|read| read.try_recv()) {
        result?;
    }
    let is_success = output.is_success;
    drop(output);
    Ok(match interrupt.signal() {
        Some(signal) => ExitCode::Signal(signal),
        None if is_success => ExitCode::Success,
        None => ExitCode::TasksFailed,
    })
}

/// Where tasks come from.
enum Source {
    /// All of them are there.
    File(Vec<task::BatchTask>),
    /// Each is there when it has arrived.
    Pipe(Input),
}

/// Makes one attempt at a task.
fn run(attempt: &Attempt<Line>, defaults: &PlanRequest, is_quiet: bool) -> (Ending, Outcome) {
    let outcome = match attempt.task() {
        Line::Wrong(line) => Outcome::failed(Ending::Refused, &line.error()),
        Line::Task(task) => {
            let words: Vec<OsString> = arguments::words(defaults, is_quiet, task);
            match RunProcess::start(&words, RunEnvironment::Ours, &[]) {
                Ok((running, canceller)) => {
                    attempt.on_cancel(move || drop(canceller));
                    running.finish(Cancellation::Patient).map_or_else(lost, Outcome::of)
                }
                Err(error) => Outcome::failed(Ending::NotStarted, &not_started(error)),
            }
        }
    };
    (outcome.ending, outcome)
}

/// Makes the outcome of a `run` that could not be watched: its command may have run.
fn lost(error: io::Error) -> Outcome {
    let error = anyhow::Error::new(error).context("cannot watch the `run` of this task, which was ended");
    Outcome::failed(Ending::Ran(ExitCode::Failed.number()), &CommandError::new(Code::ToolFailed, error))
}

fn not_started(error: io::Error) -> CommandError {
    let is_too_long = error.kind() == io::ErrorKind::ArgumentListTooLong;
    let failure = CommandError::new(
        Code::StartFailed,
        anyhow::Error::new(error).context("cannot start the `run` of this task"),
    );
    if is_too_long {
        failure.hint("share a directory with what is large, by `volumes`: files may be longer than arguments and variables")
    } else {
        failure
    }
}

/// Adds all tasks. Returns those that come after everything was cancelled.
fn submit_all(
    queue: &Queue<Line, Outcome>,
    tasks: Vec<task::BatchTask>,
) -> Result<Vec<Task<Line>>, CommandError> {
    match queue.submit_all(tasks.into_iter().map(Line::Task).map(queued).collect()) {
        Ok(_) => Ok(Vec::new()),
        Err(SubmitError::Cancelled(tasks)) => Ok(tasks),
        Err(error @ SubmitError::Thread { .. }) => Err(no_thread(&error)),
    }
}

/// Adds tasks as they arrive, in a thread of its own. What that comes to is sent before the batch may end for want of tasks.
fn submit_as_they_arrive(
    queue: Queue<Line, Outcome>,
    mut input: Input,
) -> Result<Receiver<Result<(), CommandError>>, CommandError> {
    let (result, results) = mpsc::channel();
    let read = move || {
        let come = submit_each(&queue, &mut input);
        // Whoever does not want to know has been cancelled.
        let _ = result.send(come);
        drop(queue);
    };
    thread::Builder::new().name("input".to_owned()).spawn(read).context("cannot start a thread")?;
    Ok(results)
}

fn submit_each(queue: &Queue<Line, Outcome>, input: &mut Input) -> Result<(), CommandError> {
    let mut is_empty = true;
    while let Some(line) = input.next()? {
        is_empty = false;
        match queue.submit(queued(line)) {
            Ok(_) => {}
            Err(SubmitError::Cancelled(_)) => return Ok(()),
            Err(error @ SubmitError::Thread { .. }) => return Err(no_thread(&error)),
        }
    }
    if is_empty { Err(input.no_tasks()) } else { Ok(()) }
}

fn no_thread<G>(error: &SubmitError<G>) -> CommandError {
    CommandError::message(Code::ToolFailed, error)
}

fn queued(line: Line) -> Task<Line> {
    let (group, retries) = match &line {
        Line::Task(task) => (task.group.clone(), task.retries.clone()),
        Line::Wrong(_) => Default::default(),
    };
    Task { payload: line, group, retries }
}

/// What is printed.
struct Output<'a> {
    ui: &'a Ui,
    progress: Progress,
    /// Whether every task so far has succeeded.
    is_success: bool,
}

impl Output<'_> {
    fn finished(&mut self, finished: Finished<Line, Outcome>) -> Result<(), CommandError> {
        let line = &finished.task.payload;
        let (number, Outcome { ending, mut object, stderr }, then) = match finished.end {
            TaskEnd::Cancelled => return self.cancelled(line),
            TaskEnd::Attempt { number, result, then } => (number, result, then),
        };
        self.progress.clear();
        self.progress.pass_on(&stderr);
        match then {
            Then::Retried => {}
            Then::Done => self.count(ending.is_success()),
            Then::Cancelled => {
                object.append(&mut error_object(&cancelled()));
                self.count(false);
            }
        }
        let (id, wrong) = name(line);
        let attempt = wrong.is_none().then_some(number);
        self.print(&Record { id, line: wrong, attempt, retried: then == Then::Retried, object })
    }

    fn cancelled(&mut self, line: &Line) -> Result<(), CommandError> {
        let (id, wrong) = name(line);
        self.count(false);
        let object = error_object(&cancelled());
        self.print(&Record { id, line: wrong, attempt: None, retried: false, object })
    }

    fn count(&mut self, is_success: bool) {
        self.is_success &= is_success;
        self.progress.count(is_success);
    }

    fn print(&mut self, record: &Record<'_>) -> Result<(), CommandError> {
        self.progress.clear();
        self.ui.json_line(record)?;
        self.progress.draw();
        Ok(())
    }
}

/// Returns the id of a task; of a line that is none, its number too.
fn name(line: &Line) -> (Option<&str>, Option<u64>) {
    match line {
        Line::Task(task) => (Some(&task.id), None),
        Line::Wrong(line) => (line.id.as_deref(), Some(line.number)),
    }
}

fn cancelled() -> CommandError {
    CommandError::message(
        Code::TaskCancelled,
        "the task was cancelled: the batch was ended before it had succeeded",
    )
    .hint("run it again; `--fail-fast` cancels every task when one has failed")
}
