//! Where the tasks of a batch come from: lines of a file, which are all read before anything runs, or of a pipe, which are
//! tasks as they arrive.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use policy::rules::limits;
use policy::text::escape;
use policy::text::json_object::Mistake;
use sandbox::state::writable::Author;
use serde_json::{Value, json};

use super::task::BatchTask;
use crate::as_caller::AsCaller;
use crate::cli::PlanRequest;
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::load;
use crate::precedence;
use crate::text::one_line;

/// The longest line, in bytes.
const MAX_LINE: usize = 1 << 20;

/// How many mistakes are listed.
const MAX_LISTED: usize = 20;

/// The lines of a batch.
pub(super) struct Input {
    label: String,
    reader: BufReader<AsCaller<File>>,
    is_file: bool,
    line: u64,
    /// In which line each id is.
    ids: HashMap<String, u64>,
    /// Why a task may not say where it runs and what it gets, if it may not.
    distrusted: Option<String>,
    /// How long a task may run at most that may not say so.
    longest: Option<Duration>,
}

/// A list of tasks that was opened.
pub(super) struct Opened<'a> {
    file: &'a File,
    /// Where it was found, from the root.
    path: PathBuf,
}

impl Opened<'_> {
    /// Says why the list does not speak for the caller, if an agent may have written it, or another user.
    pub(super) fn distrusted(
        &self,
        context: &Context,
        defaults: &PlanRequest,
    ) -> Result<Option<String>, CommandError> {
        // Who writes to a pipe of the caller's, the caller has chosen.
        if self.path == Path::new("/") && !self.file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Ok(None);
        }
        let author = |writable: Vec<PathBuf>| {
            let programs = context.programs(writable);
            let author = programs.writable().author(&self.path, self.file, context.caller);
            author.context("cannot tell who may have written the tasks")
        };
        if let Some(why) = author(load::writable_of(context, defaults))?.reason() {
            return Ok(Some(why));
        }
        // What an agent has left stays after its sandbox has ended.
        let known = precedence::known(context)?;
        let before = known.shared_on_the_way(&self.path, self.file, context.caller);
        Ok(match author(before.context("cannot tell who may have written the tasks")?)? {
            Author::Agent(directory) => Some(format!(
                "the file lies in {}, which an earlier sandbox could write to",
                escape::path(&directory)
            )),
            Author::Trusted | Author::User(_) => None,
        })
    }
}

/// One line that is not blank.
#[derive(Debug)]
pub(super) enum Line {
    Task(BatchTask),
    Wrong(WrongLine),
}

/// A line that is no task.
#[derive(Debug)]
pub(super) struct WrongLine {
    pub(super) number: u64,
    /// The id that it has all the same.
    pub(super) id: Option<String>,
    /// Where the line is from.
    label: String,
    mistakes: Vec<Mistake>,
}

impl Input {
    /// Opens a file, with the rights of the caller, or standard input.
    ///
    /// `distrusted` says why the tasks may not say where they run and what they get, if they may not.
    pub(super) fn open(
        context: &Context,
        path: Option<&Path>,
        distrusted: impl FnOnce(&Opened<'_>) -> Result<Option<String>, CommandError>,
    ) -> Result<Self, CommandError> {
        let path = path.filter(|path| *path != Path::new("-"));
        let (label, file) = if let Some(path) = path {
            let label = escape::path(path);
            let file = context.open(path).with_context(|| format!("cannot read tasks from {label}"));
            (label, file.map_err(unreadable)?)
        } else {
            let stdin = io::stdin().as_fd().try_clone_to_owned();
            ("standard input".to_owned(), stdin.context("cannot read standard input")?.into())
        };
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        // Without a path it is standard input: where it lies, its descriptor says.
        let path = path.map_or_else(|| PathBuf::from("/"), |path| context.cwd.join(path));
        let distrusted = distrusted(&Opened { file: &file, path })?;
        let reader = BufReader::new(AsCaller::new(file, context.caller));
        Ok(Self { label, reader, is_file, line: 0, ids: HashMap::new(), distrusted, longest: None })
    }

    /// Bounds how long tasks run that may not say where they do.
    pub(super) fn bound(&mut self, longest: impl FnOnce() -> Option<Duration>) {
        self.longest = self.distrusted.as_ref().and_then(|_| longest());
    }

    /// Returns whether all of it is there already.
    pub(super) fn is_file(&self) -> bool {
        self.is_file
    }

    /// Reads all tasks of a file.
    pub(super) fn read_all(mut self) -> Result<Vec<BatchTask>, CommandError> {
        let (mut tasks, mut wrong) = (Vec::new(), Vec::new());
        while let Some(line) = self.next()? {
            match line {
                Line::Task(task) => tasks.push(task),
                Line::Wrong(line) => wrong.push(line),
            }
        }
        if !wrong.is_empty() {
            return Err(mistakes(&wrong).hint("nothing was run"));
        }
        if tasks.is_empty() { Err(self.no_tasks()) } else { Ok(tasks) }
    }

    /// Returns the error where there is no task.
    pub(super) fn no_tasks(&self) -> CommandError {
        let message = format!("{}: there is no task in it", self.label);
        CommandError::message(Code::TasksInvalid, message)
            .hint("a task is a line such as `{\"id\": \"a\", \"command\": [\"make\", \"test\"]}`")
    }

    /// Reads the next line, and waits for it.
    pub(super) fn next(&mut self) -> Result<Option<Line>, CommandError> {
        loop {
            let Some(read) = self.read_line()? else { return Ok(None) };
            self.line += 1;
            let parsed = match read {
                ReadLine::Line(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => continue,
                ReadLine::Line(bytes) => BatchTask::parse(&bytes, self.distrusted.as_deref()),
                ReadLine::TooLong => {
                    let mistake = Mistake::new(format!("longer than {MAX_LINE} bytes"));
                    Err((None, vec![mistake.hint("share a directory with what is large, by `volumes`")]))
                }
            };
            return Ok(Some(match parsed.and_then(|task| self.unique(task)) {
                Ok(mut task) => {
                    // Without one of its own, it has that of the batch.
                    task.timeout =
                        task.timeout.filter(|text| self.longest.is_none_or(|most| is_within(text, most)));
                    Line::Task(task)
                }
                Err((id, mistakes)) => {
                    Line::Wrong(WrongLine { number: self.line, id, label: self.label.clone(), mistakes })
                }
            }));
        }
    }

    fn unique(&mut self, task: BatchTask) -> super::task::Parsed {
        match self.ids.insert(task.id.clone(), self.line) {
            None => Ok(task),
            Some(other) => {
                self.ids.insert(task.id.clone(), other);
                let id = one_line(&task.id);
                let mistake = Mistake::new(format!("line {other} has the id \"{id}\" already"));
                Err((Some(task.id), vec![mistake.hint("ids tell results apart, so each is there once")]))
            }
        }
    }

    fn read_line(&mut self) -> Result<Option<ReadLine>, CommandError> {
        let failed = |error: io::Error| {
            unreadable(anyhow::Error::new(error).context(format!("cannot read tasks from {}", self.label)))
        };
        let mut line = Vec::new();
        let limit = MAX_LINE as u64 + 1;
        self.reader.by_ref().take(limit).read_until(b'\n', &mut line).map_err(failed)?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.len() <= MAX_LINE || line.ends_with(b"\n") {
            return Ok(Some(ReadLine::Line(line)));
        }
        // What is left of it is no task of its own.
        self.reader.skip_until(b'\n').map_err(failed)?;
        Ok(Some(ReadLine::TooLong))
    }
}

/// Returns whether a timeout, as a task says it, is no longer than this.
fn is_within(text: &str, longest: Duration) -> bool {
    limits::duration(text).is_ok_and(|timeout| timeout <= longest)
}

/// A line as it is read.
enum ReadLine {
    Line(Vec<u8>),
    TooLong,
}

impl WrongLine {
    /// Returns the error of this line alone.
    pub(super) fn error(&self) -> CommandError {
        mistakes(std::slice::from_ref(self))
    }

    fn texts(&self) -> impl Iterator<Item = (String, &Mistake)> {
        let place = |mistake: &Mistake| match mistake.column {
            Some(column) => format!("{}:{}:{column}", self.label, self.number),
            None => format!("{}:{}", self.label, self.number),
        };
        self.mistakes
            .iter()
            .map(move |mistake| (format!("{}: {}", place(mistake), one_line(&mistake.message)), mistake))
    }
}

/// Makes one error of everything that is wrong.
fn mistakes(lines: &[WrongLine]) -> CommandError {
    let all: Vec<_> = lines.iter().flat_map(|line| line.texts().map(move |text| (line, text))).collect();
    let listed = &all[..all.len().min(MAX_LISTED)];
    let details: Vec<Value> = listed
        .iter()
        .map(|(line, (_, Mistake { column, message, hint }))| {
            json!({ "line": line.number, "column": column, "message": message, "hint": hint })
        })
        .collect();
    let failure = match all.as_slice() {
        [(_, (text, mistake))] => {
            mistake.hint.iter().fold(CommandError::message(Code::TasksInvalid, text), CommandError::hint)
        }
        all => {
            let with_hint = |(_, (text, mistake)): &(_, (String, &Mistake))| match &mistake.hint {
                Some(hint) => format!("\n  {text}; {hint}"),
                None => format!("\n  {text}"),
            };
            let mut lines: Vec<_> = listed.iter().map(with_hint).collect();
            if all.len() > listed.len() {
                lines.push(format!("\n  and {} more", all.len() - listed.len()));
            }
            CommandError::message(
                Code::TasksInvalid,
                format_args!("{} problems:{}", all.len(), lines.concat()),
            )
        }
    };
    failure.details(json!({ "problems": details, "count": all.len() }))
}

fn unreadable(error: anyhow::Error) -> CommandError {
    CommandError::new(Code::UsageInvalid, error)
}
