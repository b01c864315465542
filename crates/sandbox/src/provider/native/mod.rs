//! The native provider: namespaces of this Linux host, without a daemon and without an image.
//!
//! `docs/native.md` lists the same steps in the same order.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use confine::cgroup::KillCounter;
use confine::protocol::{ControlSocket, InitSpec, KillSource, Request, Rootfs, Shortage, Terminal};
use confine::report::{Report, Status};
use policy::plan::{Init, Layer, Network, Plan};
use policy::text::escape;

use self::early::{EarlyInit, HostSide, StartedInit, send};
use self::limits::LimitEnforcement;
use crate::host::terminal::Signals;
use crate::provider::foreground::Foreground;
use crate::provider::idmap::{self, IdMaps};
use crate::provider::launch::{Launch, Launched, StayLaunch};
use crate::provider::staying::{self, Attached};
use crate::provider::{init_spec, masks};
use crate::session::attendance::refuse_deserted;
use crate::session::boundaries::{self, Boundaries};
use crate::session::children::ChildrenProcess;
use crate::session::egress::EgressProxy;
use crate::session::environment::environment;
use crate::session::error::StartError;
use crate::session::held_secrets::HeldSecrets;
use crate::session::outcome::{Notice, Outcome};
use crate::session::sockets::{self, process::RelayProcess};
use crate::session::streams::{OwnTerminal, Streams};
use crate::state::directory::StateDir;
use crate::state::record::RunId;
use crate::state::runs::Runs;
use crate::state::sandboxes::StartedRecord;
use crate::state::walk_cache::Walks;

pub mod early;
mod limits;

/// Runs a plan to its end, or until its sandbox stays.
pub(super) fn run(launch: Launch<'_>) -> Result<Launched, StartError> {
    let Launch {
        plan,
        secrets,
        streams,
        passed,
        early,
        caller,
        state,
        locks,
        egress,
        relay,
        children,
        renew,
        parent,
        stay,
        notice,
        ..
    } = launch;

    // 1. What this provider cannot do is refused before anything is touched.
    let (stay, attached) = StayLaunch::split(stay);
    refuse_unsupported(plan)?;
    stay.map_or(Ok(()), |_| staying::refuse_unsupported(plan))?;
    let streams = stay.map_or(streams, staying::stdio);

    // 2., 3. and 5. are done already where it was known early that there would be a native sandbox.
    let EarlyInit { host, started } = early.unwrap_or_else(|| EarlyInit {
        host: HostSide::find(caller, streams, plan.limits.output_bytes, locks),
        started: None,
    });
    let mut host = host?;
    if attached.is_some() && started.is_none() {
        host.hide_terminal()?;
    }
    let hierarchy = std::mem::take(&mut host.hierarchy);

    // 4. Where what may be used is bounded, in cgroups that PID 1 may have to be created in.
    let mut limits = LimitEnforcement::choose(plan, &hierarchy)?;
    let started = started.unwrap_or_else(|| StartedInit::start(&host, limits.clone_into_cgroup()))?;
    let (HostSide { agent, mut streams, terminal, .. }, StartedInit { child, mut control, mut builder }) =
        (host, started);
    streams.pass(plan, passed, agent.owner())?;
    limits.apply(stay.map_or(std::process::id(), |_| child.pid().unsigned_abs()))?;
    send(&mut control, &Request::Mount(builder.temporary(limits.tmpfs())), &[])?;
    if idmap::makes_trees() {
        send(&mut control, &Request::LeaveHost, &[])?;
    }

    // Its name, before anything is done for it that has an effect or takes long.
    let id = RunId::generate().map_err(StartError::recorded)?;
    let new =
        stay.map(|stay| staying::begin(stay, plan, &id, caller, agent.user(), Vec::new())).transpose()?;
    let mut named = Attached::begin(attached, plan, &id, caller, agent.user(), &[])?;

    // The values of secrets. The process that becomes PID 1 has no copy, because it was made before; and what reads them, which
    // may take long, runs before anything is searched.
    let mut secrets = HeldSecrets::read(plan, secrets)?;

    // The egress proxy starts meanwhile: PID 1 gives it listeners later, and asks it whether it refuses what it should.
    let state = StateDir::open(state, caller)?;
    let mut egress = EgressProxy::start(plan, egress, &agent, secrets.take_routes(), &state, &id)?;

    // 6. What lies in the boundaries: what to protect, what to mask, what was there before. From here on a
    //    record tells the next command what to clear up, should this one be killed, as this one does for others.
    let runs = Runs::open(&state).map_err(StartError::recorded)?;
    let walks = Walks::open(&state)?;
    // Where another provider has left a container, its next command removes that.
    let others = boundaries::sweep(&runs, notice, &mut |_, _| false).map_err(StartError::recorded)?;
    let boundaries = Boundaries::open(plan, caller, &runs, &walks, &id, None, others)?;
    boundaries.warn(notice);

    // 7. Whom the files belong to: mapped, where the agent does not own them.
    let mut maps = IdMaps::default();
    let trees = idmap::map_boundaries(plan, caller, &agent, &mut maps)?;
    let toolchains = idmap::open_toolchains(plan, caller)?;

    // 8. What there is to see.
    let mounts = builder
        .complete(plan, trees, boundaries.mounts(), toolchains)
        .map_err(StartError::step("planning the mounts"))?;

    let socket_streams = streams.sockets();
    let complete = |report: &mut Report| {
        limits.complete(report);
        boundaries.complete(report);
        sockets::complete(plan, socket_streams, report);
        groups(plan, report);
        if stay.is_some() {
            staying::complete(plan, report);
        }
    };
    let mut outside = Report::default();
    complete(&mut outside);
    init_spec::refuse_missing(plan, &outside)?;

    // 9. From here on Ctrl-C is for the sandbox, and this process lives until everything inside has ended. Until now it
    //    ended this process, and PID 1 with it: looking through the boundaries can take long.
    let signals = Signals::block().map_err(StartError::step("blocking signals"))?;

    refuse_deserted(parent)?;

    // 10. What PID 1 is to make and to run, secrets included: over its socket, and so on no argument list.
    let mut children = ChildrenProcess::prepare(plan, &id, children, caller)?;
    let interception = egress.as_mut().map_or(Ok(None), |egress| egress.interception(plan))?;
    let hidden = masks::hidden(plan, caller, boundaries.mounts())?;
    let first_terminal = match &terminal {
        Some(terminal) => Some(Terminal::Stream(terminal.first)),
        None => streams.size().map(|size| Terminal::New { streams: streams.terminal, size }),
    };
    let env = || environment(plan, &secrets);
    let command = init_spec::command(plan, env, &streams, first_terminal, stay)?;
    let rootfs = Rootfs::Own { mounts, rlimit_fallback: limits.rlimit_fallback() };
    let of_streams = streams.grants().chain(terminal.iter().flat_map(OwnTerminal::grants));
    let ids = (agent.uid, agent.identity.inside().uid);
    let mounts = init_spec::boundaries(plan).chain(hidden).collect();
    let spec = init_spec::of(plan, rootfs, command, of_streams, ids, mounts, interception)?;
    if let Some((stay, new)) = stay.zip(new) {
        // A persistent sandbox gets what it needs to live without this process, which then leaves it. Until it has, Ctrl-C ends
        // this process, and PID 1 with it.
        drop(signals);
        let relay = RelayProcess::prepare(plan, relay, caller)?;
        let mut sidecars = staying::Sidecars::new(relay, children);
        let locks = [boundaries.lock(), agent.lock()].into_iter().chain(sidecars.lifelines());
        let held = staying::held(&stay, &new, locks);
        let kills = limits.kill_counter();
        let kills = kills.as_ref().and_then(KillCounter::file);
        let source = kills.map_or(KillSource::Uncounted, |_| KillSource::Descriptor);
        let spec = InitSpec { stay: Some(staying::spec(stay, held.len(), source)?), ..spec };
        let own = staying::descriptors(&new, kills, &held, &streams.logged);
        let port = egress.as_mut().and_then(EgressProxy::take_port);
        send_init_spec(&mut control, spec, own, &streams, &limits, port.as_ref())?;
        drop((held, secrets, port, maps));
        streams.close_inside();
        limits.sweep_others();
        let (began, mut report) = staying::wait(&mut control, plan, egress.as_mut(), &mut sidecars)?;
        complete(&mut report);
        return match began {
            staying::Began::Ended(end) => {
                let detected = boundaries.close(notice).detected;
                Ok(Launched::ended(Outcome { report, detected, ..Outcome::of(end, Duration::ZERO) }))
            }
            staying::Began::Ready => {
                notice(Notice::Started(report.clone()));
                let record = staying::started(
                    new,
                    StartedRecord {
                        pid: Some(child.pid()),
                        report,
                        pool: None,
                        covered: boundaries.covered(),
                    },
                    notice,
                )?;
                let lifeline = staying::leave(control, stay)?;
                boundaries.leave_record();
                egress.into_iter().for_each(EgressProxy::leave);
                sidecars.leave();
                limits.leave();
                agent.leave();
                child.leave();
                Ok(Launched::Stays(Box::new(record), lifeline))
            }
        };
    }
    let kills = limits.kill_counter();
    let counter = kills.as_ref().and_then(KillCounter::file);
    let source = counter.map_or(KillSource::Uncounted, |_| KillSource::Descriptor);
    let (of_name, own) = named.spec(attached, source, counter)?;
    let spec = InitSpec { stay: of_name, ..spec };
    let port = egress.as_mut().and_then(EgressProxy::take_port);
    send_init_spec(&mut control, spec, own, &streams, &limits, port.as_ref())?;
    drop((port, secrets, kills, maps));
    named.sent();
    let relay = streams.relay(terminal.as_ref());
    streams.close_inside();
    let swept = limits.sweep_others();

    // 11. The sandbox lives until the agent ends, its time is over, or we are told to end it.
    let relay = relay?;
    let foreground = Foreground {
        plan,
        caller,
        parent,
        pid: Some(child.pid()),
        end: &|| child.end(),
        complete: &complete,
        boundaries: &boundaries,
        children: children.as_mut(),
        egress: egress.as_mut(),
        renew,
        named: &mut named,
        pool: None,
    };
    let end = foreground.wait(control, streams, relay, &signals, notice);
    // PID 1 says that it is over when nothing else is left inside. Where it has said nothing, it is ended now, and
    // with it its namespace.
    let child = end.ended.is_ok().then_some(child);

    // 12. What the agent made that would run on the host later is quarantined, and nothing of ours stays. Only when PID 1 is
    //     gone has the kernel let go of what it had mounted: memory of a tmpfs, and file systems of the host.
    children.into_iter().for_each(ChildrenProcess::finish);
    let last = boundaries.close(notice);
    let has_run_out_of_memory = limits.ran_out_of_memory();
    limits.remove_agents();
    drop(child);
    // The name last: who has it next has an egress proxy of that name, too.
    let egress = egress.and_then(|egress| egress.finish(notice));
    named.remove(notice);
    if swept.left > 0 {
        // What was still ending then has had the time.
        limits.sweep_others();
    }
    let short_of = has_run_out_of_memory.then_some(Shortage::Memory);
    end.into_launched(plan, last, egress, short_of, notice)
}

/// Sends PID 1 its init spec, with the descriptors of [`InitSpec::stay`] first.
fn send_init_spec<'a>(
    control: &mut ControlSocket,
    mut spec: InitSpec,
    of_stay: Vec<BorrowedFd<'a>>,
    streams: &'a Streams,
    limits: &'a LimitEnforcement<'_>,
    port: Option<&'a OwnedFd>,
) -> Result<(), StartError> {
    let trees = match &mut spec.rootfs {
        Rootfs::Own { mounts, .. } => mounts.take_trees(),
        Rootfs::Engine { .. } => Vec::new(),
    };
    let port = port.map(AsFd::as_fd);
    let trees = trees.iter().map(AsFd::as_fd);
    let descriptors: Vec<_> =
        of_stay.into_iter().chain(streams.passed()).chain(trees).chain(limits.tasks()).chain(port).collect();
    send(control, &Request::Start(Box::new(spec)), &descriptors)
}

fn refuse_unsupported(plan: &Plan) -> Result<(), StartError> {
    match &plan.network {
        Network::None | Network::Allowlist { .. } => {}
        Network::Open => {
            return Err(StartError::Refused {
                asked: "network = \"open\"".into(),
                reason: "the native provider has no network to open but the host's own, loopback included"
                    .into(),
                remedy: "network = \"none\" or \"allowlist\"".into(),
            });
        }
    }
    match plan.agent.init {
        Init::Supervise => Ok(()),
        Init::Exec => Err(StartError::Refused {
            asked: "agent.init = false".into(),
            reason: "the native provider needs its own PID 1, which ends everything when the client is gone"
                .into(),
            remedy: "agent.init = true".into(),
        }),
    }
}

/// Reports supplementary groups. A normal caller's cannot be dropped in a namespace that maps only one; root's can.
fn groups(plan: &Plan, report: &mut Report) {
    use confine::report::Finding;
    let layer = Layer::Groups;
    let finding = if rustix::process::geteuid().as_raw() == 0 {
        Finding { layer, status: Status::Enforced, reason: "no supplementary group".into() }
    } else {
        let own = rustix::process::getegid().as_raw();
        let extra: Vec<u32> = rustix::process::getgroups()
            .unwrap_or_default()
            .into_iter()
            .map(rustix::process::Gid::as_raw)
            .filter(|gid| *gid != own)
            .collect();
        let owning: Vec<String> = plan
            .boundaries
            .iter()
            .filter_map(|boundary| {
                use std::os::unix::fs::MetadataExt;
                let gid = std::fs::metadata(&boundary.host).ok()?.gid();
                extra.contains(&gid).then(|| format!("{gid} owns {}", escape::path(&boundary.guest)))
            })
            .collect();
        if extra.is_empty() {
            Finding {
                layer,
                status: Status::Enforced,
                reason: "the caller has no supplementary group".into(),
            }
        } else {
            let named: Vec<_> = extra.iter().map(u32::to_string).collect();
            let visible = if owning.is_empty() { String::new() } else { format!("; {}", owning.join(", ")) };
            let reason = format!(
                "the caller's groups {} cannot be dropped by a normal user{visible}",
                named.join(", ")
            );
            Finding { layer, status: Status::Partly, reason }
        }
    };
    report.add(finding);
}
