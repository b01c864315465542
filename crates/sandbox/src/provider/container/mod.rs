//! The container providers: an engine makes the inside, and our PID 1 runs in it as everywhere else.
//!
//! `docs/containers.md` lists the same steps in the same order.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use confine::kernel_file::namespace_inode;
use confine::mount::setns::{SetnsError, mount_in};
use confine::protocol::{
    Expectations, ExpectedMount, InitSpec, MountedFile, Request, Rootfs, Terminal, Variable,
};
use confine::report::{Finding, Report, Status};
use policy::plan::{BoundaryMode, Container, FileId, Init, Layer, Plan};
use policy::rules::env::{EnvRules, Unnamed};
use policy::rules::network;
use policy::text::escape;
use rustix::event::PollFlags;
use rustix::fs::AtFlags;
use rustix::io::Errno;
use tracing::debug;

use self::arguments::{Run, Wanted};
use self::directories::{Directories, exchanged};
use super::{idmap, mount_plan};
use crate::boundary::root::Root;
use crate::engine::error::EngineError;
use crate::engine::image::{self, Image};
use crate::engine::kind::EngineKind;
use crate::engine::words::Cause;
use crate::engine::{self, Engine};
use crate::host::child::{Group, Running};
use crate::host::identity::Identity;
use crate::host::init_program;
use crate::host::programs::PROXIES;
use crate::provider::container::identity::{ContainerUser, Mounter};
use crate::provider::container::rendezvous::{Met, Rendezvous};
use crate::provider::init_spec;

use crate::boundary::protect::mounts::{MaskedSocket, Mounts};
use crate::host::beneath;
use crate::host::deadline::Deadline;
use crate::host::terminal::Signals;

use crate::provider::launch::Launch;
use crate::secrets::Value;
use crate::session::attendance::{Attendance, Parent, refuse_deserted};
use crate::session::boundaries::Boundaries;
use crate::session::error::StartError;
use crate::session::held_secrets::HeldSecrets;
use crate::session::outcome::{Notice, Outcome};
use crate::session::remedy;
use crate::session::streams::{OwnTerminal, Streams};
use crate::session::supervise::{Gone, Watch, supervise};
use crate::state::client::Client;
use crate::state::directory::StateDir;
use crate::state::record::{RunId, Runs};

mod arguments;
mod directories;
pub(super) mod exec;
pub mod find;
mod identity;
mod inspect;
mod nested;
mod rendezvous;
mod rootfs;
mod sweep;

/// How much longer for each volume: Docker writes several files for one.
const EACH_VOLUME: Duration = Duration::from_millis(500);

/// How long an engine may take to remove a container whose PID 1 has ended.
const REMOVAL: Duration = Duration::from_secs(20);

/// Runs a plan to its end.
pub(super) fn run(launch: Launch<'_>) -> Result<Outcome, StartError> {
    let Launch { plan, secrets, streams, caller, state, own, locks, engines, parent, notice } = launch;

    // 1. What no engine can do is refused before anything is touched.
    let container = refuse_unsupported(plan)?;

    // 2. An engine that answers.
    let kind = EngineKind::of(plan.provider);
    let engine = Engine::find(kind, engines)?;

    // 3. Who the agent is, on the host and inside.
    let user = identity::choose(&engine, container, caller, locks)?;

    // 4. Where its streams lead.
    let mut streams = Streams::open(streams, plan.limits.output_bytes, user.agent.owner())?;
    let terminal = streams.open_terminal(user.agent.owner())?;

    // 5. The image. It is fetched now or not at all.
    let image = engine.provide(&container.image, container.pull, container.platform.as_deref())?;
    let platform = container.platform.clone().unwrap_or_else(|| format!("linux/{}", image.architecture));
    let architecture = platform.rsplit('/').next().unwrap_or_default();
    image::refuse_foreign(Path::new("/"), &container.image, architecture)?;
    if container.platform.is_none() && !image.is_for(None) {
        notice(Notice::Warning(format!(
            "{kind} has image {} for {platform} only, which is emulated here",
            container.image
        )));
    }
    refuse_volumes(plan, &container.image, &image)?;
    nested::refuse_missing_mount_points(plan, caller)?;
    refuse_deserted(parent)?;

    // The values of secrets: what reads them, which may take long, runs before anything is searched.
    let secrets = HeldSecrets::read(plan, secrets)?;

    // 6. What lies in the boundaries: what to protect, what to mask, what was there before. From here on a
    //    record tells the next command what to clear up, should this one be killed, as this one does for others.
    let state_directory = StateDir::open(state, caller).map_err(Into::into);
    let runs = state_directory.and_then(|state| Runs::open(&state)).map_err(StartError::recorded)?;
    let id = RunId::generate().map_err(StartError::recorded)?;
    let left = sweep::sweep(&runs, &engine, state, own, notice)?;
    let boundaries = Boundaries::open(plan, caller, &runs, &id, Some(sweep::placed(&engine)), &left)?;
    boundaries.warn(notice);

    // What the engine would reach for in the image is looked at by the engine itself, once for each image. A container that
    // is made for that goes with the record of this run.
    let guests = plan.boundaries.iter().map(|boundary| boundary.guest.clone());
    let temporary = arguments::TEMPORARY.iter().filter(|path| !path.starts_with("/dev")).map(PathBuf::from);
    let places: Vec<PathBuf> = guests.chain(temporary).chain(image.config.volumes()).collect();
    rootfs::refuse_unfit(&rootfs::Sought {
        engine: &engine,
        image: &image,
        platform: &platform,
        run: &id,
        places: &places,
        state,
        owner: caller,
        own,
    })?;

    // 7. Where PID 1 and this process meet, with what the engine is to show of ours.
    let (passwd, group) = (user.passwd(policy::config::defaults::HOME), user.group());
    let rendezvous = Rendezvous::prepare(own, &id, &[("passwd", &passwd), ("group", &group)])
        .map_err(StartError::step("creating the rendezvous directory"))?;

    let complete = |report: &mut Report| {
        report.add(user.report());
        report.add(Finding {
            layer: Layer::Disk,
            status: Status::Partly,
            reason: "each tmpfs is bounded by tmp_size; space in shared directories is not".into(),
        });
        boundaries.complete(report);
    };
    let mut outside = Report::default();
    complete(&mut outside);
    let mut mounts = mounts(plan, caller, boundaries.mounts())?;
    mounts.extend(rendezvous.mounts(&id).map_err(StartError::step("inspecting the rendezvous directory"))?);
    init_spec::refuse_missing(plan, &outside)?;
    let held = match user.mounter {
        Mounter::EngineByDescriptor => Directories::open(plan, caller, boundaries.mounts())?,
        Mounter::Client | Mounter::Engine => Directories::default(),
    };

    // 8. The engine makes the container and starts PID 1 in it, which comes to meet us.
    let run = Run { id: &id, owner: caller.uid, state, own };
    let words = arguments::run(&Wanted {
        kind,
        plan,
        container,
        image: &image,
        platform: &platform,
        user: &user,
        run,
        client: Client::this().map_err(|error| StartError::recorded(error.into()))?,
        created: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        rendezvous: rendezvous.path(),
        protected: boundaries.mounts(),
        held: &held,
    });
    let leave = || boundaries.leave_record();
    let not_for_platform = |error: StartError| match error {
        StartError::Engine(EngineError::Refused { kind, cause: Some(Cause::NoImage), .. }) => {
            let (image, unfetched) = (container.image.clone(), image.unfetched.clone());
            EngineError::NoPlatform { kind, image, platform: platform.clone(), unfetched }.into()
        }
        error => error,
    };
    let mut started = Started::run(&engine, &words, run, &rendezvous, &leave).map_err(not_for_platform)?;
    let patience = engine::START + EACH_VOLUME.saturating_mul(u32::try_from(held.len()).unwrap_or(u32::MAX));
    let Met { mut control, uid, groups, pid } =
        started.meet(&rendezvous, patience, parent).map_err(not_for_platform)?;
    drop(held);
    if uid != user.agent.uid {
        return Err(StartError::Refused {
            asked: format!("an agent that is user {} on the host", user.agent.uid),
            reason: format!("the engine has made it user {uid}"),
            remedy: "look for user namespaces in the engine's settings (userns-remap)".into(),
        });
    }
    if let Some(other) = groups.iter().find(|group| **group != user.agent.gid) {
        return Err(StartError::Refused {
            asked: format!("an agent that is in group {} alone on the host", user.agent.gid),
            reason: format!("the engine has put it into group {other} too, whose files would be open to it"),
            remedy: "look for additional groups in the engine's settings, and for a wrapper of its command"
                .into(),
        });
    }

    // 9. Where this process is root it mounts the shared directories itself: with the owner mapped where the agent is nobody,
    //    and so that no link on the way to a mount point is followed.
    if user.mounter == Mounter::Client {
        mount_ourselves(plan, &user, caller, boundaries.mounts(), pid)?;
    }

    // 10. From here on Ctrl-C is for the sandbox, and this process lives until everything inside has ended. Until now it
    //    ended this process; PID 1 finds nobody to meet then, and the engine removes the container.
    let signals = Signals::block().map_err(StartError::step("blocking signals"))?;

    refuse_deserted(parent)?;

    // 11. What PID 1 is to run, secrets and streams included: over its socket, and so on no argument list and in no
    //     setting of the container.
    let spec = init_spec(plan, &image, &user, &secrets, &streams, terminal.as_ref(), mounts)?;
    let relay = streams.relay(terminal.as_ref())?;
    let sent = control.send(&Request::Start(Box::new(spec)), &streams.inside());
    match sent {
        // It has gone already, and says why, if anything does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        sent => sent.map_err(StartError::step("sending the init spec"))?,
    }
    drop(secrets);
    streams.close_inside();

    // 12. The sandbox lives until the agent ends, its time is over, or we are told to end it.
    let began = Instant::now();
    let ended = supervise(
        Watch {
            provider: plan.provider,
            control,
            end: &|| started.force(),
            streams,
            relay,
            gone: Gone::Sandbox,
            timeout: plan.limits.timeout,
            attendance: Attendance::new(parent),
            complete: &complete,
            boundaries: Some(&boundaries),
            notice,
        },
        &signals,
    );
    drop(terminal);
    let duration = began.elapsed();

    // 13. The engine has removed the container when its command has ended. What the agent made that would run on the
    //     host later is moved aside, and nothing of ours stays.
    if ended.is_ok() {
        started.finish();
    }
    drop(started);
    drop(rendezvous);
    let last = boundaries.close(notice);
    let mut ended = ended?;
    last.complete(&mut ended.report);
    Ok(Outcome {
        end: ended.end,
        report: ended.report,
        output: ended.output,
        detected: last.detected,
        duration,
    })
}

/// A container that the engine's command runs. It is gone with this at the latest.
struct Started<'a> {
    engine: &'a Engine,
    run: Run<'a>,
    command: Running,
    is_gone: bool,
    /// Leaves it to the next command.
    leave: &'a dyn Fn(),
}

impl<'a> Started<'a> {
    fn run(
        engine: &'a Engine,
        words: &[OsString],
        run: Run<'a>,
        rendezvous: &Rendezvous,
        leave: &'a dyn Fn(),
    ) -> Result<Self, StartError> {
        let failed = |source| EngineError::Call { kind: engine.kind(), source };
        let call = |words: &[OsString]| {
            let mut command = engine.command();
            for name in PROXIES {
                command.env_remove(name);
            }
            // It holds the place of the rendezvous, should we be killed while it is at work.
            command.args(words).stdin(rendezvous.lock().map_err(failed)?);
            Ok::<_, EngineError>(command)
        };
        let start;
        let words = match engine.kind() {
            EngineKind::Docker => words,
            EngineKind::Podman => {
                let made = engine::output(engine.kind(), &mut call(words)?, Group::Own, engine::START)
                    .and_then(|container| accepted(engine, container.trim()));
                let container = made.inspect_err(|_| {
                    if sweep::remove(engine, run).is_err() {
                        leave();
                    }
                })?;
                start = ["start", "--attach", "--sig-proxy=false", &container].map(OsString::from);
                &start[..]
            }
        };
        // A group of its own: Ctrl-C is for the agent, and comes there by way of us.
        let mut command = call(words)?;
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        debug!(arguments = ?command.get_args(), "calls {}", engine.kind());
        let command = Running::spawn(&mut command, Group::Own).map_err(failed)?;
        Ok(Self { engine, run, command, is_gone: false, leave })
    }

    /// Waits until PID 1 has come, or the engine has said why it does not.
    fn meet(
        &mut self,
        rendezvous: &Rendezvous,
        patience: Duration,
        parent: Option<&Parent>,
    ) -> Result<Met, StartError> {
        let failed = |source| StartError::Step { step: "waiting for PID 1".into(), source, remedy: None };
        let until = Deadline::after(patience);
        loop {
            if let Some(met) = rendezvous.meet().map_err(failed)? {
                return Ok(met);
            }
            if self.command.child.try_wait().map_err(failed)?.is_some() {
                let (_, [_, said]) = self.command.finish_with_output(until).map_err(failed)?;
                return Err(
                    EngineError::told(self.engine.kind(), &String::from_utf8_lossy(&said.bytes)).into()
                );
            }
            if until.is_over() {
                return Err(EngineError::Timeout { kind: self.engine.kind(), waited: patience }.into());
            }
            refuse_deserted(parent)?;
            let fds = std::iter::once(rendezvous.as_fd()).chain(parent.map(AsFd::as_fd));
            let wanted: Vec<_> = fds.map(|fd| (fd, PollFlags::IN)).collect();
            self.command.poll(until, &wanted).map_err(failed)?;
        }
    }

    /// Removes the container, whatever runs in it, and waits until that is done.
    fn force(&self) {
        // The engine may just be removing it by itself. What stays, the next command removes.
        let _ = sweep::remove(self.engine, self.run);
    }

    /// Waits until the engine has removed the container, whose PID 1 has ended.
    fn finish(&mut self) {
        let ended = self.command.wait(Deadline::after(REMOVAL));
        // One that was killed has removed nothing.
        self.is_gone = matches!(ended, Ok(Some(status)) if status.code().is_some());
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        if !self.is_gone {
            // While it is at work it may still make the container.
            self.command.kill();
            let _ = self.command.child.wait();
            if sweep::remove(self.engine, self.run).is_err() {
                (self.leave)();
            }
        }
    }
}

/// Checks a container that Podman has created: the runtime must not receive annotations that are not ours. Annotations
/// stand in an image's manifest, which its id does not name: another image of the same content, pulled meanwhile, brings
/// its own.
fn accepted(engine: &Engine, container: &str) -> Result<String, EngineError> {
    let gone = || EngineError::refused(engine.kind(), format!("container {container} has gone"));
    match inspect::look(engine, container)?.ok_or_else(gone)?.order() {
        None => Ok(container.to_owned()),
        Some(key) => {
            let message = format!(
                "the container has the annotation `{}`, which Podman would hand to the runtime; none but descriptions are \
                 allowed, be they of the image or of containers.conf",
                escape::line(key)
            );
            Err(EngineError::refused(engine.kind(), message))
        }
    }
}

/// Mounts the boundaries in the container of the process `pid`.
fn mount_ourselves(
    plan: &Plan,
    user: &ContainerUser,
    caller: Identity,
    protected: &[Mounts],
    pid: i32,
) -> Result<(), StartError> {
    if pid == 0 {
        return Err(StartError::Refused {
            asked: "a container of root's".into(),
            reason: "root mounts the shared directories itself, which takes the engine's own machine: this process is in a \
                     container itself"
                .into(),
            remedy: "call sandboxctl as a user other than root".into(),
        });
    }
    let trees = idmap::map_boundaries(plan, caller, &user.agent)?;
    let mounts = mount_plan::boundary_mounts(plan, trees, protected)
        .map_err(StartError::step("planning the mounts of the shared directories"))?;
    let program = init_program::in_memory().map_err(StartError::step("making the program of PID 1"))?;
    mount_in(&program, pid, mounts).map_err(|error| match error {
        SetnsError::Step { step, source } => remedy::failed_step(&step, source),
        SetnsError::Process(source) => StartError::step("mounting the shared directories")(source),
    })
}

/// Returns the plan's container, unless it requests what no engine can do.
fn refuse_unsupported(plan: &Plan) -> Result<&Container, StartError> {
    let refused = |asked: &str, reason: &str, remedy: &str| StartError::Refused {
        asked: asked.into(),
        reason: reason.into(),
        remedy: remedy.into(),
    };
    if plan.network == network::NetworkMode::Allowlist {
        return Err(refused(
            "network = \"allowlist\"",
            "not supported yet",
            "network = \"none\" or \"open\"",
        ));
    }
    if plan.agent.init == Init::Exec {
        return Err(refused(
            "agent.init = false",
            "the container needs the entrypoint as PID 1, which ends everything when the client is gone",
            "agent.init = true",
        ));
    }
    plan.container
        .as_ref()
        .ok_or_else(|| refused("a container", "the plan names no image", "name one in [image]"))
}

/// Trees that the kernel makes, which no image adds anything to.
const OF_THE_KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Refuses an image that would have the engine put something of its own where the agent may write: nothing bounds it, and
/// beneath a shared directory it would leave a directory of root's on the host. Or where the kernel answers: it would
/// answer in the kernel's place.
fn refuse_volumes(plan: &Plan, name: &str, image: &Image) -> Result<(), StartError> {
    let guests = plan.boundaries.iter().map(|boundary| boundary.guest.as_path());
    let ours: Vec<&Path> = guests.chain(arguments::TEMPORARY.map(Path::new)).collect();
    let beneath = |volume: &Path| ours.iter().any(|place| volume.starts_with(place) && volume != *place);
    let reason = |volume: &Path| {
        if OF_THE_KERNEL.iter().any(|tree| volume.starts_with(tree)) {
            Some("lies in a directory that is the kernel's")
        } else {
            beneath(volume).then_some("lies in a directory that is fresh or shared in a sandbox")
        }
    };
    match image.config.volumes().find_map(|volume| reason(&volume).map(|reason| (volume, reason))) {
        None => Ok(()),
        Some((volume, reason)) => Err(StartError::Refused {
            asked: format!("image {name}"),
            reason: format!("its VOLUME {} {reason}", escape::path(&volume)),
            remedy: "take that VOLUME out of its Dockerfile".into(),
        }),
    }
}

/// Makes the init spec.
fn init_spec(
    plan: &Plan,
    image: &Image,
    user: &ContainerUser,
    secrets: &[(String, Value)],
    streams: &Streams,
    terminal: Option<&OwnTerminal>,
    mounts: Vec<ExpectedMount>,
) -> Result<InitSpec, StartError> {
    // Whose users they are, the socket of PID 1 has told.
    let names = Expectations::NAMESPACES.into_iter().filter(|(_, layer)| *layer != Layer::User);
    let namespaces: io::Result<Vec<_>> =
        names.map(|(name, _)| Ok((name.to_owned(), namespace_inode(name)?))).collect();
    Ok(InitSpec {
        rootfs: Rootfs::Engine {
            limits: plan.limits.clone(),
            user_namespace: user.namespace.kind(),
            tmpfs: arguments::TEMPORARY.iter().map(PathBuf::from).collect(),
            other_mounts: arguments::places(plan, image)
                .map_err(StartError::step("reading what is mounted"))?,
        },
        argv: plan.agent.argv.iter().map(|argument| argument.as_bytes().to_vec()).collect(),
        env: environment(plan, image, secrets),
        workdir: plan.agent.workdir.clone(),
        umask: init_spec::umask().map_err(StartError::step("reading the umask of this process"))?,
        terminal: terminal.map(|terminal| Terminal::Stream(terminal.first)),
        grants: init_spec::grants(plan, &arguments::TEMPORARY)
            .into_iter()
            .chain(streams.grants())
            .chain(terminal.into_iter().flat_map(OwnTerminal::grants))
            .collect(),
        expected: Expectations {
            foreign_namespaces: namespaces
                .map_err(StartError::step("reading the namespaces of this process"))?,
            uid: user.agent.uid,
            network: plan.network,
            mounts,
        },
        required: init_spec::required_inside(plan),
    })
}

/// Lists the boundaries and what is mounted over them, as PID 1 must find them. The engine mounts by path, and whoever
/// else writes in a boundary may lead it elsewhere meanwhile: so the directories on the way have to be the same, too.
fn mounts(plan: &Plan, caller: Identity, protected: &[Mounts]) -> Result<Vec<ExpectedMount>, StartError> {
    let mut all: Vec<ExpectedMount> = init_spec::boundaries(plan).collect();
    for (boundary, mounts) in plan.boundaries.iter().zip(protected) {
        let failed = |source| StartError::step("checking the mounts")(source);
        let root = Root::open(boundary, caller).map_err(|error| failed(io::Error::other(error)))?;
        let root = root.enter().map_err(failed)?;
        let mut add =
            |path: &Path, file, mode| all.push(ExpectedMount { path: boundary.guest.join(path), file, mode });
        for pin in &mounts.pins {
            let pinned = beneath::directory(&root, pin).and_then(rustix::fs::fstat);
            let pinned = pinned.map_err(|errno| failed(io::Error::other(exchanged(pin, errno))))?;
            add(pin, MountedFile::Validated(beneath::file_id(&pinned)), boundary.mode);
        }
        for file in &mounts.read_only {
            add(&file.path, MountedFile::Validated(file.file_id), BoundaryMode::ReadOnly);
        }
        for socket in &mounts.masked_sockets {
            let directory = holds(&root, socket).map_err(failed)?;
            add(&socket.path, MountedFile::Mask { directory }, BoundaryMode::ReadOnly);
        }
    }
    Ok(all)
}

/// Identifies the directory that a socket lies in: that one, and not what somebody has put in its place since it was
/// found.
fn holds(root: impl AsFd, socket: &MaskedSocket) -> io::Result<FileId> {
    let look = || {
        let (directory, name) = beneath::parent(root, &socket.path)?;
        let there = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if beneath::file_id(&there) == socket.file_id {
            Ok(beneath::file_id(&rustix::fs::fstat(directory)?))
        } else {
            Err(Errno::STALE)
        }
    };
    look().map_err(|errno| io::Error::other(exchanged(&socket.path, errno)))
}

/// Returns the environment of the agent: what the image sets, unless it is reserved, and over that what the plan says.
///
/// Not what the engine passes: its settings may hold more, such as proxies with passwords.
fn environment(plan: &Plan, image: &Image, secrets: &[(String, Value)]) -> Vec<Variable> {
    let given = image.config.env.iter().filter_map(|entry| {
        let (name, value) = entry.split_once('=')?;
        Some((OsString::from(name), OsString::from(value)))
    });
    let kept = policy::rules::env::apply(given, &EnvRules::new(Unnamed::Keep)).kept;
    let shell = (OsString::from("SHELL"), OsString::from("/bin/sh"));
    let mut all: BTreeMap<OsString, OsString> = std::iter::once(shell).chain(kept).collect();
    for variable in &plan.env {
        all.insert(variable.name.clone().into(), variable.value.clone());
    }
    for (name, _) in secrets {
        all.remove(OsStr::new(name));
    }
    let plain = all.iter().map(|(name, value)| init_spec::entry(name, value.as_bytes()));
    plain
        .chain(secrets.iter().map(|(name, value)| init_spec::entry(OsStr::new(name), value.as_bytes())))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_socket_lies_in_the_directory_that_it_was_found_in() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        fs::create_dir(path("d")).unwrap();
        fs::create_dir(path("decoy")).unwrap();
        fs::write(path("decoy/s"), "").unwrap();
        let _listener = UnixListener::bind(path("d/s")).unwrap();
        let root = File::open(top.path()).unwrap();
        let id = |name: &str| beneath::file_id(&beneath::stat(&root, Path::new(name)).unwrap());
        let socket = MaskedSocket { path: "d/s".into(), file_id: id("d/s") };
        assert_eq!(holds(&root, &socket).unwrap(), id("d"));

        fs::rename(path("d"), path("between")).unwrap();
        fs::rename(path("decoy"), path("d")).unwrap();
        let said = holds(&root, &socket).unwrap_err().to_string();
        assert!(said.contains("`d/s` was exchanged"), "{said}");
        fs::remove_file(path("d/s")).unwrap();
        let said = holds(&root, &socket).unwrap_err().to_string();
        assert!(said.contains("`d/s` was exchanged"), "{said}");
    }
}
