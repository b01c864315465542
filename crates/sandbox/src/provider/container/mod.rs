//! The container providers: an engine makes the inside, and our PID 1 runs in it as everywhere else.
//!
//! `docs/containers.md` lists the same steps in the same order.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use confine::protocol::{InitSpec, Request};
use confine::report::{Finding, Report, Status};
use policy::plan::Layer;
use policy::rules::network::egress::DNS;

use self::arguments::{ContainerRequest, Run};
use self::directories::HeldDirectories;
use self::identity::Mounter;
use self::rendezvous::{InitConnection, RendezvousDir};
use self::started::Started;
use super::init_spec::refuse_missing;
use crate::engine::error::EngineError;
use crate::engine::kind::EngineKind;
use crate::engine::words::FailureCause;
use crate::engine::{self, Engine, image};
use crate::host::terminal::Signals;
use crate::provider::launch::Launch;
use crate::session::attendance::{Attendance, refuse_deserted};
use crate::session::boundaries::Boundaries;
use crate::session::egress::{EgressProxy, renewal};
use crate::session::error::StartError;
use crate::session::held_secrets::HeldSecrets;
use crate::session::outcome::{InitIds, Notice, Outcome};
use crate::session::sockets;
use crate::session::streams::Streams;
use crate::session::supervise::{Gone, Watch, supervise};
use crate::state::client::Client;
use crate::state::directory::StateDir;
use crate::state::record::{RunId, Runs};
use crate::state::walks::Walks;

mod arguments;
mod directories;
pub(super) mod exec;
pub mod find;
mod identity;
mod init_spec;
mod inspect;
mod mounts;
mod rendezvous;
mod rootfs;
mod started;
mod sweep;
mod unsupported;

/// How much longer for each volume: Docker writes several files for one.
const EACH_VOLUME: Duration = Duration::from_millis(500);

/// Runs a plan to its end.
pub(super) fn run(launch: Launch<'_>) -> Result<Outcome, StartError> {
    let Launch {
        plan,
        secrets,
        streams,
        passed,
        early: _,
        stay: _,
        caller,
        state,
        own,
        locks,
        egress,
        renew,
        engines,
        parent,
        notice,
    } = launch;

    // 1. What no engine can do is refused before anything is touched.
    let container = unsupported::refuse_unsupported(plan)?;

    // 2. An engine that answers.
    let kind = EngineKind::of(plan.provider);
    let engine = Engine::find(kind, engines)?;

    // 3. Who the agent is, on the host and inside.
    let user = identity::choose(&engine, container, caller, locks)?;
    unsupported::refuse_no_exec(plan, kind, user.mounter)?;

    // 4. Where its streams lead.
    let mut streams = Streams::open(streams, plan.limits.output_bytes, user.agent.owner(), caller)?;
    streams.pass(plan, passed, user.agent.owner())?;
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
    unsupported::refuse_volumes(plan, &container.image, &image)?;
    unsupported::refuse_missing_mount_points(plan, caller)?;
    refuse_deserted(parent)?;

    // The values of secrets: what reads them, which may take long, runs before anything is searched.
    let mut secrets = HeldSecrets::read(plan, secrets)?;

    // 6. What lies in the boundaries: what to protect, what to mask, what was there before. From here on a
    //    record tells the next command what to clear up, should this one be killed, as this one does for others.
    let state_directory =
        StateDir::open(state, caller).map_err(|error| StartError::recorded(error.into()))?;
    let runs = Runs::open(&state_directory).map_err(StartError::recorded)?;
    let walks = Walks::open(&state_directory).map_err(|error| StartError::recorded(error.into()))?;
    let id = RunId::generate().map_err(StartError::recorded)?;
    let left = sweep::sweep(&runs, &engine, state, own, notice)?;
    let boundaries = Boundaries::open(plan, caller, &runs, &walks, &id, Some(sweep::placed(&engine)), &left)?;
    boundaries.warn(notice);

    // What the engine would reach for in the image is looked at by the engine itself, once for each image. A container that
    // is made for that goes with the record of this run.
    let guests = plan.boundaries.iter().map(|boundary| boundary.guest.clone());
    let temporary = arguments::TMPFS_PATHS.iter().filter(|path| !path.starts_with("/dev")).map(PathBuf::from);
    let places: Vec<PathBuf> = guests.chain(temporary).chain(image.config.volumes()).collect();
    rootfs::refuse_unfit(&rootfs::ImageToCheck {
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
    let files = [
        ("passwd", user.passwd(policy::config::defaults::HOME)),
        ("group", user.group()),
        ("resolv.conf", format!("nameserver {}\n", DNS.ip())),
    ];
    let rendezvous = RendezvousDir::prepare(own, &id, &files)
        .map_err(StartError::step("creating the rendezvous directory"))?;

    let complete = |report: &mut Report| {
        report.add(user.report());
        report.add(Finding {
            layer: Layer::Disk,
            status: Status::Partly,
            reason: "each tmpfs is bounded by tmp_size; space in shared directories is not".into(),
        });
        boundaries.complete(report);
        sockets::complete(&plan.sockets, report);
    };
    let mut outside = Report::default();
    complete(&mut outside);
    let mut mounts = mounts::expected(plan, caller, boundaries.mounts())?;
    mounts.extend(
        rendezvous
            .mounts(&id, &plan.network)
            .map_err(StartError::step("inspecting the rendezvous directory"))?,
    );
    refuse_missing(plan, &outside)?;
    let held = match user.mounter {
        Mounter::EngineByDescriptor => HeldDirectories::open(plan, caller, boundaries.mounts())?,
        Mounter::Client | Mounter::Engine => HeldDirectories::default(),
    };

    // The egress proxy starts meanwhile: PID 1 gives it listeners later.
    let mut egress =
        EgressProxy::start(plan, egress, &user.agent, secrets.take_routes(), &state_directory, &id)?;

    // 8. The engine makes the container and starts PID 1 in it, which comes to meet us.
    let run = Run { id: &id, owner: caller.uid, state, own };
    let words = arguments::run(&ContainerRequest {
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
        StartError::Engine(EngineError::Refused { kind, cause: Some(FailureCause::NoImage), .. }) => {
            let (image, unfetched) = (container.image.clone(), image.unfetched.clone());
            EngineError::NoPlatform { kind, image, platform: platform.clone(), unfetched }.into()
        }
        error => error,
    };
    let mut started = Started::run(&engine, &words, run, &rendezvous, &leave).map_err(not_for_platform)?;
    let patience = engine::START + EACH_VOLUME.saturating_mul(u32::try_from(held.len()).unwrap_or(u32::MAX));
    let InitConnection { mut control, uid, groups, pid } =
        started.wait_for_init(&rendezvous, patience, parent).map_err(not_for_platform)?;
    held.check(plan, caller, boundaries.mounts())?;
    drop(held);
    if uid != user.agent.uid {
        return Err(StartError::refused(
            format!("an agent that is user {} on the host", user.agent.uid),
            format!("the engine has made it user {uid}"),
            "look for user namespaces in the engine's settings (userns-remap)",
        ));
    }
    if let Some(other) = groups.iter().find(|group| **group != user.agent.gid) {
        return Err(StartError::refused(
            format!("an agent that is in group {} alone on the host", user.agent.gid),
            format!("the engine has put it into group {other} too, whose files would be open to it"),
            "look for additional groups in the engine's settings, and for a wrapper of its command",
        ));
    }

    // 9. Where this process is root it mounts the shared directories itself: with the owner mapped where the agent is nobody,
    //    and so that no link on the way to a mount point is followed.
    if user.mounter == Mounter::Client {
        let container = rendezvous.distinct_mount(&id);
        let container = container.map_err(StartError::step("inspecting the rendezvous directory"))?;
        mounts::mount_ourselves(plan, &user, caller, boundaries.mounts(), pid, container)?;
    }

    // 10. From here on Ctrl-C is for the sandbox, and this process lives until everything inside has ended. Until now it
    //    ended this process; PID 1 finds nobody to meet then, and the engine removes the container.
    let signals = Signals::block().map_err(StartError::step("blocking signals"))?;

    refuse_deserted(parent)?;

    // 11. What PID 1 is to run, secrets and streams included: over its socket, and so on no argument list and in no
    //     setting of the container.
    let interception = egress.as_mut().map_or(Ok(None), |egress| egress.interception(plan))?;
    let spec = init_spec::of(plan, &image, &user, &secrets, &streams, terminal.as_ref(), mounts)?;
    let spec = InitSpec { interception, ..spec };
    let relay = streams.relay(terminal.as_ref())?;
    let port = egress.as_mut().and_then(EgressProxy::take_port);
    let port_fd = port.as_ref().map(AsFd::as_fd);
    let descriptors: Vec<_> = streams.passed().chain(streams.inside()).chain(port_fd).collect();
    let sent = control.send(&Request::Start(Box::new(spec)), &descriptors);
    drop(port);
    match sent {
        // It has gone already, and says why, if anything does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        sent => sent.map_err(StartError::step("sending the init spec"))?,
    }
    drop(secrets);
    streams.close_inside();

    // 12. The sandbox lives until the agent ends, its time is over, or we are told to end it.
    let began = Instant::now();
    let renewals = egress.as_mut().and_then(EgressProxy::take_renewals);
    let watch = Watch {
        provider: plan.provider,
        control,
        end: &|| started.force(),
        streams,
        relay,
        gone: Gone::Sandbox,
        timeout: plan.limits.timeout,
        timeout_inside: None,
        sockets: Some((&plan.sockets, caller)),
        egress: egress.as_mut(),
        attendance: Attendance::new(parent),
        complete: &complete,
        boundaries: Some(&boundaries),
        notice,
    };
    let ended = renewal::during(renewals, plan, renew, || supervise(watch, &signals));
    drop(terminal);
    let duration = began.elapsed();

    // 13. The engine has removed the container when its command has ended. What the agent made that would run on the
    //     host later is moved aside, and nothing of ours stays.
    if ended.is_ok() {
        started.finish();
    }
    drop(started);
    drop(rendezvous);
    let egress = egress.and_then(|egress| egress.finish(notice));
    let last = boundaries.close(notice);
    let mut ended = ended?;
    ended.tell_shortages(plan, notice);
    last.complete(&mut ended.report);
    Ok(Outcome {
        end: ended.end,
        report: ended.report,
        init: Some(InitIds { pid: (pid > 0).then_some(pid), namespaces: ended.namespaces }),
        output: ended.output,
        detected: last.detected,
        egress,
        usage: None,
        duration,
    })
}
