//! An exec in a container that runs: never by the engine's own way in, which would start it with what the container was
//! made with and without any of our confinement, but by way of the entrypoint there.

use std::cell::RefCell;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use confine::protocol::{
    EXEC_ARGUMENT, ExecSpec, ExecUser, ProcessLimits, RENDEZVOUS_VARIABLE, Request, Shortage,
};
use nix::sys::signal::Signal;
use policy::rules::rootfs::TMPFS_PATHS;
use tracing::debug;

use self::socket::ExecSocket;
use super::find::{self, FoundSandbox};
use super::rendezvous;
use crate::engine::Engine;
use crate::engine::error::EngineError;
use crate::engine::kind::Rights;
use crate::host::child::{Group, Running};
use crate::host::deadline::Deadline;
use crate::provider::launch::Exec;
use crate::session::attendance::{Attendance, refuse_deserted};
use crate::session::environment::{add_of_proxy, environment_in_image, umask};
use crate::session::error::StartError;
use crate::session::outcome::{End, Notice, Outcome};
use crate::session::streams::{OwnTerminal, Owner, Streams};
use crate::session::supervise::{Gone, Watch, supervise};

use crate::host::terminal::Signals;

use crate::session::held_secrets::HeldSecrets;

mod socket;

/// How long an engine may take to notice that a container, or the entrypoint in it, has ended.
const ENDING: Duration = Duration::from_secs(5);

/// Runs the plan's command in a sandbox that was found.
pub(in crate::provider) fn run(exec: Exec<'_>) -> Result<Outcome, StartError> {
    let Exec { plan, sandbox, caller, secrets, variables, streams, notice, parent } = exec;
    let secrets = HeldSecrets::read(plan, secrets)?;
    let FoundSandbox { engine, id, run, inspected, .. } = sandbox;

    // 1. Where its streams lead.
    let owner = owner(engine, inspected.user());
    let mut streams = Streams::open(streams, plan.limits.output_bytes, owner, caller)?;
    let terminal = streams.open_terminal(owner)?;

    // 2. What the entrypoint is to run. All of it goes over the exec socket: an engine keeps what it receives, every user of the host
    //    may read its argument list, and what is in the environment of its command acts on that command.
    let image = engine
        .image(inspected.image())?
        .ok_or_else(|| EngineError::NoImage { kind: engine.kind(), image: inspected.image().to_owned() })?;
    let mut env = environment_in_image(plan, &image.config.env, &secrets);
    add_of_proxy(&mut env, plan, &secrets, variables)?;
    let spec = ExecSpec {
        argv: plan.agent.argv.iter().map(|argument| argument.as_bytes().to_vec()).collect(),
        env,
        workdir: plan.agent.workdir.clone(),
        umask: umask().map_err(StartError::step("reading the umask of this process"))?,
        process_limits: ProcessLimits::of(&plan.limits),
        // Where the agent is 0, it is so in a user namespace that is not the host's: there it is the caller.
        user: if inspected.user() == Some((0, 0)) { ExecUser::NamespaceRoot } else { ExecUser::Agent },
        // What the first command may write, whatever is configured here and now.
        writable: TMPFS_PATHS.into_iter().chain(inspected.writable()).map(PathBuf::from).collect(),
        grants: streams.grants().chain(terminal.iter().flat_map(OwnTerminal::grants)).collect(),
        terminal: terminal.as_ref().map(|terminal| terminal.first),
    };

    // 3. Where the entrypoint connects, with a token that is for nobody who can read argument lists: a name without a value passes
    //    it on.
    let point = rendezvous::point(run);
    let socket =
        ExecSocket::open(&sandbox.place, &point).map_err(StartError::step("creating the exec socket"))?;
    let failed = |source| EngineError::Call { kind: engine.kind(), source };
    let mut command = engine.command();
    command
        .args(["exec", "--env", RENDEZVOUS_VARIABLE, id])
        .arg(point.join(rendezvous::PROGRAM))
        .arg(EXEC_ARGUMENT);
    command.env(RENDEZVOUS_VARIABLE, socket.rendezvous().to_string());
    // A group of its own: Ctrl-C is for the command, and comes there by way of us.
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let began = Instant::now();
    debug!(arguments = ?command.get_args(), "calls {}", engine.kind());
    let mut running = Running::spawn(&mut command, Group::Own).map_err(failed)?;
    drop(command);

    // 4. It calls, or the engine has printed why it does not.
    let connected = socket
        .accept_authenticated(&running.pidfd)
        .map_err(StartError::step("waiting for the entrypoint"))?;
    let Some(mut control) = connected else {
        let (_, [_, stderr]) = running.finish_with_output(Deadline::after(ENDING)).map_err(failed)?;
        return Err(EngineError::from_stderr(engine.kind(), &String::from_utf8_lossy(&stderr.bytes)).into());
    };

    // 5. From here on Ctrl-C is for the command.
    let signals = Signals::block().map_err(StartError::step("blocking signals"))?;
    let relay = streams.relay(terminal.as_ref())?;
    refuse_deserted(parent)?;
    let request = Request::Exec(Box::new(spec));
    match control.send(&request, &streams.inside()) {
        // It has gone already, and says why, if anything does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        sent => sent.map_err(StartError::step("sending the exec request"))?,
    }
    drop((request, secrets));
    streams.close_inside();

    // 6. How the command ended only the entrypoint knows. The engine is not needed for that.
    let running = RefCell::new(running);
    let exit = || {
        let status = running.borrow_mut().wait(Deadline::after(ENDING)).map_err(failed)?;
        lost(engine, id, status)
    };
    let ended = supervise(
        Watch {
            provider: plan.provider,
            control,
            end: &|| drop(running.borrow_mut().child.kill()),
            streams,
            relay,
            gone: Gone::Exec(&exit),
            timeout: plan.limits.timeout,
            timeout_inside: None,
            sockets: None,
            children: None,
            egress: None,
            attendance: Attendance::new(parent),
            complete: &|_| {},
            boundaries: None,
            notice: &mut *notice,
        },
        &signals,
    );
    drop(terminal);
    let duration = began.elapsed();
    let ended = ended?;
    // Whether the container has a limit, only what it was made from would say.
    let oom_killed = ended.shortages.contains(&Shortage::Memory).then_some(true);
    if oom_killed.is_some() {
        // How much that is was said when the container was started.
        notice(Notice::Warning(
            "the limit of memory of the container was reached, and a process in it was killed".into(),
        ));
    }
    // What the engine has kept of it goes when its command ends by itself.
    let _ = running.borrow_mut().wait(Deadline::after(ENDING));
    Ok(Outcome { output: ended.output, oom_killed, ..Outcome::of(ended.end, duration) })
}

/// Returns who the agent is on the host: in a user namespace it is the caller.
fn owner(engine: &Engine, inside: Option<(u32, u32)>) -> Owner {
    match (engine.rights(), inside) {
        (Rights::Rootful, Some((uid, gid))) => Owner { uid, gid },
        (Rights::Rootful, None) | (Rights::Rootless(_), _) => {
            Owner { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() }
        }
    }
}

/// Finds out how a command ended whose exit status was not reported.
fn lost(engine: &Engine, id: &str, status: Option<ExitStatus>) -> Result<End, StartError> {
    // A list is empty where the container is not; whatever else is said is about the engine.
    let by_id = format!("id={id}");
    let lives = || -> Result<bool, StartError> {
        let listed = engine.query(["ps", "--quiet", "--no-trunc", "--filter", &by_id]).map_err(|error| {
            let reason = format!("{error}; the command may still run");
            StartError::step("waiting for the end of the command")(io::Error::other(reason))
        })?;
        Ok(!listed.trim().is_empty())
    };
    // PID 1 kills everything when the sandbox ends, and the engine's books may be slower. An agent may have killed the
    // entrypoint alone.
    let until = Deadline::after(ENDING);
    loop {
        if !lives()? {
            return Ok(End::Signaled(Signal::SIGKILL as i32));
        }
        if until.is_over() {
            break;
        }
        std::thread::sleep(find::PAUSE);
    }
    Err(StartError::Step {
        step: "waiting for the end of the command".into(),
        source: io::Error::other(format!(
            "the entrypoint of the exec session exited without reporting a status{}, and the command may still run",
            status.map(|status| format!(" ({}: {status})", engine.kind())).unwrap_or_default()
        )),
        remedy: Some(format!("check whether {} was restarted, or its command was killed", engine.kind())),
    })
}
