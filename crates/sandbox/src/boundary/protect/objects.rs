//! Objects in git's data, read by their numbers for as long as there is time: commits, trees and tags, loose and packed.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use policy::classify::index::ObjectFormat;
use policy::classify::objects::pack::{self, Base, Stored};
use policy::classify::objects::{self, ObjectId, ObjectKind};
use policy::classify::repository::{self, MAX_POINTER_LENGTH};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::host::beneath;
use crate::host::deadline::Deadline;

/// The largest object that is read, in bytes. A tree of a million files has some 40 MB.
const MAX_OBJECT: usize = 64 << 20;

/// How much is read of all of them, in bytes, before it is inflated and after.
const MAX_TOTAL: usize = 256 << 20;

/// How many deltas one object is made of at most. Git itself makes 4095.
const MAX_DELTAS: usize = 4096;

/// How many packs are looked into.
const MAX_PACKS: usize = 1000;

/// How many directories of objects are looked into, and how often one leads to more of them, as in git.
const MAX_DIRECTORIES: usize = 100;
const LEVELS: u32 = 5;

/// Resolves a path that an agent may have written, seen from a directory.
pub(crate) type Resolve<'r> = &'r dyn Fn(&Path, &Path) -> Option<PathBuf>;

/// The objects of a repository.
pub(crate) struct Objects {
    format: ObjectFormat,
    /// Its own directory of objects, and those that it borrows from.
    directories: Vec<OwnedFd>,
    /// The packs in them, by the numbers of the directories, without the ends of their names. That of the last object is the first one.
    packs: Vec<(usize, String)>,
    /// How many more bytes are read.
    left: usize,
    until: Deadline,
}

impl Objects {
    /// Opens the objects in a directory of git's data that lies at this path on the host. `resolve` says where another one lies that it names.
    pub(crate) fn open(
        data: impl AsFd,
        host: &Path,
        format: ObjectFormat,
        resolve: Resolve<'_>,
        until: Deadline,
    ) -> Self {
        let mut directories = Vec::new();
        if let Ok(own) = beneath::directory(data, Path::new("objects")) {
            borrow(own, &host.join("objects"), resolve, LEVELS, &mut directories);
        }
        let mut packs = Vec::new();
        for (number, directory) in directories.iter().enumerate() {
            packs.extend(packs_in(directory).into_iter().map(|name| (number, name)));
        }
        // Of what is not looked into, nobody knows what it holds.
        let left = if packs.len() > MAX_PACKS { 0 } else { MAX_TOTAL };
        Self { format, directories, packs, left, until }
    }

    pub(crate) fn format(&self) -> ObjectFormat {
        self.format
    }

    /// Returns whether some were not read because they are too much, or time is over.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.left == 0 || self.until.is_over()
    }

    /// Reads an object; `None` if it is not there, is none of git's, or is too much.
    pub(crate) fn read(&mut self, id: &ObjectId) -> Option<(ObjectKind, Vec<u8>)> {
        if self.is_exhausted() {
            return None;
        }
        // Git takes the first copy that it can read.
        for number in 0..self.packs.len() {
            let Some(index) = self.file_of(number, "idx") else { continue };
            if let Ok(Some(at)) = pack::find(|at, length| up_to(&index, at, length), id) {
                self.packs.swap(0, number);
                if let Some(read) = self.packed(at) {
                    return Some(read);
                }
            }
        }
        let hex = id.hex();
        let (directory, name) = hex.split_at(2);
        let path = Path::new(directory).join(name);
        (0..self.directories.len()).find_map(|number| self.loose(number, &path))
    }

    /// Returns whether there is an object whose number begins with these hexadecimal digits, two at least: what cannot be read may be one.
    pub(crate) fn has_prefix(&self, digits: &str) -> bool {
        let Some((directory, name)) = digits.split_at_checked(2) else { return true };
        let is_loose = |data: &OwnedFd| {
            let opened = beneath::listing(data, Path::new(directory)).ok()?;
            let mut entries = beneath::entries(opened.as_fd()).ok()?.flatten();
            entries.any(|(entry, _)| entry.as_bytes().starts_with(name.as_bytes())).then_some(())
        };
        let is_packed = |number: usize| {
            let index = self.file_of(number, "idx")?;
            let read = |at, length| up_to(&index, at, length);
            pack::has_prefix(read, digits, self.format.length()).unwrap_or(true).then_some(())
        };
        self.is_exhausted()
            || self.directories.iter().any(|data| is_loose(data).is_some())
            || (0..self.packs.len()).any(|number| is_packed(number).is_some())
    }

    fn loose(&mut self, number: usize, path: &Path) -> Option<(ObjectKind, Vec<u8>)> {
        let (file, stat) = beneath::file(&self.directories[number], path).ok()?;
        self.take(usize::try_from(stat.st_size).ok()?)?;
        let mut content = Vec::new();
        File::from(file).take(MAX_OBJECT as u64).read_to_end(&mut content).ok()?;
        let read = objects::loose(&content, self.longest());
        // What was inflated in vain costs as much.
        self.take(read.as_ref().map_or(MAX_OBJECT, |(_, content)| content.len()))?;
        read.ok()
    }

    /// Reads an object in the first pack.
    fn packed(&mut self, mut at: u64) -> Option<(ObjectKind, Vec<u8>)> {
        let data = self.file_of(0, "pack")?;
        let mut deltas = Vec::new();
        let (kind, mut content) = loop {
            let read = |at, length| up_to(&data, at, length);
            let stored = pack::stored(read, at, self.format, self.longest());
            if stored.is_err() {
                self.take(MAX_OBJECT)?;
            }
            match stored.ok()? {
                Stored::Whole(kind, content) => break (kind, content),
                Stored::Delta { base, delta } => {
                    self.take(delta.len())?;
                    deltas.push(delta);
                    if deltas.len() > MAX_DELTAS || self.until.is_over() {
                        return None;
                    }
                    at = match base {
                        Base::At(at) => at,
                        Base::Object(id) => {
                            let index = self.file_of(0, "idx")?;
                            pack::find(|at, length| up_to(&index, at, length), &id).ok()??
                        }
                    };
                }
            }
        };
        self.take(content.len())?;
        for delta in deltas.iter().rev() {
            let applied = pack::apply(&content, delta, self.longest());
            self.take(applied.as_ref().map_or(MAX_OBJECT, Vec::len))?;
            content = applied.ok()?;
        }
        Some((kind, content))
    }

    fn file_of(&self, number: usize, end: &str) -> Option<File> {
        let (directory, name) = self.packs.get(number)?;
        let path = Path::new("pack").join(format!("{name}.{end}"));
        Some(beneath::file(self.directories.get(*directory)?, &path).ok()?.0.into())
    }

    fn longest(&self) -> usize {
        self.left.min(MAX_OBJECT)
    }

    /// Takes what reading so many bytes costs; `None` if that is too much, and then all else is.
    fn take(&mut self, bytes: usize) -> Option<()> {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(0);
        left.map(drop)
    }
}

/// Adds a directory of objects, and those that it borrows from.
fn borrow(directory: OwnedFd, host: &Path, resolve: Resolve<'_>, levels: u32, found: &mut Vec<OwnedFd>) {
    let named = beneath::file(&directory, Path::new("info/alternates")).ok();
    let content =
        named.and_then(|(file, _)| up_to(&file.into(), 0, usize::try_from(MAX_POINTER_LENGTH).ok()?));
    found.push(directory);
    let Some(levels) = levels.checked_sub(1) else { return };
    for named in repository::alternates(&content.unwrap_or_default()).flatten() {
        // To open what an agent names could ask other hosts, or a daemon.
        let Some(host) = resolve(host, named) else { continue };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(more) = rustix::fs::open(&host, flags, Mode::empty()) {
            if found.len() < MAX_DIRECTORIES {
                borrow(more, &host, resolve, levels, found);
            }
        }
    }
}

/// Lists the packs in a directory of objects, without the ends of their names.
fn packs_in(directory: &OwnedFd) -> Vec<String> {
    let Ok(opened) = beneath::listing(directory, Path::new("pack")) else { return Vec::new() };
    let Ok(entries) = beneath::entries(opened.as_fd()) else { return Vec::new() };
    let names = entries.flatten().filter_map(|(name, _)| {
        let name = PathBuf::from(name);
        let is_index = name.extension().is_some_and(|end| end == "idx");
        // Git takes no index for one without its pack.
        let has_pack = || beneath::stat(&opened, &name.with_extension("pack")).is_ok();
        name.file_stem().filter(|_| is_index && has_pack())?.to_str().map(str::to_owned)
    });
    names.take(MAX_PACKS + 1).collect()
}

/// Reads up to so many bytes at a place in a file: less at its end. `None` if it cannot be read.
pub(super) fn up_to(file: &File, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut read = 0;
    while read < length {
        match rustix::io::pread(file, &mut bytes[read..], at.checked_add(read as u64)?) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    bytes.truncate(read);
    Some(bytes)
}
