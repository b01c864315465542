//! Owners of shared files: what the sandbox writes belongs, on disk, to whoever owns the directory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use confine::file_id::file_id;
use confine::mount::detached_tree;
use confine::mount::idmap::{IdMap, user_namespace};
use confine::protocol::MountAccess;
use policy::plan::{Boundary, Exposed, Plan};
use policy::text::escape;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::boundary::root::Root;
use crate::host::acting::ActingAs;
use crate::host::beneath;
use crate::host::identity::{self, Identity};
use crate::provider::mount_plan::{Tree, access};
use crate::session::agent::Agent;
use crate::session::error::StartError;

/// The user namespaces by which boundaries are mapped, by whoever counts in those. They are dropped when nothing waits for it: each has
/// a process that has to end.
pub(crate) type IdMaps = HashMap<(Identity, u32), IdMap>;

/// Returns whether what is shared is opened out here, and PID 1 mounts none of it by its path: root can, and must.
pub(crate) fn makes_trees() -> bool {
    rustix::process::geteuid().is_root()
}

/// Makes the tree of each boundary, in order.
///
/// Where the agent is the caller, files are the caller's already. Where root chose an unallocated uid, each boundary is
/// mounted with whoever counts in it, its owner, mapped to the agent (`MOUNT_ATTR_IDMAP`, see `mount_setattr(2)`).
pub(crate) fn map_boundaries(
    plan: &Plan,
    caller: Identity,
    agent: &Agent,
    maps: &mut IdMaps,
) -> Result<Vec<Tree>, StartError> {
    if !makes_trees() {
        return Ok(plan.boundaries.iter().map(|_| Tree::Path).collect());
    }
    plan.boundaries.iter().map(|boundary| detach(boundary, caller, agent, maps).map(Tree::Detached)).collect()
}

/// Makes the tree of each exposed toolchain, in order. The client opens them, with the rights of the caller: they may lie where the agent
/// cannot walk to, as in `/root`. PID 1 mounts none but what was validated.
pub(crate) fn open_toolchains(plan: &Plan, caller: Identity) -> Result<Vec<Tree>, StartError> {
    if !makes_trees() {
        return Ok(plan.expose.iter().map(|_| Tree::Path).collect());
    }
    plan.expose
        .iter()
        .map(|exposed| {
            let tree = open(exposed, caller)
                .and_then(|origin| Ok(detached_tree(origin.as_fd(), MountAccess::ReadOnly, None)?));
            tree.map(Tree::Detached).map_err(|source| StartError::Step {
                step: format!("exposing {} for \"{}\"", escape::path(&exposed.host), exposed.name),
                source,
                remedy: None,
            })
        })
        .collect()
}

/// Opens what was validated, without following a link on the way.
fn open(exposed: &Exposed, caller: Identity) -> io::Result<OwnedFd> {
    let _acting = ActingAs::user(caller)?;
    let passage = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = rustix::fs::open("/", passage, Mode::empty())?;
    let path = exposed.host.strip_prefix("/").unwrap_or(&exposed.host);
    let (parent, name) = beneath::parent(root, path)?;
    let origin = rustix::fs::openat(parent, name, passage, Mode::empty())?;
    if file_id(&origin)? == exposed.file_id { Ok(origin) } else { Err(Errno::STALE.into()) }
}

/// Opens and detaches the tree as root: the agent may not be able to walk to it.
fn detach(
    boundary: &Boundary,
    caller: Identity,
    agent: &Agent,
    maps: &mut IdMaps,
) -> Result<OwnedFd, StartError> {
    let failed = |source: io::Error, remedy: Option<String>| StartError::Step {
        step: format!(
            "mapping the owner of shared directory \"{}\" ({})",
            boundary.name,
            escape::path(&boundary.host)
        ),
        source,
        remedy,
    };
    // The directory that was validated, and not whatever lies at its path by now.
    let root = Root::open(boundary, caller).map_err(|error| failed(io::Error::other(error), None))?;
    let map = if agent.is_unallocated {
        let (owner, group) = (root.user(), root.group());
        Some(match maps.entry((owner, group)) {
            Entry::Occupied(made) => made.into_mut(),
            Entry::Vacant(none) => {
                let mut groups = vec![(owner.gid, agent.gid)];
                if group != owner.gid {
                    // The agent is not in it. But the kernel lets nobody write where it does not know the group.
                    groups.push((group, identity::NOBODY));
                }
                let map =
                    user_namespace((owner.uid, agent.uid), &groups).map_err(|error| failed(error, None))?;
                none.insert(map)
            }
        })
    } else {
        None
    };
    root.detached_tree(access(boundary), map.as_ref().map(|map| map.as_fd())).map_err(|errno| {
        let remedy = map.is_some().then(|| {
            "its file system cannot map owners (overlayfs cannot, ext4, xfs, btrfs and tmpfs can): share a \
             directory of another file system, or run sandboxctl as the user who owns it"
                .to_owned()
        });
        failed(errno.into(), remedy)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::chown;
    use std::path::Path;

    use policy::plan::{BoundaryKind, BoundaryMode, Execution, FileId};

    use super::*;
    use crate::host::root_only::can_give_files_away;
    use crate::session::agent;

    #[test]
    fn the_owner_is_that_of_the_directory_that_was_validated() {
        if !can_give_files_away() {
            return;
        }
        let (top, locks) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = |name: &str| top.path().canonicalize().unwrap().join(name);
        for (name, owner) in [("shared", 4242), ("other", 5555)] {
            fs::create_dir(path(name)).unwrap();
            chown(path(name), Some(owner), Some(owner)).unwrap();
        }
        let stat = rustix::fs::stat(path("shared")).unwrap();
        let boundary = Boundary {
            name: "shared".into(),
            host: path("shared"),
            guest: Path::new("/workspace").into(),
            mode: BoundaryMode::ReadWrite,
            file_id: FileId { device: stat.st_dev, inode: stat.st_ino },
            obeyed_as: None,
            worktrees: Vec::new(),
            tools: policy::plan::ToolRules::default(),
            hide: Vec::new(),
            execution: Execution::Allowed,
            kind: BoundaryKind::Directory,
        };
        let root = Identity { uid: 0, gid: 0 };
        let agent = agent::choose(root, locks.path()).unwrap();
        assert!(agent.is_unallocated);
        let mut maps = HashMap::new();
        // Whether this file system can map owners is another question.
        let _ = detach(&boundary, root, &agent, &mut maps);
        assert_eq!(
            maps.keys().collect::<Vec<_>>(),
            [&(Identity { uid: 4242, gid: 4242 }, 4242)],
            "the control"
        );

        fs::rename(path("shared"), path("away")).unwrap();
        fs::rename(path("other"), path("shared")).unwrap();
        let mut maps = HashMap::new();
        let error = detach(&boundary, root, &agent, &mut maps).unwrap_err().to_string();
        assert!(error.contains("exchanged after it was validated"), "{error}");
        assert!(maps.is_empty(), "somebody else's files were mapped to the agent");
    }
}
