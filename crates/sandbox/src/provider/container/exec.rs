//! A second command in a container that runs: never by the engine's own way in, which would start it with what the
//! container was made with and without any of our confinement, but by way of our program there.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use confine::report::Report;
use policy::plan::Mode;

use super::{arguments, meeting, sweep};
use crate::capture::Capture;
use crate::deadline::Deadline;
use crate::engine::{Engine, EngineError, Kind};
use crate::provider::{Entry, Outcome, StartError, Streams, local};
use crate::record::RunId;

/// How long an engine may take to call a container running whose agent has started.
const STARTING: Duration = Duration::from_secs(5);

/// Between two looks at it.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs the plan's command in the sandbox of the same owner that has the plan's name.
pub(in crate::provider) fn enter(entry: &Entry<'_>) -> Result<Outcome, StartError> {
    let Entry { plan, streams, owner, state, engines } = *entry;
    let kind = Kind::of(plan.provider);
    let engine = Engine::find(kind, engines)?;

    // 1. Which container: by its labels, and only one that has met a client of the caller's.
    let container = find(&engine, owner, &plan.name, state)?;

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
    //    image's own would count.
    let boundaries = plan.boundaries.iter().filter(|boundary| boundary.mode == Mode::ReadWrite);
    let guests = boundaries.filter_map(|boundary| boundary.guest.to_str());
    let writable: Vec<&str> = arguments::TEMPORARY.into_iter().chain(guests).collect();
    let writable = serde_json::to_string(&writable).unwrap_or_default();
    // Where the agent is 0, it is so in a user namespace that is not the host's: there it is the caller.
    let (user, root) = if container.agent_is_zero { ("root", "1") } else { ("agent", "0") };
    for (name, value) in [
        ("SANDBOX_WRITABLE", writable.as_str()),
        ("AGENT_USER", user),
        ("AGENT_ALLOW_ROOT", root),
        ("AGENT_ALLOW_EMULATION", "0"),
        ("AGENT_INIT", "0"),
    ] {
        variable(name, OsStr::new(value));
    }
    variable("AGENT_WORKDIR", plan.agent.workdir.as_os_str());

    // 4. A terminal is the container's own, as for the agent.
    let on_a_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if streams == Streams::Inherit && on_a_terminal {
        words.push("--tty".into());
    }
    words.push(container.id.into());
    words.push(meeting::point(&container.run).join(meeting::PROGRAM).into());
    words.push("--".into());
    words.extend(plan.agent.argv.iter().cloned());
    command.args(words);

    // 5. The engine's command ends as the one inside does.
    let failed = |source| EngineError::Call { kind, source };
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
    let mut child = command.spawn().map_err(failed)?;
    drop(command);
    let watched = local::watch(child.id(), false, captures, None);
    let status = child.wait().map_err(failed)?;
    let (_, output) = watched.map_err(failed)?;
    Ok(Outcome {
        end: local::ended(status),
        report: Report::default(),
        output,
        detected: Vec::new(),
        duration: began.elapsed(),
    })
}

/// A container that was found.
struct Found {
    id: String,
    run: RunId,
    agent_is_zero: bool,
}

fn find(engine: &Engine, owner: u32, name: &str, state: &Path) -> Result<Found, StartError> {
    let labels = [
        format!("label={}", arguments::MANAGED),
        format!("label={}={owner}", arguments::OWNER),
        format!("label={}={name}", arguments::NAME),
    ];
    let filters = labels.iter().flat_map(|label| ["--filter", label]);
    let until = Deadline::after(STARTING);
    let id = loop {
        let state = if until.is_over() { &[][..] } else { &["--all"][..] };
        let words =
            ["ps", "--no-trunc", "--format", "{{.ID}} {{.Status}}"].into_iter().chain(state.iter().copied());
        let found = engine.ask(words.chain(filters.clone()))?;
        match found.lines().next().and_then(|line| line.split_once(' ')) {
            Some((id, status)) if status.starts_with("Up") => break id.to_owned(),
            // Our PID 1 is faster than the engine's books.
            Some(_) if !until.is_over() => std::thread::sleep(PAUSE),
            _ => return Err(EngineError::NoSandbox { kind: engine.kind(), name: name.to_owned() }.into()),
        }
    };
    let none = || EngineError::NoSandbox { kind: engine.kind(), name: name.to_owned() };
    let asked = format!("{{{{.Config.User}}}} {{{{index .Config.Labels \"{}\"}}}}", arguments::ID);
    let told = engine.ask(["inspect", "--format", &asked, &id])?;
    let (user, run) = told.trim().split_once(' ').ok_or_else(none)?;
    let run = RunId::try_from(run.to_owned()).map_err(|_| none())?;
    // An image brings labels of its own; where its containers meet anybody, it cannot say.
    if !sweep::met_here(engine, &id, state, &run)? {
        return Err(none().into());
    }
    let agent_is_zero = user == "0:0";
    Ok(Found { id, run, agent_is_zero })
}
