//! Where a path leads: component by component and link by link, as the kernel would, without opening anything.
//!
//! A path may leave the boundary and come back: `../workspace/x` is `x`. What lies outside is only asked whether it is a
//! link.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, FsWord, PROC_SUPER_MAGIC};
use rustix::io::Errno;

use crate::boundary::protect::reach::Base;
use crate::boundary::protect::search::progress::{Leads, OnHost, Search};
use crate::host::beneath;

/// The longest path that the kernel opens (`PATH_MAX`), and how many parts one may have that is looked up part by part.
pub(super) const MAX_PATH: usize = 4096;
pub(super) const MAX_COMPONENTS: usize = 256;

/// How many links are followed before they are taken for a circle, as the kernel does.
const MAX_LINKS: usize = 40;

/// The bits of a mode that let others than the owner write.
const OTHERS_WRITE: u32 = 0o022;

/// The bit of a directory's mode that lets only the owners of its files remove them, as in `/tmp`.
const STICKY: u32 = 0o1000;

/// autofs, see statfs(2): to look a name up there mounts something.
const AUTOFS: FsWord = 0x0187;

/// File systems in which entries appear without anybody who may write there: those of the kernel, autofs, and tmpfs, which `/dev`
/// and `/run` are.
const MADE_UP: [FsWord; 6] = [PROC_SUPER_MAGIC, 0x6265_6572, AUTOFS, 0x0102_1994, 0x1cd1, 0x6367_7270];

/// File systems in which a look-up of any name asks a daemon, or hosts that the name says: autofs, FUSE, AFS and kAFS. An agent
/// could have a name looked up that holds what it has read.
const ASKS_OTHERS: [FsWord; 4] = [AUTOFS, 0x6573_5546, 0x5346_414f, 0x6b41_4653];

/// A place on the way, which has no links.
enum Position {
    Inside(PathBuf),
    Outside(PathBuf),
}

impl Search<'_> {
    /// Resolves `path`, seen from `base` in the boundary.
    pub(crate) fn resolve(&self, base: &Path, path: &Path) -> Result<Leads, Errno> {
        self.resolve_past(base, path, |_| ())
    }

    /// Resolves what leads programs elsewhere, and notes what is no link on the way, also where nothing is yet: a link that comes to lie
    /// there was not there, however old it is. An agent can rename a directory around it.
    pub(crate) fn lead(&mut self, base: &Path, path: &Path) -> Result<Leads, Errno> {
        let mut passed = Vec::new();
        let leads = self.resolve_past(base, path, |path| passed.push(path.to_path_buf()));
        if let Ok(Leads::Nowhere { missing } | Leads::Unfollowed { missing: Some(missing), .. }) = &leads {
            let around = missing.ancestors().take_while(|path| *path != Path::new(""));
            passed.extend(around.map(Path::to_path_buf));
        }
        for path in passed {
            self.reach.note(Base::Passed(path), []);
        }
        leads
    }

    fn resolve_past(&self, base: &Path, path: &Path, mut pass: impl FnMut(&Path)) -> Result<Leads, Errno> {
        // No program opens it, and to list what lies above each part of it would take hours.
        if path.as_os_str().len() > MAX_PATH || path.components().nth(MAX_COMPONENTS).is_some() {
            return Err(Errno::NAMETOOLONG);
        }
        let mut at = Position::Inside(base.to_path_buf());
        let mut links = Vec::new();
        let mut ahead = VecDeque::new();
        self.turn(&mut at, &mut ahead, path);
        let mut found = None;
        let mut followed = 0;
        while let Some(component) = ahead.pop_front() {
            found = None;
            let target = match &mut at {
                Position::Inside(path) if component == ".." => {
                    if !path.pop() {
                        at = Position::Outside(self.host.parent().unwrap_or(Path::new("/")).into());
                    }
                    continue;
                }
                Position::Outside(path) if component == ".." => {
                    path.pop();
                    continue;
                }
                Position::Inside(path) => {
                    path.push(&component);
                    let stat = match beneath::stat(self.root, path) {
                        Ok(stat) => stat,
                        Err(Errno::NOENT | Errno::NOTDIR) => {
                            let missing = path.iter().chain(ahead.iter().map(OsString::as_os_str)).collect();
                            return Ok(if followed == 0 {
                                Leads::Nowhere { missing }
                            } else {
                                Leads::Unfollowed { links, host: OnHost::Unknown, missing: Some(missing) }
                            });
                        }
                        Err(errno) => return Err(errno),
                    };
                    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
                        found = Some(stat);
                        pass(path);
                        continue;
                    }
                    links.push(path.clone());
                    let target = beneath::read_link(self.root, path)?;
                    path.pop();
                    target
                }
                Position::Outside(path) => {
                    let parent = path.clone();
                    path.push(&component);
                    if path == self.host {
                        at = Position::Inside(PathBuf::new());
                        continue;
                    }
                    match outside(&parent, path) {
                        // By now it is known that to look it up asks nobody.
                        Ok(None) => {
                            if let Some(inside) = self.mounted.leads(path) {
                                at = Position::Inside(inside);
                            }
                            continue;
                        }
                        Ok(Some(target)) => {
                            path.pop();
                            target
                        }
                        Err(host) => return Ok(Leads::Unfollowed { links, host, missing: None }),
                    }
                }
            };
            followed += 1;
            if followed > MAX_LINKS {
                return Ok(unfollowed(links));
            }
            self.turn(&mut at, &mut ahead, &target);
        }
        let Position::Inside(at) = at else { return Ok(unfollowed(links)) };
        let stat = match found {
            Some(stat) => stat,
            None if at == Path::new("") => rustix::fs::fstat(self.root)?,
            None => beneath::stat(self.root, &at)?,
        };
        Ok(Leads::To { path: at, stat: Box::new(stat), links })
    }

    /// Puts the components of a path before those that are still ahead.
    fn turn(&self, at: &mut Position, ahead: &mut VecDeque<OsString>, path: &Path) {
        let mut rest = path;
        if path.is_absolute() {
            // The boundary's own path has no links, so the way to it need not be walked.
            (*at, rest) = match path.strip_prefix(self.host) {
                Ok(inside) => (Position::Inside(PathBuf::new()), inside),
                Err(_) => (Position::Outside("/".into()), path),
            };
        }
        let wanted = |part: &Component| matches!(part, Component::Normal(_) | Component::ParentDir);
        for part in rest.components().filter(wanted).rev() {
            ahead.push_front(part.as_os_str().to_owned());
        }
    }
}

/// Why a path out of the boundary was not resolved.
pub(super) enum Unresolved {
    /// Nothing is at this path, or it may not be seen.
    Missing { at: PathBuf },
    /// To look it up would ask a daemon or other hosts, or it leads each process elsewhere, or in a circle.
    Unknown,
}

/// Resolves a path that an agent may have written, seen from a directory without links: to one without links, without asking
/// anybody but the kernel.
pub(super) fn canonical(base: &Path, path: &Path) -> Result<PathBuf, Unresolved> {
    let names = |path: &Path| -> Vec<OsString> {
        let wanted = |part: &Component| matches!(part, Component::Normal(_) | Component::ParentDir);
        path.components().filter(wanted).map(|part| part.as_os_str().to_owned()).collect()
    };
    if path.as_os_str().len() > MAX_PATH {
        return Err(Unresolved::Unknown);
    }
    let mut at = if path.is_absolute() { PathBuf::from("/") } else { base.to_owned() };
    let mut ahead: VecDeque<OsString> = names(path).into();
    let mut followed = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        let found = at.join(name);
        let is_there = || match found.symlink_metadata().map_err(|error| error.kind()) {
            Err(ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied) => {
                Unresolved::Missing {
                    at: found.iter().chain(ahead.iter().map(OsString::as_os_str)).collect(),
                }
            }
            Ok(_) | Err(_) => Unresolved::Unknown,
        };
        if asks_others(&at) {
            return Err(Unresolved::Unknown);
        }
        let Some(target) = outside(&at, &found).map_err(|_| is_there())? else {
            at = found;
            continue;
        };
        followed += 1;
        if followed > MAX_LINKS {
            return Err(Unresolved::Unknown);
        }
        if target.is_absolute() {
            at = "/".into();
        }
        for name in names(&target).into_iter().rev() {
            ahead.push_front(name);
        }
    }
    Ok(at)
}

/// Returns whether a look-up in a directory asks others, or may.
pub(super) fn asks_others(directory: &Path) -> bool {
    match rustix::fs::statfs(directory) {
        Ok(system) => ASKS_OTHERS.contains(&system.f_type),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => false,
        Err(_) => true,
    }
}

fn unfollowed(links: Vec<PathBuf>) -> Leads {
    Leads::Unfollowed { links, host: OnHost::Unknown, missing: None }
}

/// Reads the link at a path outside the boundary, if it is one. Those of `/proc` lead each process elsewhere.
fn outside(parent: &Path, path: &Path) -> Result<Option<PathBuf>, OnHost> {
    if asks_others(parent) {
        return Err(OnHost::Unknown);
    }
    let metadata = path.symlink_metadata().map_err(|error| {
        let roots = parent.metadata().ok().filter(|parent| parent.uid() == 0).map(|parent| parent.mode());
        match roots.filter(|_| error.kind() == std::io::ErrorKind::NotFound) {
            Some(mode) if mode & OTHERS_WRITE == 0 && is_kept(parent) => OnHost::Nothing,
            Some(mode) if mode & STICKY != 0 => OnHost::NothingYet,
            _ => OnHost::Unknown,
        }
    })?;
    if !metadata.is_symlink() {
        return Ok(None);
    }
    match rustix::fs::statfs(parent) {
        Ok(system) if system.f_type != PROC_SUPER_MAGIC => {
            path.read_link().map(Some).map_err(|_| OnHost::Unknown)
        }
        _ => Err(OnHost::Unknown),
    }
}

/// Returns whether a directory has only what somebody has made in it. Elsewhere the kernel, or a daemon of root's, makes
/// entries for anybody: a process in `/proc`, a device, a mount of autofs, a directory in `/run`.
fn is_kept(directory: &Path) -> bool {
    let is_root = directory == Path::new("/");
    rustix::fs::statfs(directory).is_ok_and(|system| is_root || !MADE_UP.contains(&system.f_type))
}
