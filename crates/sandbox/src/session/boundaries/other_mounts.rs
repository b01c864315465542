//! Other mounts of what is hidden or protected: a directory that is mounted more than once is reached by several paths, and a mount of ours
//! covers one of them.

use std::path::{Path, PathBuf};

use confine::mount::mountinfo;
use policy::plan::{Boundary, BoundaryKind, BoundaryMode, FileId, Plan};
use policy::text::escape;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::coverage::Coverage;
use super::search_in::search_in;
use crate::boundary::protect::mounts::{FileKind, Mounts, ReadOnly};
use crate::host::beneath;
use crate::host::identity::Identity;
use crate::session::error::StartError;

/// Another path by which something, or a part of it, is reached.
pub(super) struct OtherMount {
    /// The number of what is reached.
    pub(super) of: usize,
    /// The path on the host.
    pub(super) path: PathBuf,
    pub(super) file_id: FileId,
    pub(super) kind: FileKind,
    /// The number of a boundary that the path lies in, and the path there. It is empty where the boundary lies at the path, or beneath it.
    shown: Option<(usize, PathBuf)>,
}

/// Finds the other paths of these files and directories: in each boundary, and those that lead to none.
pub(super) fn find(
    plan: &Plan,
    caller: Identity,
    all: &[(&Path, FileId, FileKind)],
) -> Result<Vec<OtherMount>, StartError> {
    let paths: Vec<&Path> = all.iter().map(|(path, ..)| *path).collect();
    let others = mountinfo::other_paths(&paths).map_err(StartError::step("reading what is mounted"))?;
    let mut found = Vec::new();
    let of_all =
        others.iter().enumerate().flat_map(|(of, others)| others.iter().map(move |other| (of, other)));
    for (of, other) in of_all {
        let (_, file_id, kind) = all[of];
        let by_other = |shown| OtherMount { of, path: other.path.clone(), file_id, kind, shown };
        let boundaries = plan.boundaries.iter().enumerate();
        let mut is_shown = false;
        for (number, boundary) in boundaries.filter(|(_, one)| one.kind == BoundaryKind::Directory) {
            match other.path.strip_prefix(&boundary.host) {
                Ok(path) => {
                    is_shown = true;
                    let Some(stat) = stat(boundary, caller, path)? else { continue };
                    let there = beneath::file_id(&stat);
                    // Something else may be mounted over it.
                    if there == file_id || (!other.is_whole() && there.device == file_id.device) {
                        let kind = FileType::from_raw_mode(stat.st_mode).into();
                        found.push(OtherMount {
                            file_id: there,
                            kind,
                            ..by_other(Some((number, path.to_owned())))
                        });
                    }
                }
                Err(_) if boundary.host.starts_with(&other.path) => {
                    is_shown = true;
                    found.push(by_other(Some((number, PathBuf::new()))));
                }
                Err(_) => {}
            }
        }
        if !is_shown {
            found.push(by_other(None));
        }
    }
    Ok(found)
}

/// Makes what is protected read-only at its other paths, too, and notes where that cannot be.
pub(super) fn protect(
    plan: &Plan,
    caller: Identity,
    all: &mut [Mounts],
    coverage: &mut Coverage,
) -> Result<(), StartError> {
    let is_writable =
        |one: &Boundary| one.kind == BoundaryKind::Directory && one.mode == BoundaryMode::ReadWrite;
    let protected: Vec<(PathBuf, ReadOnly)> = plan
        .boundaries
        .iter()
        .zip(all.iter())
        .filter(|(boundary, _)| is_writable(boundary))
        .flat_map(|(boundary, mounts)| {
            mounts.read_only.iter().map(|one| (boundary.host.join(&one.path), one.clone()))
        })
        .collect();
    let known: Vec<_> = protected.iter().map(|(host, one)| (host.as_path(), one.file_id, one.kind)).collect();
    for other in find(plan, caller, &known)? {
        let Some((number, path)) = other.shown else { continue };
        let (boundary, mounts) = (&plan.boundaries[number], &mut all[number]);
        let covered = mounts.read_only.iter().map(|one| &one.path);
        let mut covered = covered.chain(mounts.hidden.iter().map(|one| &one.path));
        if !is_writable(boundary) || covered.any(|covered| path.starts_with(covered)) {
            continue;
        }
        let (host, one) = &protected[other.of];
        if path == Path::new("") {
            let what =
                format!("by another mount it is, or lies in, {}, which is protected", escape::path(host));
            coverage.add_unprotected(boundary, &what);
            continue;
        }
        let kept = ReadOnly { path, file_id: other.file_id, kind: other.kind, ..one.clone() };
        *mounts = std::mem::take(mounts).keeping(vec![kept]);
    }
    Ok(())
}

/// Asks for what is at a path, without following a link there. Where nobody has a way, nothing is shown.
fn stat(boundary: &Boundary, caller: Identity, path: &Path) -> Result<Option<rustix::fs::Stat>, StartError> {
    search_in(boundary, caller, "other mounts of what is hidden or protected", |root| {
        let stat = match path.file_name() {
            Some(_) => beneath::stat(root, path),
            None => rustix::fs::fstat(root),
        };
        match stat {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => Ok(None),
            stat => Ok(Some(stat?)),
        }
    })
}
