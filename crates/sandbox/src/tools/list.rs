//! `list`: what is in a directory and beneath it.

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::query::{Denial, FileKind, Resolved};
use policy::rules::path::PathAccess;
use policy::text::escape;
use serde::Serialize;

use super::file_tools::{FileTools, ToolError};
use super::ignored::Ignored;
use super::pattern::Glob;
use super::place::Opened;
use super::progress::{Bounds, Progress, Stopped};
use super::shown::{Shown, Spelling};
use super::walk::{Effort, Selection, Visited, Visitor, Walk};
use crate::shell::Cancel;

/// How many entries are returned, unless somebody says otherwise.
pub const MAX_ENTRIES: usize = 1000;

/// What is listed.
#[derive(Clone, Debug)]
pub struct ListOptions {
    /// Only what this matches; without a slash it is about names, else about paths from the directory on.
    pub glob: Option<String>,
    pub selection: Selection,
    pub bounds: Bounds,
    /// How many entries are returned at most: the first ones, in their order.
    pub max_entries: usize,
    pub cancel: Option<Cancel>,
}

impl Default for ListOptions {
    fn default() -> Self {
        Self {
            glob: None,
            selection: Selection::default(),
            bounds: Bounds::default(),
            max_entries: MAX_ENTRIES,
            cancel: None,
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Listing {
    /// In the order of their paths.
    pub entries: Vec<Listed>,
    /// How many there are, of which these are the first.
    pub total: usize,
    pub truncated: bool,
    /// Why there may be more than were counted.
    pub stopped: Option<Stopped>,
    /// How many directories could not be read.
    pub unreadable: usize,
}

/// One of them.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Listed {
    /// From the working directory on where it lies in that, else the whole path.
    pub path: String,
    pub kind: ListedKind,
    #[serde(skip_serializing_if = "Spelling::is_exact")]
    pub spelling: Spelling,
}

/// What it is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ListedKind {
    File,
    Directory,
    Link,
    /// A pipe, socket or device, which no tool touches.
    Other,
}

impl From<FileKind> for ListedKind {
    fn from(kind: FileKind) -> Self {
        match kind {
            FileKind::File => Self::File,
            FileKind::Directory => Self::Directory,
            FileKind::Link => Self::Link,
            FileKind::Fifo | FileKind::Socket | FileKind::Device => Self::Other,
        }
    }
}

/// Where a walk begins.
pub(super) struct Start {
    pub(super) directory: OwnedFd,
    /// The rules of the directories around it.
    pub(super) around: Option<Arc<Ignored>>,
}

/// The first entries, in their order, and how many there are: what is not returned takes no memory.
struct Lister<'t> {
    glob: Option<&'t Glob>,
    max_entries: usize,
    first: BinaryHeap<(OsString, ListedKind)>,
    total: usize,
}

impl Visitor for Lister<'_> {
    fn visit(&mut self, visited: &Visited<'_>, _progress: &Progress) {
        if self.glob.is_some_and(|glob| !glob.matches(visited.relative())) {
            return;
        }
        self.total += 1;
        if self.first.len() >= self.max_entries {
            match self.first.peek_mut() {
                Some(last) if visited.path.as_os_str() < last.0 => drop(PeekMut::pop(last)),
                _ => return,
            }
        }
        self.first.push((visited.path.into(), visited.kind.into()));
    }
}

impl FileTools {
    /// Lists what is beneath a directory.
    ///
    /// # Errors
    ///
    /// A rule is against it, or there is no such directory.
    pub fn list(&self, path: impl AsRef<OsStr>, options: &ListOptions) -> Result<Listing, ToolError> {
        let glob = options.glob.as_deref().map(Glob::new).transpose()?;
        let _acting = self.begin()?;
        let (opened, resolved) = self.open_beneath(path.as_ref(), PathAccess::Read)?;
        let progress = Progress::new(options.bounds, options.cancel.as_ref());
        let Start { directory, around } = self.start(&opened, &resolved, options.selection, &progress)?;
        let walk = Walk::new(self.query(), &resolved, options.selection, &progress, Effort::Names);
        let listers = walk.run(directory, &resolved, around, || Lister {
            glob: glob.as_ref(),
            max_entries: options.max_entries,
            first: BinaryHeap::new(),
            total: 0,
        });
        let total = listers.iter().map(|lister| lister.total).sum();
        let mut first: Vec<_> = listers.into_iter().flat_map(|lister| lister.first).collect();
        first.sort_unstable();
        first.truncate(options.max_entries);
        let truncated = first.len() < total;
        let listed = |(path, kind)| {
            let Shown { path, spelling } = self.shown(Path::new(&path));
            Listed { path, kind, spelling }
        };
        Ok(Listing {
            entries: first.into_iter().map(listed).collect(),
            total,
            truncated,
            stopped: progress.stopped(),
            unreadable: progress.unreadable(),
        })
    }

    /// Opens the directory that a walk begins in for reading what is in it.
    pub(super) fn start(
        &self,
        opened: &Opened,
        resolved: &Resolved,
        selection: Selection,
        progress: &Progress,
    ) -> Result<Start, ToolError> {
        let access = PathAccess::Read;
        let found = opened.kind();
        if found != FileKind::Directory {
            let path = escape::path(resolved.guest.as_path());
            let expected = FileKind::Directory;
            return Err(Denial::WrongKind { access: access.into(), path, found, expected }.into());
        }
        let directory = opened.listing().map_err(|errno| self.failed(access, resolved, errno))?;
        let around = if selection.gitignore { self.around(resolved, progress) } else { None };
        Ok(Start { directory, around })
    }

    /// Reads the rules of the directories between a boundary and a directory in it.
    fn around(&self, resolved: &Resolved, progress: &Progress) -> Option<Arc<Ignored>> {
        let root = self.root(resolved.place, PathAccess::Read).ok()?;
        let guest = self.query().place(resolved).guest.as_path();
        let above: Vec<&Path> = resolved.relative.ancestors().skip(1).collect();
        let mut around = None;
        for relative in above.into_iter().rev().take_while(|_| progress.goes_on()) {
            match root.open(relative) {
                Ok(Opened { descriptor, .. }) => {
                    let path: PathBuf = guest.components().chain(relative.components()).collect();
                    around = Ignored::within(around, &descriptor, &path, progress);
                }
                Err(errno) => progress.failed(errno),
            }
        }
        around
    }
}
