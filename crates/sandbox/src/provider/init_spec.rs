//! What the init spec holds, whoever makes the rootfs.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use confine::kernel_file::namespace_inode;
use confine::protocol::{
    CommandSpec, EnvEntry, Expectations, ExpectedMount, Grant, InitSpec, Interception, LandlockAccess,
    MountedFile, ProcessLimits, Rootfs, Terminal,
};
use confine::report::{Report, Status};
use policy::plan::{BoundaryMode, Layer, Need, Plan, Provider};
use policy::rules::rootfs::{DEVICES, TMPFS_PATHS};

use super::launch::StayLaunch;
use crate::session::children;
use crate::session::environment::umask;
use crate::session::error::StartError;
use crate::session::remedy;
use crate::session::streams::Streams;
use crate::state::sandboxes::FirstCommand;

/// Makes the init spec. An engine has made the namespace of users: the socket of PID 1 has shown whose they are.
pub(super) fn of(
    plan: &Plan,
    rootfs: Rootfs,
    command: Option<CommandSpec>,
    of_streams: impl IntoIterator<Item = Grant>,
    (uid, uid_inside): (u32, u32),
    mounts: Vec<ExpectedMount>,
    interception: Option<Interception>,
) -> Result<InitSpec, StartError> {
    let is_asked = |layer: &Layer| *layer != Layer::User || matches!(rootfs, Rootfs::Own { .. });
    let names = Expectations::NAMESPACES.into_iter().filter(|(_, layer)| is_asked(layer));
    let namespaces: io::Result<Vec<_>> =
        names.map(|(name, _)| Ok((name.to_owned(), namespace_inode(name)?))).collect();
    Ok(InitSpec {
        command,
        stay: None,
        sockets: children::listening_at(plan),
        grants: grants(plan).into_iter().chain(of_streams).collect(),
        interception,
        git: plan.git.clone(),
        expected: Expectations {
            foreign_namespaces: namespaces
                .map_err(StartError::step("reading the namespaces of this process"))?,
            uid,
            uid_inside,
            network: plan.network.mode(),
            mounts,
        },
        required: required_inside(plan),
        rootfs,
    })
}

/// Returns the first command, if the sandbox has one.
pub(super) fn command(
    plan: &Plan,
    env: impl FnOnce() -> Vec<EnvEntry>,
    streams: &Streams,
    terminal: Option<Terminal>,
    stay: Option<StayLaunch<'_>>,
) -> Result<Option<CommandSpec>, StartError> {
    if stay.is_some_and(|stay| stay.plan.command == FirstCommand::None) {
        return Ok(None);
    }
    Ok(Some(CommandSpec {
        argv: plan.agent.argv.iter().map(|argument| argument.as_bytes().to_vec()).collect(),
        env: env(),
        workdir: plan.agent.workdir.clone(),
        umask: umask().map_err(StartError::step("reading the umask of this process"))?,
        process_limits: ProcessLimits::of(&plan.limits),
        terminal,
        passed: streams.passed_as(),
    }))
}

/// Lists the boundaries as PID 1 must find them.
pub(super) fn boundaries(plan: &Plan) -> impl Iterator<Item = ExpectedMount> + '_ {
    plan.boundaries.iter().map(|boundary| ExpectedMount {
        path: boundary.guest.clone(),
        file: MountedFile::Validated(boundary.file_id),
        mode: boundary.mode,
        execution: boundary.execution,
    })
}

/// Returns the layers without which PID 1 executes nothing.
fn required_inside(plan: &Plan) -> Vec<Layer> {
    required(plan).filter(|layer| is_seen_from_inside(*layer)).collect()
}

/// Refuses to go on without a required layer of which only the outside knows.
pub(crate) fn refuse_missing(plan: &Plan, outside: &Report) -> Result<(), StartError> {
    for layer in required(plan).filter(|layer| !is_seen_from_inside(*layer)) {
        match outside.layer(layer) {
            Some(line) if line.status == Status::Enforced => {}
            Some(line) => return Err(remedy::layer(plan.provider, layer, line.reason.clone())),
            None => {
                return Err(remedy::layer(
                    plan.provider,
                    layer,
                    "nothing of it was asked for: no limit is set".into(),
                ));
            }
        }
    }
    Ok(())
}

/// Lists what landlock lets the agent do: read what there is to see, write where the plan says so and to what ends with
/// the sandbox.
fn grants(plan: &Plan) -> Vec<Grant> {
    let grant = |path: &Path, access| Grant { path: path.to_owned(), access };
    let writable = plan.boundaries.iter().filter(|boundary| boundary.mode == BoundaryMode::ReadWrite);
    // The terminal takes calls of ioctl, too.
    let devices: Vec<PathBuf> =
        DEVICES.iter().filter(|name| **name != "tty").map(|name| Path::new("/dev").join(name)).collect();
    // Programs describe themselves to the kernel in /proc: their name, their place in the order of the OOM killer. What is not
    // theirs is not writable for them, but for triggers of pressure: others mount something over these, and Docker has no
    // option for that. No rule grants a directory without what lies in it.
    let processes =
        (plan.provider != Provider::Docker).then_some((Path::new("/proc"), LandlockAccess::ReadWrite));
    [
        (Path::new("/"), LandlockAccess::ReadExecute),
        (Path::new("/dev/pts"), LandlockAccess::Terminal),
        (Path::new("/dev/tty"), LandlockAccess::Terminal),
    ]
    .into_iter()
    .chain(processes)
    .chain(devices.iter().map(|path| (path.as_path(), LandlockAccess::ReadWrite)))
    .chain(TMPFS_PATHS.iter().map(|path| (Path::new(path), LandlockAccess::ReadWrite)))
    .chain(writable.map(|boundary| (boundary.guest.as_path(), LandlockAccess::ReadWrite)))
    .map(|(path, access)| grant(path, access))
    .collect()
}

fn required(plan: &Plan) -> impl Iterator<Item = Layer> + '_ {
    plan.layers.iter().filter(|(_, need)| **need == Need::Required).map(|(layer, _)| *layer)
}

/// Returns whether PID 1 can probe a layer. The others can only be seen from outside.
fn is_seen_from_inside(layer: Layer) -> bool {
    layer <= Layer::Capabilities
}
