//! References in a directory of git's data: which object each names, in files, packed or in tables.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::index::ObjectFormat;
use policy::classify::objects::ObjectId;
use policy::classify::reftable::{self, Referent};
use policy::classify::{MAX_CONTENT, does_without_work_tree, repository};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::boundary::protect::path_list::{MAX_SIZE, MAX_TOTAL};
use crate::host::beneath;
use crate::host::deadline::Deadline;

/// How often one reference leads to another one, as in git.
const LEVELS: u32 = 5;

/// How much of a file with one reference is read, in bytes.
pub(crate) const MAX_REFERENCE: u64 = 4096;

/// How much of the list of tables is read, in bytes: git keeps few.
const MAX_LIST: u64 = 64 << 10;

/// The list of tables.
const TABLES: &str = "reftable/tables.list";

/// References of which each work tree has its own, see gitrepository-layout(5).
const OWN: [&str; 3] = ["refs/bisect/", "refs/rewritten/", "refs/worktree/"];

/// Lists the objects that packed references name, or those of a table, with the names of the references.
pub(crate) fn named_in(content: &[u8]) -> Vec<(Vec<u8>, ObjectId)> {
    let mut found = Vec::new();
    let is_table = reftable::references(content, |name, referent| {
        if let Referent::Object(number) = referent {
            found.extend(ObjectId::from_bytes(number).map(|id| (name.to_vec(), id)));
        }
    });
    if is_table.is_err() {
        let lines = content.split(|byte| *byte == b'\n');
        found.extend(lines.filter_map(|line| {
            let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            Some((line.get(digits + 1..)?.to_vec(), ObjectId::from_hex(&line[..digits])?))
        }));
    }
    found
}

/// Returns the object that the content of a file names that is a reference.
pub(crate) fn named_by(content: &[u8], format: ObjectFormat) -> Option<ObjectId> {
    match Leads::of(content, format) {
        Ok(Leads::Object(id)) => Some(id),
        Ok(Leads::Nowhere | Leads::Reference(_)) | Err(UnclearReference) => None,
    }
}

/// A reference of which nobody but git knows what it names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct UnclearReference;

/// Where a repository keeps its references.
pub(crate) struct References {
    /// The data of the work tree.
    own: OwnedFd,
    /// Those that it shares with other work trees.
    common: OwnedFd,
    format: ObjectFormat,
    /// Whether they are in tables. What else lies beside these is not obeyed, and the other way round.
    has_tables: bool,
}

impl References {
    /// Opens those in a directory of git's data and in the one that it shares with others.
    pub(crate) fn of(own: OwnedFd, common: OwnedFd) -> Self {
        let config = config(&common);
        let (format, has_tables) = (ObjectFormat::of(&config), repository::has_tables(&config));
        Self { own, common, format, has_tables }
    }

    /// Returns what names the objects of the repository.
    pub(crate) fn format(&self) -> ObjectFormat {
        self.format
    }

    /// Returns the object that a reference names, or that a file right in the data of the work tree does; `None` where there is none.
    ///
    /// # Errors
    ///
    /// Git would not have written what it names.
    pub(crate) fn object(&self, name: &[u8]) -> Result<Option<ObjectId>, UnclearReference> {
        let mut name = name.to_vec();
        for _ in 0..=LEVELS {
            match self.referent(&name)? {
                Leads::Nowhere => return Ok(None),
                Leads::Object(id) => return Ok(Some(id)),
                Leads::Reference(next) if repository::is_reference_name(&next) => name = next,
                Leads::Reference(_) => break,
            }
        }
        Err(UnclearReference)
    }

    /// Returns the name that `HEAD` leads to: `None` if it is a commit, or cannot be read.
    pub(crate) fn branch(&self) -> Option<String> {
        match self.referent(b"HEAD") {
            Ok(Leads::Reference(name)) => Some(String::from_utf8_lossy(&name).into_owned()),
            Ok(Leads::Nowhere | Leads::Object(_)) | Err(UnclearReference) => None,
        }
    }

    /// Returns what a file names that git itself writes with the number of an object in it.
    ///
    /// # Errors
    ///
    /// There is none in it.
    pub(crate) fn object_in(&self, path: &str) -> Result<Option<ObjectId>, UnclearReference> {
        let path = Path::new(path);
        if beneath::stat(&self.own, path).err() == Some(Errno::NOENT) {
            return Ok(None);
        }
        let content = read(&self.own, path, MAX_REFERENCE).ok_or(UnclearReference)?;
        match Leads::of(&content, self.format)? {
            Leads::Object(id) => Ok(Some(id)),
            Leads::Nowhere | Leads::Reference(_) => Err(UnclearReference),
        }
    }

    fn referent(&self, name: &[u8]) -> Result<Leads, UnclearReference> {
        let is_shared = name.starts_with(b"refs/") && !OWN.iter().any(|own| name.starts_with(own.as_bytes()));
        let data = if is_shared { &self.common } else { &self.own };
        if self.has_tables {
            return in_tables(data, name);
        }
        let path = Path::new(OsStr::from_bytes(name));
        if let Ok(target) = beneath::read_link(data, path) {
            return Ok(Leads::Reference(target.into_os_string().as_bytes().to_vec()));
        }
        if let Some(content) = read(data, path, MAX_REFERENCE) {
            return Leads::of(&content, self.format);
        }
        let is_there = match beneath::stat(data, path) {
            // In a directory there are others.
            Ok(stat) => FileType::from_raw_mode(stat.st_mode) != FileType::Directory,
            Err(errno) => !matches!(errno, Errno::NOENT | Errno::NOTDIR),
        };
        if is_there {
            return Err(UnclearReference);
        }
        match read(&self.common, Path::new("packed-refs"), MAX_SIZE + 1) {
            Some(content) if content.len() as u64 > MAX_SIZE => Err(UnclearReference),
            Some(content) => packed(&content, name, self.format),
            None => Ok(Leads::Nowhere),
        }
    }

    /// Returns the object that git takes for a short name of a reference: gitrevisions(7).
    ///
    /// # Errors
    ///
    /// Git would not have written what it names.
    pub(crate) fn object_by_short_name(&self, name: &str) -> Result<Option<ObjectId>, UnclearReference> {
        for place in ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"] {
            let found = self.object(format!("{place}{name}").as_bytes())?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// What a reference leads to.
enum Leads {
    /// It is gone.
    Nowhere,
    Object(ObjectId),
    Reference(Vec<u8>),
}

impl Leads {
    /// Reads the content of a file that is one.
    fn of(content: &[u8], format: ObjectFormat) -> Result<Self, UnclearReference> {
        if let Some(name) = content.strip_prefix(b"ref:") {
            // Git takes it for a string of C.
            let name = name.split(|byte| *byte == 0).next().unwrap_or(name);
            return Ok(Self::Reference(name.trim_ascii().to_vec()));
        }
        // What follows the number some readers ignore.
        let number = content.trim_ascii_start().get(..2 * format.length());
        number.and_then(ObjectId::from_hex).map(Self::Object).ok_or(UnclearReference)
    }
}

/// Returns whether a repository itself has no work tree, by the directory of its data. Linked ones it may have.
pub(crate) fn is_bare(data: &OwnedFd) -> bool {
    does_without_work_tree(&config(data))
}

fn config(data: &OwnedFd) -> Vec<u8> {
    read(data, Path::new("config"), MAX_CONTENT as u64).unwrap_or_default()
}

/// Finds a reference in the tables in force in a directory of git's data: the last one that has it counts.
fn in_tables(data: &OwnedFd, name: &[u8]) -> Result<Leads, UnclearReference> {
    let Some(list) = read(data, Path::new(TABLES), MAX_LIST + 1) else {
        return Ok(Leads::Nowhere);
    };
    if list.len() as u64 > MAX_LIST {
        return Err(UnclearReference);
    }
    let tables = list.split(|byte| *byte == b'\n').filter(|name| !name.is_empty());
    let mut left = MAX_SIZE;
    for table in tables.rev() {
        let path = PathBuf::from("reftable").join(OsStr::from_bytes(table));
        let table = read(data, &path, left + 1).ok_or(UnclearReference)?;
        left = left.checked_sub(table.len() as u64).ok_or(UnclearReference)?;
        if let Some(found) = in_table(&table, name) {
            return Ok(found);
        }
    }
    Ok(Leads::Nowhere)
}

/// Returns where a reference leads by a table; `None` if that has nothing of it.
fn in_table(table: &[u8], name: &[u8]) -> Option<Leads> {
    let mut found = None;
    // What was read before a fault counts for git, too.
    let _ = reftable::references(table, |of, referent| {
        if of == name {
            found = Some(match referent {
                Referent::Gone => Leads::Nowhere,
                Referent::Object(number) => {
                    ObjectId::from_bytes(number).map_or(Leads::Nowhere, Leads::Object)
                }
                Referent::Reference(target) => Leads::Reference(target.to_vec()),
            });
        }
    });
    found
}

/// Finds a reference among packed ones. Git searches by halves for it, and takes any one byte for what ends the number.
fn packed(content: &[u8], name: &[u8], format: ObjectFormat) -> Result<Leads, UnclearReference> {
    let lines = content.split(|byte| *byte == b'\n');
    let of_name = lines.filter_map(|line| {
        let number = line.get(..2 * format.length())?;
        (line.get(number.len() + 1..)? == name).then_some(number)
    });
    let numbers: BTreeSet<&[u8]> = of_name.collect();
    match numbers.first() {
        None => Ok(Leads::Nowhere),
        Some(number) if numbers.len() == 1 => {
            ObjectId::from_hex(number).map(Leads::Object).ok_or(UnclearReference)
        }
        Some(_) => Err(UnclearReference),
    }
}

/// How much may still be read of files with many references, in bytes.
pub(crate) struct Budget(u64);

impl Default for Budget {
    fn default() -> Self {
        Self(MAX_TOTAL)
    }
}

impl Budget {
    /// Reads a file; `None` if that is too much. One that is not there has nothing.
    fn read(&mut self, data: &OwnedFd, path: &Path) -> Option<Vec<u8>> {
        let longest = MAX_SIZE.min(self.0);
        let content = read(data, path, longest + 1).unwrap_or_default();
        let length = Some(content.len() as u64).filter(|length| *length <= longest)?;
        self.0 -= length;
        Some(content)
    }
}

/// Lists the references in a directory of git's data by their names, with the file that each is in; `None` if they are more than these, or too
/// many to be read.
pub(crate) fn all(
    data: &OwnedFd,
    store: Store,
    budget: &mut Budget,
    most: usize,
    until: Deadline,
) -> Option<BTreeMap<Vec<u8>, PathBuf>> {
    let mut found = BTreeMap::new();
    match store {
        Store::Tables => {
            let list = budget.read(data, Path::new(TABLES))?;
            // Later ones count more.
            for name in list.split(|byte| *byte == b'\n').filter(|name| !name.is_empty()) {
                let path = Path::new("reftable").join(OsStr::from_bytes(name));
                let table = budget.read(data, &path)?;
                // What was read before a fault counts for git, too.
                let _ = reftable::references(&table, |name, referent| {
                    match referent {
                        Referent::Gone => found.remove(name),
                        Referent::Object(_) | Referent::Reference(_) => {
                            found.insert(name.to_vec(), path.clone())
                        }
                    };
                });
            }
        }
        Store::Files => {
            let packed = Path::new("packed-refs");
            let content = budget.read(data, packed)?;
            found.extend(named_in(&content).into_iter().map(|(name, _)| (name, packed.to_path_buf())));
            let mut ahead = vec![PathBuf::from("refs")];
            while let Some(directory) = ahead.pop().filter(|_| !until.is_over()) {
                let Ok(opened) = beneath::listing(data, &directory) else { continue };
                let Ok(entries) = beneath::entries(opened.as_fd()) else { continue };
                for (name, kind) in entries.flatten() {
                    let path = directory.join(name);
                    if kind == FileType::Directory {
                        ahead.push(path);
                    } else {
                        found.insert(path.as_os_str().as_bytes().to_vec(), path);
                    }
                    if found.len() + ahead.len() > most {
                        return None;
                    }
                }
            }
        }
    }
    found.retain(|name, _| !name.starts_with(b"refs/") || repository::is_reference_name(name));
    (found.len() <= most).then_some(found)
}

/// Where a repository keeps its references.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Store {
    Files,
    Tables,
}

impl Store {
    /// Returns the one of a repository, by the directory of git's data that work trees share.
    pub(crate) fn of(common: &OwnedFd) -> Self {
        if repository::has_tables(&config(common)) { Self::Tables } else { Self::Files }
    }
}

pub(crate) fn read(data: impl AsFd, path: &Path, longest: u64) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    File::from(beneath::file(data, path).ok()?.0).take(longest).read_to_end(&mut content).ok()?;
    Some(content)
}
