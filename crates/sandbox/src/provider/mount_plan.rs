//! The mounts of a native sandbox, in the order in which they are made.

use std::collections::HashSet;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use confine::init::clone::Ids;
use confine::protocol::{BindSource, Cover, MountAccess, MountPlan};
use policy::config::defaults::HOME;
use policy::plan::{Boundary, BoundaryKind, BoundaryMode, Execution, FileId, Plan};
use policy::rules::limits::TmpfsLimits;
use policy::rules::network::egress::DNS;
use policy::rules::rootfs::{DEVICES, ETC, HOST_SYSTEM, PRESSURE, TMPFS_PATHS};
use rustix::fs::FileType;

use crate::boundary::protect::mounts::Mounts;

/// How something of the host is shown.
pub(crate) enum Tree {
    /// By its path, which is opened again inside and must still be the same directory.
    Path,
    /// As a detached tree whose owners are mapped already.
    Detached(OwnedFd),
}

/// Plans the mounts that every sandbox has, and that PID 1 makes before the plan is known.
pub(crate) fn system_mounts(agent: Ids) -> io::Result<(MountPlan, MountPlanBuilder)> {
    let mut builder = MountPlanBuilder::default();

    // 1. The system. On merged systems /bin is a link into /usr; it stays one.
    for path in HOST_SYSTEM {
        builder.host(Path::new(path))?;
    }
    // 2. An /etc of its own, with what programs need of the host's.
    for path in ETC {
        builder.host(Path::new(path))?;
    }
    for (name, content) in etc(agent) {
        builder.file(&Path::new("/etc").join(name), &content);
    }
    // 3. Devices and processes.
    for name in DEVICES {
        builder.device(name);
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        builder.symlink(&Path::new("/dev").join(name), Path::new(target));
    }
    builder.directory(Path::new("/dev/pts"));
    builder.plan.devpts("dev/pts");
    builder.directory(Path::new("/proc"));
    builder.plan.proc("proc");
    // Every process may set triggers by writing there, and the kernel waits for each when it goes, after the end of the sandbox
    // too. Kernels without PSI have no such directory.
    if Path::new(PRESSURE).exists() {
        builder.plan.bind(BindSource::Itself, PRESSURE, MountAccess::ReadOnly, None);
    }
    Ok((builder.plan.part(), builder))
}

/// Plans the mounts over the rootfs of an engine, which has a mount point for each boundary: the boundaries, outer before
/// inner, and right after each what is protected in it.
pub(crate) fn boundary_mounts(plan: &Plan, trees: Vec<Tree>, protected: &[Mounts]) -> io::Result<MountPlan> {
    let mut mounts = MountPlan::default();
    let mut boundaries: Vec<_> = plan.boundaries.iter().zip(trees).zip(protected).collect();
    boundaries.sort_by_key(|((boundary, _), _)| boundary.guest.components().count());
    for ((boundary, tree), protected) in boundaries {
        let source = tree.source(&boundary.host)?;
        mounts.bind(source, bytes(&boundary.guest), access(boundary), Some(boundary.file_id));
        protect(&mut mounts, &boundary.guest, protected);
    }
    Ok(mounts)
}

/// Pins every directory on the way to a protected path, then makes the path itself read-only.
fn protect(mounts: &mut MountPlan, guest: &Path, protected: &Mounts) {
    for pin in &protected.pins {
        mounts.bind(BindSource::Itself, bytes(&guest.join(pin)), MountAccess::ReadWrite, None);
    }
    for file in &protected.read_only {
        let path = guest.join(&file.path);
        mounts.bind(BindSource::Itself, bytes(&path), MountAccess::ReadOnly, Some(file.file_id));
    }
    for socket in &protected.masked_sockets {
        mounts.mask(bytes(&guest.join(&socket.path)), socket.file_id, Cover::Nothing);
    }
    for hidden in &protected.hidden {
        mounts.mask(bytes(&guest.join(&hidden.path)), hidden.file_id, hidden.cover());
    }
}

/// Returns what the agent may do through the mount of a boundary.
pub(crate) fn access(boundary: &Boundary) -> MountAccess {
    match (boundary.execution, boundary.mode) {
        (Execution::Allowed, BoundaryMode::ReadOnly) => MountAccess::ReadOnly,
        (Execution::Allowed, BoundaryMode::ReadWrite) => MountAccess::ReadWrite,
        (Execution::Refused, mode) => MountAccess::NoExec(mode),
    }
}

/// What something can be mounted on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum MountPointKind {
    Directory,
    File,
}

impl MountPointKind {
    fn like(is_directory: bool) -> Self {
        if is_directory { Self::Directory } else { Self::File }
    }
}

impl Tree {
    /// Returns what it can be mounted on. Root does not look at its path again, which may lead elsewhere by now.
    fn kind(&self, host: &Path) -> io::Result<MountPointKind> {
        let is_directory = match self {
            Self::Path => fs::metadata(host)?.is_dir(),
            Self::Detached(tree) => {
                FileType::from_raw_mode(rustix::fs::fstat(tree)?.st_mode) == FileType::Directory
            }
        };
        Ok(MountPointKind::like(is_directory))
    }

    fn source(self, host: &Path) -> io::Result<BindSource> {
        Ok(match self {
            Self::Path => BindSource::Host(c_path(host)?),
            Self::Detached(tree) => BindSource::Tree(tree),
        })
    }
}

/// Builds a mount plan, and adds parent directories by itself.
#[derive(Default)]
pub(crate) struct MountPlanBuilder {
    plan: MountPlan,
    made: HashSet<PathBuf>,
    /// What shows the host: there nothing can be made.
    bound: Vec<PathBuf>,
}

impl MountPlanBuilder {
    /// Plans room to write that ends with the sandbox: each tmpfs is limited as the plan says.
    pub(crate) fn temporary(&mut self, tmpfs: TmpfsLimits) -> MountPlan {
        // 4. Before all that may lie in it.
        for path in TMPFS_PATHS {
            self.directory(Path::new(path));
            self.plan.tmpfs(path, tmpfs, tmpfs_mode(path));
        }
        self.plan.part()
    }

    /// Completes the plan: `trees` and `protected` belong to its boundaries, `toolchains` to what it exposes.
    ///
    /// Where root calls, these are detached trees and not paths: PID 1 has left the root of the host by now (`pivot_root(2)`).
    pub(crate) fn complete(
        mut self,
        plan: &Plan,
        trees: Vec<Tree>,
        protected: &[Mounts],
        toolchains: Vec<Tree>,
    ) -> io::Result<MountPlan> {
        // 5. Toolchains, at the path where they were installed.
        for (exposed, tree) in plan.expose.iter().zip(toolchains) {
            let kind = tree.kind(&exposed.host)?;
            let source = tree.source(&exposed.host)?;
            self.bind(source, &exposed.guest, kind, MountAccess::ReadOnly, Some(exposed.file_id));
        }
        // Links among them come last, where no mount has them already.
        for link in &plan.links {
            self.symlink(&link.guest, &link.target);
        }
        // 6. The boundaries, outer before inner, and right after each what is protected in it.
        let mut boundaries: Vec<_> = plan.boundaries.iter().zip(trees).zip(protected).collect();
        boundaries.sort_by_key(|((boundary, _), _)| boundary.guest.components().count());
        for ((boundary, tree), protected) in boundaries {
            let source = tree.source(&boundary.host)?;
            let kind = MountPointKind::like(boundary.kind != BoundaryKind::File);
            self.bind(source, &boundary.guest, kind, access(boundary), Some(boundary.file_id));
            protect(&mut self.plan, &boundary.guest, protected);
        }
        Ok(self.plan)
    }

    /// Shows a path of the host as it is there, if it is there: a link stays a link, all else is read-only.
    fn host(&mut self, path: &Path) -> io::Result<()> {
        let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
        let kind = MountPointKind::like(metadata.is_dir());
        if metadata.is_symlink() {
            self.symlink(path, &fs::read_link(path)?);
            return Ok(());
        }
        self.bind(BindSource::Host(c_path(path)?), path, kind, MountAccess::ReadOnly, None);
        Ok(())
    }

    /// Binds onto a mount point of this kind.
    fn bind(
        &mut self,
        source: BindSource,
        guest: &Path,
        kind: MountPointKind,
        access: MountAccess,
        expected: Option<FileId>,
    ) {
        match kind {
            MountPointKind::Directory => self.directory(guest),
            MountPointKind::File => self.file(guest, ""),
        }
        self.plan.bind(source, bytes(guest), access, expected);
        self.bound.push(guest.to_path_buf());
    }

    fn device(&mut self, name: &str) {
        let path = Path::new("/dev").join(name);
        self.file(&path, "");
        self.plan.bind(
            BindSource::Host(c_path(&path).unwrap_or_default()),
            bytes(&path),
            MountAccess::Device,
            None,
        );
    }

    fn directory(&mut self, path: &Path) {
        self.parents(path);
        if self.make(path) {
            self.plan.directory(bytes(path), 0o755);
        }
    }

    fn file(&mut self, path: &Path, content: &str) {
        self.parents(path);
        if self.make(path) {
            self.plan.file(bytes(path), content, 0o644);
        }
    }

    fn symlink(&mut self, path: &Path, target: &Path) {
        self.parents(path);
        if self.make(path) {
            self.plan.symlink(bytes(path), bytes(target));
        }
    }

    fn parents(&mut self, path: &Path) {
        let mut parent = PathBuf::new();
        let components: Vec<_> = path.components().collect();
        for component in &components[..components.len().saturating_sub(1)] {
            parent.push(component);
            if matches!(component, Component::Normal(_)) && self.make(&parent) {
                self.plan.directory(bytes(&parent), 0o755);
            }
        }
    }

    /// Notes that `path` has to be created, and returns whether: it does not exist yet, and is not in a mount of the
    /// host's.
    fn make(&mut self, path: &Path) -> bool {
        let within = self.bound.iter().any(|bound| path.starts_with(bound) && path != bound);
        !within && self.made.insert(path.to_path_buf())
    }
}

/// Returns the mode of a tmpfs as on any Linux: what users share is sticky, the rest is its owner's.
fn tmpfs_mode(path: &str) -> &'static str {
    match path {
        "/dev/shm" | "/tmp" => "1777",
        _ => "0755",
    }
}

/// Lists the files of `/etc` that are created here.
fn etc(agent: Ids) -> [(&'static str, String); 7] {
    let Ids { uid, gid } = agent;
    [
        ("group", format!("agent:x:{gid}:\nnogroup:x:65534:\n")),
        ("hostname", format!("{HOSTNAME}\n")),
        ("hosts", format!("127.0.0.1 localhost {HOSTNAME}\n::1 localhost\n")),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n".into()),
        (
            "passwd",
            format!(
                "agent:x:{uid}:{gid}::{HOME}:/bin/bash\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"
            ),
        ),
        // Without a network nobody answers there, and a name is found to have no address at once.
        ("resolv.conf", format!("nameserver {}\n", DNS.ip())),
        ("shells", "/bin/sh\n/bin/bash\n".into()),
    ]
}

/// The name of the host inside.
pub(crate) const HOSTNAME: &str = "sandbox";

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

pub(crate) fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(bytes(path)).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use policy::rules::rootfs::OWN_ETC;

    use super::*;

    /// Checks that the rules know that these files are the sandbox's own.
    #[test]
    fn the_rules_list_every_file_of_etc_that_is_made() {
        let made = etc(Ids { uid: 1000, gid: 1000 }).map(|(name, _)| format!("/etc/{name}"));
        assert_eq!(made.as_slice(), OWN_ETC);
    }

    /// Checks that root does not report of any path whether it is there: the shared directory may be a link by now.
    #[test]
    fn the_path_of_an_open_tree_is_not_looked_at_again() {
        let top = tempfile::tempdir().unwrap();
        let gone = top.path().join("gone");
        assert!(Tree::Path.kind(&gone).is_err(), "the control");
        let open = |path: &Path| Tree::Detached(File::open(path).unwrap().into());
        assert_eq!(open(top.path()).kind(&gone).unwrap(), MountPointKind::Directory);
        fs::write(top.path().join("file"), "").unwrap();
        assert_eq!(open(&top.path().join("file")).kind(&gone).unwrap(), MountPointKind::File);
    }
}
