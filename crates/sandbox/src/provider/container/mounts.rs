//! What is mounted of shared directories: as PID 1 must find it, and by whom.

use std::io;
use std::path::Path;

use confine::mount::setns::{DistinctMount, SetnsError, mount_in};
use confine::protocol::{ExpectedMount, MountedFile};
use policy::plan::{BoundaryMode, Execution, Plan};

use super::identity::ContainerUser;
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::root::Root;
use crate::host::identity::Identity;
use crate::host::{beneath, init_program};
use crate::provider::idmap::{self, IdMaps};
use crate::provider::masks::{self, exchanged, holds};
use crate::provider::{init_spec, mount_plan};
use crate::session::error::StartError;
use crate::session::remedy;

/// Lists the boundaries and what is mounted over them, as PID 1 must find them. The engine mounts by path, and whoever
/// else writes in a boundary may lead it elsewhere meanwhile: so the directories on the way have to be the same, too.
pub(super) fn expected(
    plan: &Plan,
    caller: Identity,
    protected: &[Mounts],
) -> Result<Vec<ExpectedMount>, StartError> {
    let mut all: Vec<ExpectedMount> = init_spec::boundaries(plan).collect();
    for (boundary, mounts) in plan.boundaries.iter().zip(protected) {
        let failed = StartError::step("checking the mounts");
        let root = Root::open(boundary, caller).map_err(|error| failed(io::Error::other(error)))?;
        let root = root.enter().map_err(failed)?;
        let mut add = |path: &Path, file, mode| {
            let execution = match file {
                MountedFile::Validated(_) => boundary.execution,
                MountedFile::Mask { .. } | MountedFile::Hidden { .. } => Execution::Allowed,
            };
            all.push(ExpectedMount { path: boundary.guest.join(path), file, mode, execution });
        };
        for pin in &mounts.pins {
            let pinned = beneath::directory(&root, pin).and_then(rustix::fs::fstat);
            let pinned = pinned.map_err(|errno| failed(io::Error::other(exchanged(pin, errno))))?;
            add(pin, MountedFile::Validated(beneath::file_id(&pinned)), boundary.mode);
        }
        for file in &mounts.read_only {
            add(&file.path, MountedFile::Validated(file.file_id), BoundaryMode::ReadOnly);
        }
        for socket in &mounts.masked_sockets {
            let directory = holds(&root, &socket.path, socket.file_id).map_err(failed)?;
            add(&socket.path, MountedFile::Mask { directory }, BoundaryMode::ReadOnly);
        }
    }
    all.extend(masks::hidden(plan, caller, protected)?);
    Ok(all)
}

/// Mounts the boundaries in the container of the process `pid`, which is recognised by a mount that no other one has.
pub(super) fn mount_ourselves(
    plan: &Plan,
    user: &ContainerUser,
    caller: Identity,
    protected: &[Mounts],
    pid: i32,
    container: DistinctMount,
) -> Result<(), StartError> {
    if pid == 0 {
        return Err(StartError::refused(
            "a container of root's",
            "root mounts the shared directories itself, which takes the engine's own machine: this process is in a \
                     container itself",
            "call sandboxctl as a user other than root",
        ));
    }
    let mut maps = IdMaps::default();
    let trees = idmap::map_boundaries(plan, caller, &user.agent, &mut maps)?;
    let mounts = mount_plan::boundary_mounts(plan, trees, protected)
        .map_err(StartError::step("planning the mounts of the shared directories"))?;
    let program = init_program::in_memory().map_err(StartError::step("making the program of PID 1"))?;
    mount_in(&program, pid, container, mounts).map_err(|error| match error {
        SetnsError::Step { step, source } => remedy::failed_step(&step, source),
        SetnsError::Process(source) => StartError::step("mounting the shared directories")(source),
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::{BufRead, BufReader};
    use std::os::fd::AsFd;
    use std::process::{Command, Stdio};

    use confine::mount::detached_tree;
    use confine::protocol::{BindSource, MountAccess, MountPlan, Step};

    use super::*;
    use crate::host::root_only::can_give_files_away;

    /// Covers that another process has got the number of a PID 1 that was killed.
    #[test]
    fn nothing_is_mounted_in_another_mount_namespace_than_that_of_the_container() {
        if !can_give_files_away() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().canonicalize().unwrap().join(name);
        for name in ["rendezvous", "point", "shared", "target"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::write(path("shared/it"), "").unwrap();
        let rendezvous = File::open(path("rendezvous")).unwrap();
        let file = confine::file_id::file_id(&rendezvous).unwrap();
        let bind = format!("mount --bind {} {}", path("rendezvous").display(), path("point").display());
        for (is_container, script) in [(false, "true"), (true, bind.as_str())] {
            let script = format!("{script} && echo ready && read end");
            let mut other = Command::new("unshare")
                .args(["--mount", "--propagation", "private", "sh", "-c", &script])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut ready = String::new();
            BufReader::new(other.stdout.take().unwrap()).read_line(&mut ready).unwrap();
            assert_eq!(ready, "ready\n");

            let shared = File::open(path("shared")).unwrap();
            let tree = detached_tree(shared.as_fd(), MountAccess::ReadOnly, None).unwrap();
            let mut mounts = MountPlan::default();
            let target = path("target").into_os_string().into_encoded_bytes();
            mounts.bind(BindSource::Tree(tree), target, MountAccess::ReadOnly, None);
            let container = DistinctMount { path: path("point"), file };
            let number = i32::try_from(other.id()).unwrap();
            let mounted = mount_in(&init_program::in_memory().unwrap(), number, container, mounts);
            let target = path("target/it");
            let seen = format!("/proc/{number}/root{}", target.display());
            if is_container {
                mounted.unwrap();
                assert!(fs::exists(&seen).unwrap());
            } else {
                let refused = mounted.unwrap_err();
                assert!(matches!(refused, SetnsError::Step { step: Step::Container, .. }), "{refused}");
                assert!(!fs::exists(&seen).unwrap());
            }
            drop(other.stdin.take());
            other.wait().unwrap();
        }
    }
}
