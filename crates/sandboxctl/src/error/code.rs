//! The one table of error codes: a row for each, from which come the exit code, the manual and whether to try again.
//!
//! Rows stand in the order of their exit codes, the lowest first; of one exit code, those of one subject stand together.

use std::fmt::Write as _;

use crate::exit_code::ExitCode;

/// The signal that ends a program which writes to a pipe that nobody reads, by signal(7).
const SIGPIPE: i32 = 13;

/// Whether the same call may go through later with nothing changed by the caller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Retry {
    Later,
    Never,
}

/// Makes the codes from their rows: the name here and in `error.code`, which never changes its meaning, the status the
/// process ends with, whether trying again may help, and what it means.
macro_rules! codes {
    ($($code:ident = $name:literal, $exit:expr, $retry:expr, $meaning:literal;)*) => {
        /// What went wrong, in a word that scripts may rely on.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub(crate) enum Code {
            $(#[doc = $meaning] $code,)*
        }

        const ROWS: &[Row] = &[$(Row {
            name: $name,
            exit: { use ExitCode::*; $exit },
            retry: $retry,
            meaning: $meaning,
        },)*];
    };
}

codes! {
    UsageInvalid = "usage.invalid", Usage, Retry::Never, "the command line cannot be read";
    UsageUnsupported = "usage.unsupported", Usage, Retry::Never, "what is asked for is not built yet";
    ConfigNotFound = "config.not_found", Usage, Retry::Never, "there is no such configuration file";
    ConfigExists = "config.exists", Usage, Retry::Never, "the file is there already, and is never overwritten";
    ConfigInvalid = "config.invalid", Usage, Retry::Never, "the configuration is wrong; details.problems lists everything that is";
    ConfigUntrusted = "config.untrusted", Usage, Retry::Never, "the file widens what a sandbox may do, and is not trusted";
    ConfigSuperseded = "config.superseded", Usage, Retry::Never, "a nearer file, or a new repository, would take the place of the file that was in force";
    PatternInvalid = "pattern.invalid", Usage, Retry::Never, "a glob or regular expression cannot be used";
    TasksInvalid = "tasks.invalid", Usage, Retry::Never, "lines of a batch are no tasks; details.problems lists what is wrong";
    ChildInvalid = "child.invalid", Usage, Retry::Never, "what an agent has asked for is no request for a child; details.problems lists what is wrong";
    EngineNotInstalled = "engine.not_installed", Unavailable, Retry::Never, "there is no command of the engine";
    EngineUnreachable = "engine.unreachable", Unavailable, Retry::Never, "no engine answers";
    EngineForbidden = "engine.forbidden", Unavailable, Retry::Never, "this user may not use the engine";
    EngineElsewhere = "engine.elsewhere", Unavailable, Retry::Never, "the engine is on another machine, or cannot be determined from its settings";
    EngineTimedOut = "engine.timed_out", Unavailable, Retry::Later, "the engine has not answered in time";
    EngineRuntime = "engine.runtime", Unavailable, Retry::Never, "the engine does not have the runtime";
    ImageMissing = "image.missing", Unavailable, Retry::Never, "the engine does not have the image";
    ImageArchitecture = "image.architecture", Unavailable, Retry::Never, "the image is for a processor that this machine is not and does not emulate";
    BuilderMissing = "builder.missing", Unavailable, Retry::Never, "there is no buildx, or the builder cannot be used";
    BuilderUnfit = "builder.unfit", Unavailable, Retry::Never, "no builder can do what is asked";
    EmulatorMissing = "emulator.missing", Unavailable, Retry::Never, "nothing here emulates a processor that the build is for";
    LayerUnenforceable = "layer.unenforceable", Unavailable, Retry::Never, "a required layer cannot be enforced on this machine";
    CommandUnprotected = "command.unprotected", Unprotected, Retry::Later, "a protected file was replaced on the host and would run something new; the sandbox was ended";
    SandboxShown = "sandbox.shown", Unprotected, Retry::Never, "a hidden file was replaced on the host, and the sandbox does not hide it any more; nothing was started in it";
    ChildRefused = "child.refused", Denied, Retry::Never, "an agent has asked for a child that is wider than its sandbox; details.problems lists in what";
    PolicyDenied = "policy.denied", Denied, Retry::Never, "a rule refuses it; asking again changes nothing";
    TaskCancelled = "task.cancelled", TasksFailed, Retry::Later, "the task of a batch was cancelled before it had succeeded";
    CommandTimedOut = "command.timed_out", TimedOut, Retry::Never, "the command ran out of time";
    ChildLimit = "child.limit", Failed, Retry::Later, "as many children are alive as `[children] max` allows";
    EngineDiskFull = "engine.disk_full", Failed, Retry::Never, "the engine has no space left";
    EngineFailed = "engine.failed", Failed, Retry::Never, "the engine refused, in words of its own";
    ImageNotFetched = "image.not_fetched", Failed, Retry::Later, "the image cannot be fetched";
    ImageNotPushed = "image.not_pushed", Failed, Retry::Later, "the image cannot be pushed";
    ImageUnfit = "image.unfit", Failed, Retry::Never, "the image that was built cannot start as a sandbox in an engine";
    BuildFailed = "build.failed", Failed, Retry::Never, "a step of the build failed";
    SandboxNameInUse = "sandbox.name_in_use", Failed, Retry::Never, "there is a sandbox of this name";
    SandboxNotFound = "sandbox.not_found", Failed, Retry::Never, "there is no sandbox of this name";
    SandboxAmbiguous = "sandbox.ambiguous", Failed, Retry::Never, "more than one sandbox has this name";
    SandboxState = "sandbox.state", Failed, Retry::Never, "the sandbox is not in a state in which that can be done";
    SandboxEnding = "sandbox.ending", Failed, Retry::Later, "the command of the sandbox has ended, and its client is about to remove it";
    SandboxFull = "sandbox.full", Failed, Retry::Later, "the sandbox has as many processes as its limit allows";
    SandboxTooMany = "sandbox.too_many", Failed, Retry::Later, "there are so many persistent sandboxes that a client of the MCP server can have none kept";
    SandboxUnreachable = "sandbox.unreachable", Failed, Retry::Later, "PID 1 of the sandbox does not answer";
    CopyFailed = "copy.failed", Failed, Retry::Never, "files cannot be copied";
    FileNotFound = "file.not_found", Failed, Retry::Never, "the sandbox has no such file";
    FileUnfit = "file.unfit", Failed, Retry::Never, "the file is not what the tool works on: a device, a directory, or no text";
    FileFailed = "file.failed", Failed, Retry::Never, "the system refuses to read or write the file";
    FileChanged = "file.changed", Failed, Retry::Later, "somebody else has changed the file meanwhile, and nothing was written";
    EditMismatch = "edit.mismatch", Failed, Retry::Never, "an edit matches nothing, or more than once; details say where";
    HomeNotFound = "home.not_found", Failed, Retry::Never, "there is no home directory of this name";
    HomeInUse = "home.in_use", Failed, Retry::Later, "a sandbox has the home directory";
    EgressNone = "egress.none", Failed, Retry::Never, "the sandbox has no allow-list of hosts";
    SecretUnavailable = "secret.unavailable", Failed, Retry::Later, "the value of a secret cannot be read";
    StartFailed = "start.failed", Failed, Retry::Never, "the sandbox could not be started";
    ToolFailed = "tool.failed", Failed, Retry::Never, "something failed that has no code of its own";
    CommandNotExecutable = "command.not_executable", NotExecutable, Retry::Never, "the command is there but cannot be executed";
    CommandNotFound = "command.not_found", NotFound, Retry::Never, "there is no such command inside";
    OutputClosed = "output.closed", Signal(SIGPIPE), Retry::Never, "the reader of standard output has closed it, and nothing more is printed";
}

struct Row {
    name: &'static str,
    exit: ExitCode,
    retry: Retry,
    meaning: &'static str,
}

impl Code {
    fn row(self) -> &'static Row {
        // Rows stand in the order of the variants.
        &ROWS[self as usize]
    }

    /// Returns the string in `error.code`.
    pub(crate) fn as_str(self) -> &'static str {
        self.row().name
    }

    /// Returns the status that the process ends with.
    pub(crate) fn exit_code(self) -> ExitCode {
        self.row().exit
    }

    /// Returns whether the same call may succeed later with nothing changed by the caller.
    pub(super) fn retryable(self) -> bool {
        self.row().retry == Retry::Later
    }
}

/// Lists every code with the status the process ends with, for the manual.
pub(crate) fn list() -> String {
    let mut list = String::from("Error codes, in `error.code` with --format json:\n");
    let width = ROWS.iter().map(|row| row.name.len()).max().unwrap_or_default();
    for Row { name, exit, meaning, .. } in ROWS {
        // A write to a string cannot fail.
        let _ = writeln!(list, "  {name:<width$}  {:<3}  {meaning}", exit.number());
    }
    list + "\nA command that ran gives its own exit code, and 128+n when signal n ended it; `result.ended_by` says which it was."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_their_exit_codes() {
        assert!(ROWS.is_sorted_by_key(|row| row.exit.number()));
    }
}
