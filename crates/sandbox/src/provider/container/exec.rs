//! A second command in a container that runs: never by the engine's own way in, which would start it with what the
//! container was made with and without any of our confinement, but by way of our program there.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use confine::control::{Event, Failure};
use confine::line::{ADDRESS, WORKDIR};
use confine::report::Report;
use nix::sys::signal::Signal;

use self::line::{Heard, Line};
pub use self::search::{FindError, Found, Sought, find};
use super::{arguments, meeting};
use crate::capture::Capture;
use crate::deadline::Deadline;
use crate::engine::{Engine, EngineError};
use crate::provider::child::{self, Group};
use crate::provider::{End, Entry, Outcome, Output, StartError, Streams, orders};

mod line;
mod search;

/// How long an engine may take to notice that a container has ended.
const ENDING: Duration = Duration::from_secs(5);

/// What the engine's command ends with where our program was killed by SIGKILL.
const KILLED: i32 = 128 + Signal::SIGKILL as i32;

/// Runs the plan's command in a sandbox that was found.
pub(in crate::provider) fn enter(entry: &Entry<'_>) -> Result<Outcome, StartError> {
    let Entry { plan, sandbox, streams } = *entry;
    let Found { engine, id, run, seen, .. } = sandbox;

    // 1. Where our program says what becomes of the command.
    let mut line = Line::open(&sandbox.place, sandbox.owner, &meeting::point(run))
        .map_err(super::step("making a place to meet our program"))?;

    // 2. Variables stand on the argument list, where no secret may: an engine keeps what it is told, and what is in the
    //    environment of its command acts on that command. HOME and its like the program inside sets.
    let mut command = engine.command();
    let mut words: Vec<OsString> = vec!["exec".into(), "--interactive".into()];
    let mut variable = |name: &str, value: &OsStr| {
        let mut word = OsString::from(format!("{name}="));
        word.push(value);
        words.extend(["--env".into(), word]);
    };
    for each in plan.env.iter().filter(|each| !["HOME", "LOGNAME", "USER"].contains(&each.name.as_str())) {
        variable(&each.name, &each.value);
    }

    // 3. Our program takes these away again: who the agent is, what it may write, where it starts. All are set, or an
    //    image's own would count. It may write what the first command may, whatever is configured here and now.
    let writable: Vec<&str> = arguments::TEMPORARY.into_iter().chain(seen.writable()).collect();
    let writable = serde_json::to_string(&writable).unwrap_or_default();
    // Where the agent is 0, it is so in a user namespace that is not the host's: there it is the caller.
    let (user, root) = if seen.user() == "0:0" { ("root", "1") } else { ("agent", "0") };
    let umask = orders::umask().map_err(super::step("reading the umask of this process"))?;
    for (name, value) in [
        ("SANDBOX_WRITABLE", writable.as_str()),
        ("SANDBOX_UMASK", &format!("{umask:04o}")),
        ("AGENT_USER", user),
        ("AGENT_ALLOW_ROOT", root),
        ("AGENT_ALLOW_EMULATION", "0"),
        // It stays, and so can say how the command ends.
        ("AGENT_INIT", "1"),
    ] {
        variable(name, OsStr::new(value));
    }
    variable("AGENT_WORKDIR", plan.agent.workdir.as_os_str());
    // The word on the line is for nobody who can read argument lists: a name without a value passes it on.
    words.extend(["--env".into(), ADDRESS.into()]);
    command.env(ADDRESS, line.address().to_string());

    // 4. A terminal is the container's own, as for the agent.
    let on_a_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if streams == Streams::Inherit && on_a_terminal {
        words.push("--tty".into());
    }
    words.push(id.into());
    words.push(meeting::point(run).join(meeting::PROGRAM).into());
    words.push("--".into());
    words.extend(plan.agent.argv.iter().cloned());
    command.args(words);

    // 5. The engine's command ends when the one inside does, or when the engine is gone.
    let failed = |source| EngineError::Call { kind: engine.kind(), source };
    let captures = match streams {
        Streams::Inherit => {
            command.stdin(Stdio::inherit());
            None
        }
        Streams::Capture => {
            let open = || Capture::open(plan.limits.output_bytes).map_err(failed);
            let ((stdout, out), (stderr, err)) = (open()?, open()?);
            command.stdout(out).stderr(err);
            Some([stdout, stderr])
        }
    };
    let began = Instant::now();
    let mut running = command.spawn().map_err(failed)?;
    drop(command);
    let watched = child::watch(running.id(), Group::Ours, captures, None);
    let status = running.wait().map_err(failed)?;
    let (_, output) = watched.map_err(failed)?;
    let duration = began.elapsed();

    // 6. What became of the command only our program can tell.
    let end = match line.heard() {
        Heard::Last(event) => told(event)?,
        Heard::Started => lost(engine, id, status)?,
        Heard::Nothing => return Err(never_started(engine, output.as_ref()).into()),
    };
    Ok(Outcome { end, report: Report::default(), output, detected: Vec::new(), duration })
}

/// What our program says, as the end of the command.
fn told(event: Event) -> Result<End, StartError> {
    match event {
        Event::Ended(ending) => Ok(ending.into()),
        Event::Unexecutable { command, errno } => Ok(End::unexecutable(command, errno)),
        Event::Failed(Failure::Step { step, errno, message }) => {
            let source = errno.map_or_else(|| io::Error::other(message), io::Error::from_raw_os_error);
            let remedy = step.starts_with(WORKDIR).then(|| {
                "`--workdir` or `[agent] workdir` names a directory inside that the agent may enter"
                    .to_owned()
            });
            Err(StartError::Step { step, source, remedy })
        }
        other => {
            let source = io::Error::other(format!("it is not to say {other:?}"));
            Err(super::step("reading what our program inside says")(source))
        }
    }
}

/// What became of a command that was started, and of whose end nothing was said.
fn lost(engine: &Engine, id: &str, status: ExitStatus) -> Result<End, StartError> {
    // A list is empty where the container is not; whatever else is said is about the engine.
    let by_id = format!("id={id}");
    let lives = || -> Result<bool, StartError> {
        let listed = engine.ask(["ps", "--quiet", "--no-trunc", "--filter", &by_id]).map_err(|error| {
            let reason = format!("{error}; the command may still run");
            super::step("waiting for the end of the command")(io::Error::other(reason))
        })?;
        Ok(!listed.trim().is_empty())
    };
    // PID 1 kills everything when the sandbox ends, and the engine's books may be slower. An agent may have killed our
    // program alone.
    let until = Deadline::after(if status.code() == Some(KILLED) { ENDING } else { Duration::ZERO });
    loop {
        if !lives()? {
            return Ok(End::Signaled(Signal::SIGKILL as i32));
        }
        if until.is_over() {
            break;
        }
        std::thread::sleep(search::PAUSE);
    }
    Err(StartError::Step {
        step: "waiting for the end of the command".into(),
        source: io::Error::other(format!(
            "{} has let go of it ({status}), and the command may still run",
            engine.kind()
        )),
        remedy: Some(format!("look whether {} was restarted, or its command was killed", engine.kind())),
    })
}

/// What the engine says that has not started our program.
fn never_started(engine: &Engine, output: Option<&Output>) -> EngineError {
    match output {
        Some(output) => EngineError::told(engine.kind(), &String::from_utf8_lossy(&output.stderr.bytes)),
        None => EngineError::Refused {
            kind: engine.kind(),
            message: "nothing was heard of the command; what stands above says why".to_owned(),
        },
    }
}
