//! The container providers: an engine makes the inside, and our PID 1 runs in it as everywhere else.
//!
//! `docs/containers.md` lists the same steps in the same order.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use confine::protocol::{ControlSocket, InitSpec, KillSource, Request, Rootfs, Terminal};
use confine::report::{Finding, Report, Status};
use policy::plan::Layer;

use self::arguments::Life;
use self::base::{ContainerBase, Making, WantedContainer};
use self::identity::Mounter;
use self::pool::Member;
use self::rendezvous::InitConnection;
use self::started::Started;
use super::foreground::Foreground;
use super::init_spec;
use crate::host::terminal::Signals;
use crate::provider::launch::{Launch, Launched, StayLaunch};
use crate::provider::staying::{self, Attached, Began, Sidecars};
use crate::session::attendance::refuse_deserted;
use crate::session::boundaries::Boundaries;
use crate::session::children::ChildrenProcess;
use crate::session::egress::EgressProxy;
use crate::session::environment::environment_in_image;
use crate::session::error::StartError;
use crate::session::held_secrets::HeldSecrets;
use crate::session::outcome::{Notice, Outcome};
use crate::session::sockets::{self, process::RelayProcess};
use crate::session::streams::{OwnTerminal, Streams};
use crate::state::directory::StateDir;
use crate::state::pool::{Pool, Temperature};
use crate::state::record::RunId;
use crate::state::runs::Runs;
use crate::state::sandboxes::StartedRecord;
use crate::state::walk_cache::Walks;

mod arguments;
mod base;
mod directories;
mod identity;
mod inspect;
mod mounts;
mod pool;
mod rendezvous;
mod rootfs;
mod started;
mod sweep;
mod unsupported;

pub(super) use self::pool::{drain, fill};
pub(super) use self::sweep::{kill, remover};

/// Runs a plan to its end, or until its sandbox stays.
pub(super) fn run(launch: Launch<'_>) -> Result<Launched, StartError> {
    let Launch {
        plan,
        secrets,
        streams,
        passed,
        early: _,
        stay,
        caller,
        state,
        own,
        locks,
        egress,
        relay: relay_program,
        children,
        renew,
        engines,
        parent,
        notice,
    } = launch;

    // 1. What no engine can do is refused before anything is touched.
    let (stay, attached) = StayLaunch::split(stay);
    let asked = Instant::now();
    let container = unsupported::refuse_unsupported(plan)?;
    stay.map_or(Ok(()), |_| staying::refuse_unsupported(plan))?;
    let streams = stay.map_or(streams, staying::stdio);
    let wanted = WantedContainer { plan, container, caller, state, own, locks };

    // 2., 3. and 4. are those of everything that is made of an image.
    let mut base = ContainerBase::find(wanted, engines, notice)?;
    refuse_deserted(parent)?;

    // 5. A container that was made ahead, if one waits.
    let state_directory = StateDir::open(state, caller)?;
    let pool = plan.pool.filter(|_| Pool::is_usable(caller)).map(|_| Pool::within(&state_directory));
    let pool = pool.transpose()?;
    let member = pool.as_ref().map_or(Ok(None), |pool| pool::take(pool, &mut base, wanted))?;
    let base = base;
    let ContainerBase { engine, user, image, .. } = &base;

    // 6. Where its streams lead.
    let mut streams = Streams::open(streams, plan.limits.output_bytes, user.agent.owner(), caller)?;
    streams.pass(plan, passed, user.agent.owner())?;
    let terminal = streams.open_terminal(user.agent.owner())?;

    // Its name, before anything is done for it that has an effect or takes long.
    let id = match &member {
        Some(member) => member.taken.record.id.clone(),
        None => RunId::generate().map_err(StartError::recorded)?,
    };
    let (agent, env) = (user.agent.user(), &image.config.env);
    let new = stay.map(|stay| staying::begin(stay, plan, &id, caller, agent, env.clone())).transpose()?;
    let mut named = Attached::begin(attached, plan, &id, caller, agent, env)?;

    // The values of secrets: what reads them, which may take long, runs before anything is searched.
    let mut secrets = HeldSecrets::read(plan, secrets)?;

    // 7. What lies in the boundaries: what to protect, what to mask, what was there before. From here on a
    //    record tells the next command what to clear up, should this one be killed, as this one does for others.
    let runs = Runs::open(&state_directory).map_err(StartError::recorded)?;
    let walks = Walks::open(&state_directory)?;
    let others = sweep::sweep(&runs, engine, state, own, notice)?;
    let boundaries = Boundaries::open(plan, caller, &runs, &walks, &id, Some(sweep::placed(engine)), others)?;
    boundaries.warn(notice);
    let shared = mounts::expected(plan, caller, boundaries.mounts())?;
    let member = match member {
        Some(member) if !pool::fits(&member, plan, boundaries.mounts(), &shared)? => {
            pool::discard(member, &base, wanted)?;
            None
        }
        member => member,
    };
    if member.is_none() {
        base.refuse_unfit(wanted, &id)?;
    }

    let socket_streams = streams.sockets();
    let complete = |report: &mut Report| {
        report.add(user.report());
        report.add(Finding {
            layer: Layer::Disk,
            status: Status::Partly,
            reason: "each tmpfs is bounded by tmp_size; space in shared directories is not".into(),
        });
        boundaries.complete(report);
        sockets::complete(plan, socket_streams, report);
        if stay.is_some() {
            staying::complete(plan, report);
        }
    };
    let mut outside = Report::default();
    complete(&mut outside);
    init_spec::refuse_missing(plan, &outside)?;

    // The egress proxy starts meanwhile: PID 1 gives it listeners later.
    let mut egress =
        EgressProxy::start(plan, egress, &user.agent, secrets.take_routes(), &state_directory, &id)?;

    // 8. The engine makes the container and starts PID 1 in it, which connects to the rendezvous. One that was taken has one already.
    let leave = || boundaries.leave_record();
    let (mut started, _listener, taken, rendezvous, init) =
        if let Some(Member { taken, control, rendezvous }) = member {
            let (agent, pid) = (taken.record.agent, taken.record.pid);
            let init = InitConnection { control, uid: agent.uid, groups: vec![agent.gid], pid };
            let started = Started::taken(engine, wanted.run(&id), &leave);
            (started, None, Some(taken), rendezvous, init)
        } else {
            let (rendezvous, listener) = base.prepare_rendezvous(own, &id)?;
            let held = base.held(wanted, boundaries.mounts())?;
            let making = Making {
                protected: boundaries.mounts(),
                held: &held,
                rendezvous: rendezvous.path(),
                life: if stay.is_some() { Life::Stays } else { Life::OfItsClient },
            };
            let (started, init) = base.start(wanted, &id, &making, &listener, parent, &leave)?;
            (started, Some(listener), None, rendezvous, init)
        };
    let start = if taken.is_some() { Temperature::Warm } else { Temperature::Cold };
    let InitConnection { mut control, pid, .. } = init;
    let mounts = base::with_rendezvous(shared, &rendezvous, &id, plan)?;

    // 9. Where this process is root it mounts the shared directories itself: with the owner mapped where the agent is nobody,
    //    and so that no link on the way to a mount point is followed.
    if user.mounter == Mounter::Client {
        let container = rendezvous.distinct_mount(&id);
        let container = container.map_err(StartError::step("inspecting the rendezvous directory"))?;
        mounts::mount_ourselves(plan, user, caller, boundaries.mounts(), pid, container)?;
    }

    // 10. From here on Ctrl-C is for the sandbox, and this process lives until everything inside has ended. Until now it
    //    ended this process; PID 1 finds nobody at the rendezvous then, and the engine removes the container.
    let signals = Signals::block().map_err(StartError::step("blocking signals"))?;

    refuse_deserted(parent)?;

    // 11. What PID 1 is to run, secrets and streams included: over its socket, and so on no argument list and in no
    //     setting of the container.
    let mut children = ChildrenProcess::prepare(plan, &id, children, caller)?;
    let interception = egress.as_mut().map_or(Ok(None), |egress| egress.interception(plan))?;
    let env = || environment_in_image(plan, &image.config.env, &secrets);
    let first_terminal = terminal.as_ref().map(|terminal| Terminal::Stream(terminal.first));
    let command = init_spec::command(plan, env, &streams, first_terminal, stay)?;
    let rootfs = Rootfs::Engine {
        limits: plan.limits.clone(),
        user_namespace: user.namespace.kind(),
        tmpfs: arguments::tmpfs_paths(plan).map(PathBuf::from).collect(),
        other_mounts: arguments::places(plan, image).map_err(StartError::step("reading what is mounted"))?,
    };
    let of_streams = streams.grants().chain(terminal.iter().flat_map(OwnTerminal::grants));
    let ids = (user.agent.uid, user.inside.0);
    let spec = init_spec::of(plan, rootfs, command, of_streams, ids, mounts, interception)?;
    if let Some((stay, new)) = stay.zip(new) {
        // A persistent sandbox gets what it needs to live without this process, which then leaves it. Until it has, Ctrl-C ends
        // this process, and PID 1 with it.
        drop(signals);
        let relay = RelayProcess::prepare(plan, relay_program, caller)?;
        let mut sidecars = Sidecars::new(relay, children);
        let locks = [boundaries.lock(), user.agent.lock()].into_iter().chain(sidecars.lifelines());
        let held = staying::held(&stay, &new, locks);
        let spec = InitSpec { stay: Some(staying::spec(stay, held.len(), KillSource::Inside)?), ..spec };
        let own = staying::descriptors(&new, None, &held, &streams.logged);
        let port = egress.as_mut().and_then(EgressProxy::take_port);
        let port_fd = port.as_ref().map(AsFd::as_fd);
        let descriptors: Vec<_> = own.into_iter().chain(streams.inside()).chain(port_fd).collect();
        send(&mut control, spec, &descriptors)?;
        drop((descriptors, held, secrets));
        drop(port);
        streams.close_inside();
        let (began, mut report) = staying::wait(&mut control, plan, egress.as_mut(), &mut sidecars)?;
        complete(&mut report);
        return match began {
            Began::Ended(end) => {
                started.finish();
                drop((started, rendezvous, taken));
                let detected = boundaries.close(notice).detected;
                Ok(Launched::ended(Outcome { report, detected, ..Outcome::of(end, Duration::ZERO) }))
            }
            Began::Ready => {
                notice(Notice::Started(report.clone()));
                let pool = pool.as_ref().map(|pool| pool::note(pool, start, asked.elapsed()));
                let covered = boundaries.covered();
                let started_record = StartedRecord { pid: (pid > 0).then_some(pid), report, pool, covered };
                let record = staying::started(new, started_record, notice)?;
                let lifeline = staying::leave(control, stay)?;
                boundaries.leave_record();
                egress.into_iter().for_each(EgressProxy::leave);
                sidecars.leave();
                started.leave();
                rendezvous.leave();
                drop(taken);
                base.user.agent.leave();
                Ok(Launched::Stays(Box::new(record), lifeline))
            }
        };
    }
    let (of_name, own) = named.spec(attached, KillSource::Inside, None)?;
    let spec = InitSpec { stay: of_name, ..spec };
    let relay = streams.relay(terminal.as_ref())?;
    let port = egress.as_mut().and_then(EgressProxy::take_port);
    let port_fd = port.as_ref().map(AsFd::as_fd);
    let descriptors: Vec<_> =
        own.into_iter().chain(streams.passed()).chain(streams.inside()).chain(port_fd).collect();
    let sent = send(&mut control, spec, &descriptors);
    drop(descriptors);
    drop(port);
    sent?;
    named.sent();
    drop(secrets);
    streams.close_inside();

    // 12. The sandbox lives until the agent ends, its time is over, or we are told to end it.
    let foreground = Foreground {
        plan,
        caller,
        parent,
        pid: (pid > 0).then_some(pid),
        end: &|| started.force(),
        complete: &complete,
        boundaries: &boundaries,
        children: children.as_mut(),
        egress: egress.as_mut(),
        renew,
        named: &mut named,
        pool: pool.as_ref().map(|pool| pool::note(pool, start, asked.elapsed())),
    };
    let end = foreground.wait(control, streams, relay, &signals, notice);
    drop(terminal);

    // 13. The engine has removed the container when its command has ended. What the agent made that would run on the
    //     host later is quarantined, and nothing of ours stays.
    if end.ended.is_ok() {
        started.finish();
    }
    children.into_iter().for_each(ChildrenProcess::finish);
    drop(started);
    drop(rendezvous);
    drop(taken);
    // The name last: who has it next has a container and an egress proxy of that name, too.
    let egress = egress.and_then(|egress| egress.finish(notice));
    named.remove(notice);
    let last = boundaries.close(notice);
    end.into_launched(plan, last, egress, None, notice)
}

/// Sends PID 1 its init spec.
fn send(
    control: &mut ControlSocket,
    spec: InitSpec,
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), StartError> {
    match control.send(&Request::Start(Box::new(spec)), descriptors) {
        // It has gone already, and says why, if anything does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        sent => sent.map_err(StartError::step("sending the init spec")),
    }
}
