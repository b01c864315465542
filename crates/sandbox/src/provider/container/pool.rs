//! Containers that are made ahead. One is made as any other is, and its PID 1 waits before it has anything of a command; whoever takes
//! it goes on from there, with boundaries that were searched now.
//!
//! What an engine mounts it mounts when it makes the container. So a container is taken only by a plan for which the engine would be
//! given the same, and only where the same files are to be protected, hidden and masked in it; PID 1 then looks whether they are.

use std::fs;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use confine::mount::mountinfo;
use confine::protocol::{ControlSocket, Event, ExpectedMount, Request, Warm};
use policy::plan::Plan;
use sha2::{Digest, Sha256};
use tracing::debug;

use super::arguments::{self, Life};
use super::base::{ContainerBase, Making, WantedContainer};
use super::directories::HeldDirectories;
use super::rendezvous::{self, RendezvousDir};
use super::{mounts, sweep, unsupported};
use crate::boundary::protect::mounts::Mounts;
use crate::host::clock::now;
use crate::host::identity::Identity;
use crate::provider::launch::{Fill, Filled};
use crate::session::boundaries::Boundaries;
use crate::session::error::StartError;
use crate::state::directory::{StateDir, StateError};
use crate::state::pool::{Pool, PoolKey, PoolStart, TakenWarm, Temperature, WarmRecord, WarmVersion};
use crate::state::record::RunId;
use crate::state::runs::Runs;
use crate::state::walk_cache::Walks;

/// How long a PID 1 that waits may take to answer. It has nothing else to do.
const PATIENCE: Duration = Duration::from_secs(5);

/// How much PID 1 sends before its end, at most.
const MAX_SENT: u64 = 1 << 20;

/// The program that this process runs: PID 1 of another build speaks another protocol.
const PROGRAM: &str = "/proc/self/exe";

/// A container of the pool that is this process's, with the connection to its PID 1.
pub(super) struct Member<'a> {
    pub(super) taken: TakenWarm<'a>,
    pub(super) control: ControlSocket,
    /// What it has mounted of this host.
    pub(super) rendezvous: RendezvousDir,
}

/// Takes a container that is as this plan wants it, and makes its agent the one of `base`; `None` where none waits.
pub(super) fn take<'a>(
    pool: &'a Pool,
    base: &mut ContainerBase,
    wanted: WantedContainer<'_>,
) -> Result<Option<Member<'a>>, StartError> {
    let key = key(base, wanted)?;
    while let Some(taken) = pool.take(&key)? {
        // It goes with this, whatever becomes of what follows.
        let rendezvous = RendezvousDir::left(wanted.own, &taken.record.id);
        // One whose time was just over answers nothing.
        let connected = taken.connect()?;
        let answered = connected.map(|stream| {
            stream.set_read_timeout(Some(PATIENCE))?;
            let mut control = ControlSocket::from(OwnedFd::from(stream.try_clone()?));
            let ready = matches!(control.receive::<Event>()?, Some(Event::Ready));
            stream.set_read_timeout(None)?;
            Ok::<_, io::Error>(ready.then_some(control))
        });
        if let Some(Ok(Some(mut control))) = answered {
            // Where each has a user of its own, the taker gets that with it.
            match (base.user.agent.is_unallocated, control.take_descriptors().pop()) {
                (false, _) => {}
                (true, Some(lock)) => base.user.take(taken.record.agent.uid, lock),
                (true, None) => continue,
            }
            debug!(id = taken.record.id.as_str(), age = taken.age(), "takes a container of the pool");
            return Ok(Some(Member { taken, control, rendezvous }));
        }
    }
    Ok(None)
}

/// Returns whether what is mounted in the container is what would be mounted now.
pub(super) fn fits(
    member: &Member<'_>,
    plan: &Plan,
    protected: &[Mounts],
    expected: &[ExpectedMount],
) -> Result<bool, StartError> {
    Ok(member.taken.record.mounts == mounted(plan, protected, expected)?)
}

/// Removes the container of a member that does not fit, so that another one may have its id.
pub(super) fn discard(
    member: Member<'_>,
    base: &ContainerBase,
    wanted: WantedContainer<'_>,
) -> Result<(), StartError> {
    let id = member.taken.record.id.clone();
    // PID 1 ends when nobody is connected.
    drop(member);
    sweep::remove(&base.engine, wanted.run(&id)).map(drop).map_err(StartError::from)
}

/// Notes how a sandbox has started whose plan has a pool.
pub(super) fn note(pool: &Pool, start: Temperature, took: Duration) -> PoolStart {
    // To ten microseconds.
    let start = PoolStart { start, start_ms: (took.as_secs_f64() * 1e5).round() / 100.0 };
    if let Err(error) = pool.note_start(start) {
        debug!(%error, "cannot note how the sandbox has started");
    }
    start
}

/// Refuses a pool in the state directory of another user.
fn refuse_unusable(caller: Identity) -> Result<(), StartError> {
    if Pool::is_usable(caller) {
        return Ok(());
    }
    Err(StartError::refused(
        "a pool",
        "under sudo, root would use what the user behind it has noted",
        "call sandboxctl without sudo, or as root alone",
    ))
}

/// Makes containers until as many wait as the plan of `fill` wants.
pub(in crate::provider) fn fill(fill: Fill<'_>) -> Result<Filled, StartError> {
    let Fill { plan, caller, state, own, locks, engines, drains, notice } = fill;
    let container = unsupported::refuse_unsupported(plan)?;
    let wanted = WantedContainer { plan, container, caller, state, own, locks };
    refuse_unusable(caller)?;
    let Some(size) = plan.pool else {
        let reason = "the configuration names no size of it";
        return Err(StartError::refused("a pool", reason, "`[pool] size = 2`"));
    };
    let directory = StateDir::open(state, caller)?;
    let pool = Pool::within(&directory)?;
    let _filling = pool.begin_filling()?;
    let mut made = 0;
    loop {
        // Each has an agent of its own, where that has an unallocated uid.
        let base = ContainerBase::find(wanted, engines, notice)?;
        let key = key(&base, wanted)?;

        // 1. What lies in the boundaries, as for a run. The record of it goes with this: nothing runs in there.
        let runs = Runs::open(&directory).map_err(StartError::recorded)?;
        let walks = Walks::open(&directory)?;
        let id = RunId::generate().map_err(StartError::recorded)?;
        let others = sweep::sweep(&runs, &base.engine, state, own, notice)?;
        let placed = Some(sweep::placed(&base.engine));
        let boundaries = Boundaries::open(plan, caller, &runs, &walks, &id, placed, others)?;
        let expected = mounts::expected(plan, caller, boundaries.mounts())?;
        let mounts = mounted(plan, boundaries.mounts(), &expected)?;

        // 2. What waits already. One in which something else is mounted than would be now is of no use.
        let mut waiting = pool.list()?;
        waiting.retain(|one| one.key == key);
        let (waiting, useless): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|one| one.mounts == mounts);
        for one in &useless {
            end(&pool, one, own)?;
        }
        let is_full = waiting.len() >= usize::try_from(size.size.get()).unwrap_or(usize::MAX);
        let is_drained = drains.map_or(Ok(false), |drains| Ok::<_, StateError>(drains != pool.drains()?))?;
        if is_full || is_drained {
            return Ok(Filled { made, waiting: waiting.len() });
        }

        // 3. One more, to which its agent's id goes.
        let record = WarmRecord {
            version: WarmVersion::default(),
            id,
            created: now(),
            provider: plan.provider,
            image: container.image.clone(),
            key,
            mounts,
            agent: base.user.agent.user(),
            pid: 0,
        };
        add(&pool, base, record, boundaries, size.max_age, wanted)?;
        made += 1;
    }
}

/// Ends all that waits, and returns how many that were.
pub(in crate::provider) fn drain(caller: Identity, state: &Path, own: &Path) -> Result<usize, StartError> {
    refuse_unusable(caller)?;
    let pool = Pool::open(state, caller)?;
    // What is being made waits in a moment.
    let _filling = pool.begin_filling()?;
    pool.note_drain()?;
    let mut count = 0;
    for record in pool.list()? {
        count += usize::from(end(&pool, &record, own)?);
    }
    // And what those have left that have ended by themselves.
    for id in pool.sweep()? {
        rendezvous::forget(own, &id).map_err(StartError::step("removing a rendezvous directory"))?;
    }
    Ok(count)
}

/// Ends one that waits, and returns whether it was still there.
fn end(pool: &Pool, record: &WarmRecord, own: &Path) -> Result<bool, StartError> {
    let Some(taken) = pool.take_this(record)? else { return Ok(false) };
    if let Some(stream) = taken.connect()? {
        // Its PID 1 ends when its client is gone, and then so is the connection. What it says before is of no use.
        let ended = stream
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| stream.shutdown(Shutdown::Write))
            .and_then(|()| io::copy(&mut stream.take(MAX_SENT), &mut io::sink()));
        ended.map_err(StartError::step("ending a container that waits"))?;
    }
    rendezvous::forget(own, &record.id).map_err(StartError::step("removing a rendezvous directory"))?;
    Ok(true)
}

/// Makes one, and adds it.
fn add(
    pool: &Pool,
    base: ContainerBase,
    mut record: WarmRecord,
    boundaries: Boundaries<'_>,
    max_age: Duration,
    wanted: WantedContainer<'_>,
) -> Result<(), StartError> {
    let id = &record.id.clone();
    base.refuse_unfit(wanted, id)?;

    // 1. The container, with a PID 1 that has come.
    let held = base.held(wanted, boundaries.mounts())?;
    let (rendezvous, listener) = base.prepare_rendezvous(wanted.own, id)?;
    let making = Making {
        protected: boundaries.mounts(),
        held: &held,
        rendezvous: rendezvous.path(),
        life: Life::Waits,
    };
    let new = pool.begin(id)?;
    let (started, init) = base.start(wanted, id, &making, &listener, None, &|| ())?;
    record.pid = init.pid;

    // 2. It waits without this process, which notes it then: who is killed in between leaves a container that nobody finds, and that ends
    //    by itself.
    let mut control = init.control;
    let locks: Vec<_> = std::iter::once(new.alive.as_fd()).chain(base.user.agent.lock()).collect();
    let warm = Warm { max_age, held: u8::try_from(locks.len()).unwrap_or(u8::MAX) };
    let descriptors: Vec<_> = std::iter::once(new.listener.as_fd()).chain(locks).collect();
    let waiting = StartError::step("leaving the container to the pool");
    let mut expect = |request: &Request, descriptors: &[BorrowedFd<'_>], event: fn(&Event) -> bool| {
        control.send(request, descriptors).map_err(waiting)?;
        match control.receive().map_err(waiting)? {
            Some(received) if event(&received) => Ok(()),
            _ => Err(waiting(io::ErrorKind::UnexpectedEof.into())),
        }
    };
    expect(&Request::Wait(warm), &descriptors, |event| matches!(event, Event::Ready))?;
    expect(&Request::Leave, &[], |event| matches!(event, Event::Stays))?;
    drop(descriptors);

    // 3. From when it is noted on, it is its taker's, and so is the record of its run: nothing of this process may stand for it then.
    started.leave();
    drop(boundaries);
    base.user.agent.leave();
    new.add(&record)?;
    rendezvous.leave();
    Ok(())
}

/// Returns what two containers have in common of which one can be taken for the other: this program, the engine, and what that is given.
fn key(base: &ContainerBase, wanted: WantedContainer<'_>) -> Result<PoolKey, StartError> {
    let failed = StartError::step("looking for a container that waits");
    let mut text = Vec::new();
    let mut add = |part: &[u8]| {
        text.extend_from_slice(part);
        text.push(0);
    };
    let program = fs::metadata(PROGRAM).map_err(failed)?;
    let program = (program.dev(), program.ino(), program.mtime(), program.mtime_nsec(), program.size());
    add(format!("{program:?}").as_bytes());
    add(base.engine.address().unwrap_or_default().as_bytes());
    let nothing: Vec<Mounts> = wanted.plan.boundaries.iter().map(|_| Mounts::default()).collect();
    let making = Making {
        protected: &nothing,
        held: &HeldDirectories::default(),
        rendezvous: Path::new("/"),
        life: Life::Waits,
    };
    let id = RunId::generate().map_err(StartError::recorded)?;
    let mut request = base.request(wanted, &id, &making)?;
    if base.user.agent.is_unallocated {
        // Each sandbox has another one, and whoever takes one takes its user with it.
        request.inside = (0, 0);
    }
    for word in arguments::in_common(&request) {
        add(word.as_bytes());
    }
    Ok(PoolKey(digest(&text)))
}

/// Returns a digest of what is mounted: what PID 1 looks at, and what else is mounted in shared directories on the host.
fn mounted(plan: &Plan, protected: &[Mounts], expected: &[ExpectedMount]) -> Result<String, StartError> {
    let failed = StartError::step("comparing what is mounted");
    let (mut nested, mut made) = (Vec::new(), Vec::new());
    for (boundary, mounts) in plan.boundaries.iter().zip(protected) {
        // A new file may have the number of one that was removed, and what was mounted over that is gone with it.
        let read_only = mounts.read_only.iter().map(|file| &file.path);
        let sockets = mounts.masked_sockets.iter().map(|socket| &socket.path);
        let hidden = mounts.hidden.iter().map(|hidden| &hidden.path);
        for path in mounts.pins.iter().chain(read_only).chain(sockets).chain(hidden) {
            let found = fs::symlink_metadata(boundary.host.join(path));
            let since = found.and_then(|found| found.created()).ok();
            made.push(since.and_then(|since| since.duration_since(UNIX_EPOCH).ok()));
        }
        for point in mountinfo::beneath(&boundary.host).map_err(failed)? {
            // One that has gone meanwhile is not there for the next one either.
            let found = fs::symlink_metadata(&point).map(|found| (found.dev(), found.ino())).ok();
            nested.push((point.into_os_string().into_encoded_bytes(), found));
        }
    }
    let bytes = postcard::to_allocvec(&(expected, nested, made));
    Ok(digest(&bytes.map_err(|error| failed(io::Error::other(error)))?))
}

fn digest(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}
