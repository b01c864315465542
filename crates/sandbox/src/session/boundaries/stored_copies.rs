//! Copies of hidden files among the objects of git-lfs.
//!
//! Whoever writes `.gitattributes` names the filter of a file. With that of git-lfs, the next `git status` or `git diff` on the host stores
//! what is in a changed file by its SHA-256, where the next sandbox could read it.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use policy::plan::{Boundary, BoundaryKind, Plan};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::search_in::search_in;
use crate::boundary::hide::{HiddenOnHost, NamedByHash};
use crate::boundary::protect::mounts::FileKind;
use crate::boundary::root::Entered;
use crate::host::beneath;
use crate::host::deadline::Deadline;
use crate::host::identity::Identity;
use crate::session::error::StartError;

/// What is searched for, in words.
const WANTED: &str = "copies of what is hidden";

/// How much of a file is read at once.
const PIECE: usize = 64 << 10;

/// How many bytes of hidden files are read in all: some seconds. What has the size of a file that is not read counts as a copy of it. An agent can
/// make files of any size that take no space.
const MAX_READ: u64 = 1 << 30;

/// An object of git-lfs, by its name in lower case.
pub(super) type Object = (String, HiddenOnHost);

/// Objects by their sizes, which tell almost all of them apart.
#[derive(Default)]
pub(super) struct Objects(BTreeMap<u64, Vec<Object>>);

impl Objects {
    /// Adds those that were found in a boundary. An empty one holds nothing.
    pub(super) fn add(&mut self, boundary: &Boundary, found: Vec<NamedByHash>) {
        for NamedByHash { path, file_id, size } in found.into_iter().filter(|one| one.size > 0) {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let name = name.to_ascii_lowercase();
            let path = boundary.host.join(&path);
            let copy = HiddenOnHost { path, file_id, kind: FileKind::File, by: boundary.name.clone() };
            self.0.entry(size).or_default().push((name, copy));
        }
    }
}

/// Finds among objects the copies of what is hidden in the boundaries of a plan.
pub(super) fn find(
    plan: &Plan,
    caller: Identity,
    hidden: &[HiddenOnHost],
    Objects(mut objects): Objects,
    until: Deadline,
) -> Result<Vec<HiddenOnHost>, StartError> {
    let mut found = Vec::new();
    let mut left = MAX_READ;
    for boundary in plan.boundaries.iter().filter(|boundary| boundary.kind == BoundaryKind::Directory) {
        if objects.is_empty() {
            break;
        }
        search_in(boundary, caller, WANTED, |root| {
            for one in hidden.iter().filter_map(|one| one.path.strip_prefix(&boundary.host).ok()) {
                for (file, size) in files(root, one, &objects, until)? {
                    let Some(of_size) = objects.remove(&size) else { continue };
                    let content = match beneath::file(root, &file) {
                        Ok((content, _)) => Some(content),
                        // Whoever reads it may be another user.
                        Err(Errno::ACCESS | Errno::PERM) => None,
                        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                            objects.insert(size, of_size);
                            continue;
                        }
                        Err(errno) => return Err(errno.into()),
                    };
                    let (Some(content), Some(rest)) = (content, left.checked_sub(size)) else {
                        found.extend(of_size);
                        continue;
                    };
                    left = rest;
                    let sum = sum(std::fs::File::from(content).take(size))?;
                    let (same, others): (Vec<_>, Vec<_>) =
                        of_size.into_iter().partition(|(name, _)| *name == sum);
                    found.extend(same);
                    if !others.is_empty() {
                        objects.insert(size, others);
                    }
                }
            }
            Ok(())
        })?;
    }
    Ok(found.into_iter().map(|(_, copy)| copy).collect())
}

/// Lists what is hidden, a file or all files in a directory, as far as there are objects of their sizes.
fn files(
    root: &Entered<'_>,
    hidden: &Path,
    objects: &BTreeMap<u64, Vec<Object>>,
    until: Deadline,
) -> io::Result<Vec<(PathBuf, u64)>> {
    let all = match beneath::stat(root, hidden) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
            vec![(hidden.to_owned(), stat)]
        }
        Ok(_) => beneath_of(root, hidden, until)?,
        Err(Errno::NOENT | Errno::NOTDIR) => Vec::new(),
        Err(errno) => return Err(errno.into()),
    };
    let sizes = all.into_iter().map(|(path, stat)| (path, u64::try_from(stat.st_size).unwrap_or_default()));
    Ok(sizes.filter(|(_, size)| objects.contains_key(size)).collect())
}

/// Lists all regular files beneath a directory. What its owner cannot list is nothing that their git could have copied.
pub(super) fn beneath_of(
    root: &Entered<'_>,
    directory: &Path,
    until: Deadline,
) -> io::Result<Vec<(PathBuf, Stat)>> {
    let mut found = Vec::new();
    let mut ahead = vec![directory.to_owned()];
    while let Some(directory) = ahead.pop() {
        let listing = match beneath::listing(root, &directory) {
            Ok(listing) => listing,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => continue,
            Err(errno) => return Err(errno.into()),
        };
        for entry in beneath::entries(listing.as_fd())? {
            if until.is_over() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let (name, kind) = entry?;
            let path = directory.join(name);
            match kind {
                FileType::Directory => ahead.push(path),
                FileType::RegularFile => match beneath::stat(root, &path) {
                    Ok(stat) => found.push((path, stat)),
                    Err(Errno::NOENT) => {}
                    Err(errno) => return Err(errno.into()),
                },
                _ => {}
            }
        }
    }
    Ok(found)
}

/// Returns the SHA-256 of a file in hexadecimal digits.
fn sum(mut file: impl Read) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(format!("{:x}", digest.finalize())),
            length => digest.update(&piece[..length]),
        }
    }
}
