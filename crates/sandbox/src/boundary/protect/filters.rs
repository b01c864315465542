//! Filters of git: what attributes say of the one of a file. A filter may encrypt what a commit records.

use std::cell::Cell;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use policy::classify::{MAX_CONTENT, lines_about_filter, repository};
use sha2::{Digest as _, Sha256};

use crate::boundary::protect::path_list::{ATTRIBUTES, PathList, data_outside};
use crate::boundary::protect::search::progress::read_up_to;
use crate::host::beneath;

/// How much of attributes is read for all hidden files together, in bytes. Of what is beyond that nobody knows what it says.
const MAX_READ: u64 = 32 << 20;

/// How much of attributes may still be read.
pub(crate) struct AttributesBudget(Cell<u64>);

impl Default for AttributesBudget {
    fn default() -> Self {
        Self(Cell::new(MAX_READ))
    }
}

impl AttributesBudget {
    /// Reads attributes; `None` if there is too much of them.
    fn read(&self, file: OwnedFd) -> Option<Vec<u8>> {
        let longest = self.0.get().min(MAX_CONTENT as u64);
        let (content, is_whole) = read_up_to(file, longest)?;
        self.0.set(self.0.get().saturating_sub(content.len() as u64));
        is_whole.then_some(content)
    }
}

/// Returns a hash of what attributes in a boundary say of the filter of a file that an index lists, from the top of its work tree down;
/// `None` where they say nothing. Git takes attributes from the index where the work tree has none.
pub(crate) fn filter_of(
    root: BorrowedFd<'_>,
    list: &PathList,
    tree: &Path,
    path: &Path,
    budget: &AttributesBudget,
) -> Option<String> {
    let mut said = Sha256::new();
    let mut is_said = false;
    let mut say = |place: &Path, line: &[u8]| {
        is_said = true;
        for part in [place.as_os_str().as_bytes(), line] {
            said.update(part.len().to_le_bytes());
            said.update(part);
        }
    };
    let mut say_lines = |place: &Path, below: &Path, file: OwnedFd| match budget.read(file) {
        Some(content) => {
            let mut lines = lines_about_filter(&content, below).peekable();
            if lines.peek().is_some() {
                let lines: Vec<&[u8]> = lines.collect();
                say(place, &lines.join(&b'\n'));
            }
        }
        None => say(place, b"[attr]"),
    };
    let above: Vec<&Path> = path.ancestors().skip(1).collect();
    let mut of_index = Vec::new();
    for directory in above.into_iter().rev() {
        let below = path.strip_prefix(directory).unwrap_or(path);
        let attributes = directory.join(ATTRIBUTES);
        match beneath::file(root, &tree.join(&attributes)) {
            Ok((file, _)) => say_lines(&attributes, below, file),
            Err(_) => of_index.extend(list.attributes_at(tree, &attributes)),
        }
    }
    if let Some(file) = own_attributes(root, list) {
        say_lines(Path::new("info/attributes"), path, file);
    }
    for number in of_index {
        say(Path::new(ATTRIBUTES), number.as_bytes());
    }
    is_said.then(|| format!("{:x}", said.finalize()))
}

/// Opens the attributes that are in the data of a repository, also where these lie out of the boundary.
fn own_attributes(root: BorrowedFd<'_>, list: &PathList) -> Option<OwnedFd> {
    let open = |git: &Path| if list.is_outside() { data_outside(git) } else { beneath::directory(root, git) };
    let data = open(&list.git).ok()?;
    // Others share the data of one.
    let common = || {
        let (file, _) = beneath::file(&data, Path::new("commondir")).ok()?;
        let (content, _) = read_up_to(file, repository::MAX_POINTER_LENGTH)?;
        let mut place = list.git.clone();
        for name in repository::commondir(&content)? {
            if name == ".." {
                place.pop();
            } else {
                place.push(name);
            }
        }
        open(&place).ok()
    };
    let data = common().unwrap_or(data);
    beneath::file(&data, Path::new("info/attributes")).ok().map(|(file, _)| file)
}
