//! `list`: what is in a directory and beneath it.

use std::ffi::OsStr;
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
use super::walk::{Bounds, Effort, Progress, Selection, Stopped, Visited, Visitor, Walk};

/// How many entries are returned, unless somebody says otherwise.
pub const MAX_ENTRIES: usize = 1000;

/// What is listed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListOptions {
    /// Only what this matches; without a slash it is about names, else about paths from the directory on.
    pub glob: Option<String>,
    pub selection: Selection,
    pub bounds: Bounds,
    /// How many entries are returned at most: the first ones, in their order.
    pub max_entries: usize,
}

impl Default for ListOptions {
    fn default() -> Self {
        Self {
            glob: None,
            selection: Selection::default(),
            bounds: Bounds::default(),
            max_entries: MAX_ENTRIES,
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

struct Lister<'t> {
    tools: &'t FileTools,
    glob: Option<&'t Glob>,
    found: Vec<Listed>,
}

impl Visitor for Lister<'_> {
    fn visit(&mut self, visited: &Visited<'_>, _progress: &Progress) {
        if self.glob.is_none_or(|glob| glob.matches(visited.relative())) {
            let path = self.tools.shown(visited.path);
            self.found.push(Listed { path, kind: visited.kind.into() });
        }
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
        let Start { directory, around } = self.start(&opened, &resolved, options.selection)?;
        let walk = Walk::new(self.query(), &resolved, options.selection, options.bounds, Effort::Names);
        let walked = walk.run(directory, &resolved, around, || Lister {
            tools: self,
            glob: glob.as_ref(),
            found: Vec::new(),
        });
        let mut entries: Vec<Listed> = walked.found.into_iter().flat_map(|lister| lister.found).collect();
        entries.sort_unstable();
        let total = entries.len();
        entries.truncate(options.max_entries);
        let truncated = entries.len() < total;
        Ok(Listing { entries, total, truncated, stopped: walked.stopped, unreadable: walked.unreadable })
    }

    /// Opens the directory that a walk begins in for reading what is in it.
    pub(super) fn start(
        &self,
        opened: &Opened,
        resolved: &Resolved,
        selection: Selection,
    ) -> Result<Start, ToolError> {
        let access = PathAccess::Read;
        let found = opened.kind();
        if found != FileKind::Directory {
            let path = escape::path(resolved.guest.as_path());
            let expected = FileKind::Directory;
            return Err(Denial::WrongKind { access: access.into(), path, found, expected }.into());
        }
        let failed = |errno| self.failed(access, &escape::path(resolved.guest.as_path()), errno);
        let directory = opened.listing().map_err(failed)?;
        let around = if selection.gitignore { self.around(resolved) } else { None };
        Ok(Start { directory, around })
    }

    /// Reads the rules of the directories between a boundary and a directory in it.
    fn around(&self, resolved: &Resolved) -> Option<Arc<Ignored>> {
        let root = self.root(resolved.place, PathAccess::Read).ok()?;
        let guest = self.query().place(resolved).guest.as_path();
        let above: Vec<&Path> = resolved.relative.ancestors().skip(1).collect();
        above.into_iter().rev().fold(None, |around, relative| match root.open(relative) {
            Ok(Opened { descriptor, .. }) => {
                let path: PathBuf = guest.components().chain(relative.components()).collect();
                Ignored::within(around, &descriptor, &path)
            }
            Err(_) => around,
        })
    }
}
