//! References in a directory of git's data: which object each names, in files, packed or in tables.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::objects::ObjectId;
use policy::classify::reftable::{self, Referent};

use crate::boundary::protect::path_list::MAX_SIZE;
use crate::host::beneath;

/// How often one reference leads to another one, as in git.
const LEVELS: u32 = 5;

/// How much of a file with one reference is read, in bytes.
const MAX_REFERENCE: u64 = 4096;

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
            let (number, name) = line.split_at(line.iter().position(|byte| *byte == b' ')?);
            Some((name[1..].to_vec(), ObjectId::from_hex(number)?))
        }));
    }
    found
}

/// Returns the object that the content of a file names that is a reference.
pub(crate) fn named_by(content: &[u8]) -> Option<ObjectId> {
    match Leads::of(content)? {
        Leads::Object(id) => Some(id),
        Leads::Nowhere | Leads::Reference(_) => None,
    }
}

/// Where a repository keeps its references.
pub(crate) struct References {
    /// The data of the work tree.
    own: OwnedFd,
    /// Those that it shares with other work trees.
    common: OwnedFd,
}

impl References {
    /// Opens those in a directory of git's data and in the one that it shares with others.
    pub(crate) fn of(own: OwnedFd, common: OwnedFd) -> Self {
        Self { own, common }
    }

    /// Returns the object that a reference names, or that a file right in the data of the work tree does; `None` where there is none.
    pub(crate) fn object(&self, name: &[u8]) -> Option<ObjectId> {
        let mut name = name.to_vec();
        for _ in 0..=LEVELS {
            match self.referent(&name)? {
                Leads::Nowhere => return None,
                Leads::Object(id) => return Some(id),
                Leads::Reference(next) => name = next,
            }
        }
        None
    }

    fn referent(&self, name: &[u8]) -> Option<Leads> {
        let is_shared = name.starts_with(b"refs/") && !OWN.iter().any(|own| name.starts_with(own.as_bytes()));
        let data = if is_shared { &self.common } else { &self.own };
        if let Some(tables) = tables(data) {
            // What lies in a file beside them is not obeyed, but for what git makes only for a moment.
            let in_table = tables.iter().rev().find_map(|table| in_table(table, name));
            if in_table.is_some() || is_shared {
                return in_table;
            }
        }
        let path = Path::new(OsStr::from_bytes(name));
        if let Ok(target) = beneath::read_link(data, path) {
            return Some(Leads::Reference(target.into_os_string().as_bytes().to_vec()));
        }
        match read(data, path, MAX_REFERENCE) {
            Some(content) => Leads::of(&content),
            None if is_shared => packed(&read(data, Path::new("packed-refs"), MAX_SIZE)?, name),
            None => None,
        }
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
    fn of(content: &[u8]) -> Option<Self> {
        if let Some(name) = content.strip_prefix(b"ref:") {
            return Some(Self::Reference(name.trim_ascii().to_vec()));
        }
        let text = content.trim_ascii_start();
        let end = text.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(text.len());
        ObjectId::from_hex(&text[..end]).map(Self::Object)
    }
}

/// Reads the tables in force in a directory of git's data, the oldest first; `None` where there are none.
fn tables(data: &OwnedFd) -> Option<Vec<Vec<u8>>> {
    let list = read(data, Path::new("reftable/tables.list"), MAX_SIZE)?;
    let names = list.split(|byte| *byte == b'\n').filter(|name| !name.is_empty());
    let path = |name: &[u8]| PathBuf::from("reftable").join(OsStr::from_bytes(name));
    let tables = names.filter_map(|name| read(data, &path(name), MAX_SIZE));
    Some(tables.collect())
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

/// Finds a reference among packed ones.
fn packed(content: &[u8], name: &[u8]) -> Option<Leads> {
    content.split(|byte| *byte == b'\n').find_map(|line| {
        let number = line.strip_suffix(name)?.strip_suffix(b" ")?;
        ObjectId::from_hex(number).map(Leads::Object)
    })
}

pub(crate) fn read(data: impl AsFd, path: &Path, longest: u64) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    File::from(beneath::file(data, path).ok()?.0).take(longest).read_to_end(&mut content).ok()?;
    Some(content)
}
