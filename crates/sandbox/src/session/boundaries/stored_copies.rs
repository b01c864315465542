//! Copies of hidden files among the objects of git-lfs.
//!
//! Whoever writes `.gitattributes` names the filter of a file. With that of git-lfs, the next `git status` or `git diff` on the host stores
//! what is in a changed file by its SHA-256, where the next sandbox could read it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use policy::plan::{Boundary, BoundaryKind, Plan};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::search_in::search_in;
use crate::boundary::hide::{HiddenOnHost, STORE};
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

/// Files by their sizes, which tell almost all of them apart.
type BySize<T> = BTreeMap<u64, Vec<T>>;

/// Finds the copies of what is hidden in the boundaries of a plan: in these stores, by their paths on the host, and in that of the
/// repository that each boundary is, or is the data of.
pub(super) fn find(
    plan: &Plan,
    caller: Identity,
    hidden: &[HiddenOnHost],
    mut stores: BTreeSet<PathBuf>,
    until: Deadline,
) -> Result<Vec<HiddenOnHost>, StartError> {
    let directories = || plan.boundaries.iter().filter(|boundary| boundary.kind == BoundaryKind::Directory);
    for boundary in directories() {
        stores.extend([boundary.host.join(STORE), boundary.host.join(".git").join(STORE)]);
    }
    let mut stored: BySize<(String, HiddenOnHost)> = BySize::new();
    for boundary in directories() {
        search_in(boundary, caller, WANTED, |root| {
            for store in stores.iter().filter_map(|store| store.strip_prefix(&boundary.host).ok()) {
                objects(root, boundary, store, until, &mut stored)?;
            }
            Ok(())
        })?;
    }
    if stored.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for boundary in directories() {
        search_in(boundary, caller, WANTED, |root| {
            for one in hidden.iter().filter_map(|one| one.path.strip_prefix(&boundary.host).ok()) {
                for file in files(root, one, &stored, until)? {
                    let (content, stat) = beneath::file(root, &file)?;
                    let sum = sum(std::fs::File::from(content))?;
                    let of_size = stored.remove(&size(&stat)).unwrap_or_default();
                    let (same, others): (Vec<_>, Vec<_>) =
                        of_size.into_iter().partition(|(name, _)| *name == sum);
                    found.extend(same);
                    stored.insert(size(&stat), others);
                }
            }
            Ok(())
        })?;
    }
    Ok(found.into_iter().map(|(_, copy)| copy).collect())
}

/// Adds the objects in a store, which need not be there.
fn objects(
    root: &Entered<'_>,
    boundary: &Boundary,
    store: &Path,
    until: Deadline,
    stored: &mut BySize<(String, HiddenOnHost)>,
) -> io::Result<()> {
    for (path, stat) in beneath_of(root, store, until)? {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) && stat.st_size > 0 {
            stored.entry(size(&stat)).or_default().push((
                name.to_ascii_lowercase(),
                HiddenOnHost {
                    path: boundary.host.join(&path),
                    file_id: beneath::file_id(&stat),
                    kind: FileKind::File,
                    by: boundary.name.clone(),
                },
            ));
        }
    }
    Ok(())
}

/// Lists what is hidden, a file or all files in a directory, as far as there are objects of their sizes.
fn files<T>(
    root: &Entered<'_>,
    hidden: &Path,
    stored: &BySize<T>,
    until: Deadline,
) -> io::Result<Vec<PathBuf>> {
    let all = match beneath::stat(root, hidden) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
            vec![(hidden.to_owned(), stat)]
        }
        Ok(_) => beneath_of(root, hidden, until)?,
        Err(Errno::NOENT | Errno::NOTDIR) => Vec::new(),
        Err(errno) => return Err(errno.into()),
    };
    let of_size = all.into_iter().filter(|(_, stat)| stored.contains_key(&size(stat)));
    Ok(of_size.map(|(path, _)| path).collect())
}

/// Lists all regular files beneath a directory. What its owner cannot list is nothing that their git could have copied.
fn beneath_of(root: &Entered<'_>, directory: &Path, until: Deadline) -> io::Result<Vec<(PathBuf, Stat)>> {
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

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
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
