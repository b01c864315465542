//! What no container can do, or would do to the host: refused before anything is touched.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use policy::plan::{Boundary, BoundaryKind, Container, Execution, Init, Plan};
use policy::rules::rootfs::TMPFS_PATHS;
use policy::text::escape;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::identity::Mounter;
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::root::Root;
use crate::engine::image::Image;
use crate::engine::kind::EngineKind;
use crate::host::beneath;
use crate::host::identity::Identity;
use crate::session::error::StartError;

/// Returns the plan's container, unless it requests what no engine can do.
pub(super) fn refuse_unsupported(plan: &Plan) -> Result<&Container, StartError> {
    if plan.agent.init == Init::Exec {
        return Err(StartError::refused(
            "agent.init = false",
            "the container needs the entrypoint as PID 1, which ends everything when the client is gone",
            "agent.init = true",
        ));
    }
    plan.container
        .as_ref()
        .ok_or_else(|| StartError::refused("a container", "the plan names no image", "name one in [image]"))
}

/// Refuses to keep programs of a shared directory from being executed where Docker mounts it: it has no option for that.
pub(super) fn refuse_no_exec(plan: &Plan, kind: EngineKind, mounter: Mounter) -> Result<(), StartError> {
    let is_docker = kind == EngineKind::Docker && mounter != Mounter::Client;
    let is_no_exec = |boundary: &&Boundary| boundary.execution == Execution::Refused;
    match plan.boundaries.iter().find(is_no_exec).filter(|_| is_docker) {
        None => Ok(()),
        Some(boundary) => Err(StartError::refused(
            format!("noexec for shared directory \"{}\"", boundary.name),
            "Docker mounts it, and has no such option",
            "choose --provider native or podman, or call sandboxctl as root, which mounts it itself",
        )),
    }
}

/// Refuses to have an engine mount over a path that is not UTF-8: it would take that for another path, and make that one on the host.
pub(super) fn refuse_not_text(plan: &Plan, protected: &[Mounts], mounter: Mounter) -> Result<(), StartError> {
    if mounter == Mounter::Client {
        return Ok(());
    }
    for (boundary, mounts) in plan.boundaries.iter().zip(protected) {
        let read_only = mounts.read_only.iter().map(|file| &file.path);
        let covered = mounts.masked_sockets.iter().map(|socket| &socket.path);
        let covered = covered.chain(mounts.hidden.iter().map(|hidden| &hidden.path));
        let mut mounted = mounts.pins.iter().chain(read_only).chain(covered);
        if let Some(path) = mounted.find(|path| path.to_str().is_none()) {
            return Err(StartError::refused(
                format!("shared directory \"{}\"", boundary.name),
                format!(
                    "{} is to be protected or hidden, and has a name that is not UTF-8, by which no engine mounts anything",
                    escape::path(path)
                ),
                "rename it, choose --provider native, or call sandboxctl as root, which mounts it itself",
            ));
        }
    }
    Ok(())
}

/// Trees that the kernel makes, which no image adds anything to.
const OF_THE_KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Refuses an image that would have the engine put something of its own where the agent may write: nothing bounds it, and
/// beneath a shared directory it would leave a directory of root's on the host. Or where the kernel answers: it would
/// answer in the kernel's place.
pub(super) fn refuse_volumes(plan: &Plan, name: &str, image: &Image) -> Result<(), StartError> {
    let guests = plan.boundaries.iter().map(|boundary| boundary.guest.as_path());
    let ours: Vec<&Path> = guests.chain(TMPFS_PATHS.map(Path::new)).collect();
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
        Some((volume, reason)) => Err(StartError::refused(
            format!("image {name}"),
            format!("its VOLUME {} {reason}", escape::path(&volume)),
            "take that VOLUME out of its Dockerfile",
        )),
    }
}

/// Refuses what is shared within a shared directory that has no mount point for it. An engine would make a mount point
/// that is missing, as root and on the host's disk, also where only root may make anything. It is opened for with the rights
/// that the agent has there, and through no link.
pub(super) fn refuse_missing_mount_points(plan: &Plan, caller: Identity) -> Result<(), StartError> {
    for boundary in &plan.boundaries {
        let Some((outer, point)) = around(plan, boundary) else { continue };
        let asked = format!("shared directory \"{}\" at {}", boundary.name, escape::path(&boundary.guest));
        let failed = |source| StartError::Step { step: asked.clone(), source, remedy: None };
        let root = Root::open(outer, caller).map_err(|error| failed(io::Error::other(error)))?;
        let opened =
            root.enter().map(|root| find_mount_point(&root, point, boundary.kind)).map_err(failed)?;
        opened.map_err(|errno| {
            let host = escape::path(&outer.host);
            let reason = match errno {
                Errno::NOENT => match boundary.kind {
                    BoundaryKind::Directory | BoundaryKind::Home => format!("`{host}` has no such directory"),
                    BoundaryKind::File => format!("`{host}` has no such file"),
                },
                Errno::NOTDIR | Errno::LOOP => format!("there is a link or a file on the way in `{host}`"),
                Errno::ISDIR => format!("it is a directory in `{host}`, on which no file can be mounted"),
                errno => format!("it cannot be opened for in `{host}`: {errno}"),
            };
            let remedy = "a mount point inside a shared directory must exist on the host: create it first, or choose another guest \
                          path";
            StartError::refused(asked.as_str(), reason, remedy)
        })?;
    }
    Ok(())
}

/// Looks for a mount point beneath the root of a boundary: nothing but a directory is one for a directory, and nothing but a file
/// for a file.
fn find_mount_point(root: impl AsFd, point: &Path, kind: BoundaryKind) -> Result<(), Errno> {
    match kind {
        BoundaryKind::Directory | BoundaryKind::Home => beneath::directory(root, point).map(drop),
        BoundaryKind::File => match FileType::from_raw_mode(beneath::stat(root, point)?.st_mode) {
            FileType::Symlink => Err(Errno::LOOP),
            FileType::Directory => Err(Errno::ISDIR),
            _ => Ok(()),
        },
    }
}

/// Returns the innermost other boundary that a boundary is mounted in, and where in it.
fn around<'a>(plan: &'a Plan, boundary: &'a Boundary) -> Option<(&'a Boundary, &'a Path)> {
    let others = plan.boundaries.iter().filter(|outer| outer.guest != boundary.guest);
    let within = others.filter_map(|outer| Some((outer, boundary.guest.strip_prefix(&outer.guest).ok()?)));
    within.max_by_key(|(outer, _)| outer.guest.components().count())
}
