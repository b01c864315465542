//! Tags of git: what each is called in its own object, which `git describe` prints in the place of the name of the reference.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use policy::classify::index::ObjectFormat;
use policy::classify::objects::{self, ObjectId, ObjectKind};
use policy::classify::{MAX_CONTENT, Reason, layout, repository};
use rustix::fs::FileType;

use super::Compared;
use super::baseline::Baseline;
use super::finding::{Finding, FindingOrigin};
use super::origin::Touched;
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::protect::objects::Objects;
use crate::boundary::protect::path_list::MAX_SIZE;
use crate::boundary::protect::reach::Base;
use crate::boundary::protect::references::{self, named_by, named_in};
use crate::host::beneath;
use crate::host::deadline::Deadline;

/// How much of a file with one reference is read, in bytes.
const MAX_REFERENCE: u64 = 4096;

impl Baseline {
    /// Lists the references that have changed and lead to a tag that programs may take for more than a name. `host` is where the boundary lies.
    pub fn hostile_tags(&self, root: impl AsFd, host: &Path, mounts: &Mounts, until: Deadline) -> Compared {
        let root = root.as_fd();
        let is_since = |path: &Path| self.touched(root, path) != Touched::Before;
        hostile_tags(root, host, mounts, until, is_since)
    }
}

fn hostile_tags(
    root: BorrowedFd<'_>,
    host: &Path,
    mounts: &Mounts,
    until: Deadline,
    is_since: impl Fn(&Path) -> bool,
) -> Compared {
    let mut all = Compared { findings: Vec::new(), is_whole: true };
    for base in mounts.reach.bases() {
        let Base::Git(git) = base else { continue };
        let Ok(data) = beneath::directory(root, git) else { continue };
        // A linked work tree has the references of its repository.
        if beneath::stat(&data, Path::new("commondir")).is_ok() {
            continue;
        }
        let changed = changed(&data, |path| is_since(&git.join(path)), until);
        if changed.is_empty() {
            continue;
        }
        let config = references::read(&data, Path::new("config"), MAX_CONTENT as u64).unwrap_or_default();
        let mut objects = Objects::open(&data, &host.join(git), ObjectFormat::of(&config), until);
        for path in changed {
            let is_one = path.starts_with("refs");
            let longest = if is_one { MAX_REFERENCE } else { MAX_SIZE };
            let Some(content) = references::read(&data, &path, longest) else { continue };
            let ids: Vec<ObjectId> = if is_one {
                named_by(&content).into_iter().collect()
            } else {
                named_in(&content).into_iter().map(|(_, id)| id).collect()
            };
            let names: Vec<String> = ids.iter().filter_map(|id| hostile_name(&mut objects, id)).collect();
            let Some(example) = names.first().cloned() else { continue };
            // Files of many references hold those of the user, too.
            let origin = if is_one { FindingOrigin::Created } else { FindingOrigin::Earlier };
            let reason = Reason::NamesTags { tags: names.len(), example };
            let path = git.join(&path);
            all.findings.push(Finding { path, reason, origin, quarantined: None, restored: false });
        }
        all.is_whole &= !objects.is_exhausted();
    }
    all
}

/// Returns the name of a tag in its own object, if programs may take it for more than a name.
fn hostile_name(objects: &mut Objects, id: &ObjectId) -> Option<String> {
    let (kind, content) = objects.read(id)?;
    let tag = (kind == ObjectKind::Tag).then(|| objects::tag(&content, objects.format()))??;
    repository::is_hostile_tag(tag.name).then(|| String::from_utf8_lossy(tag.name).into_owned())
}

/// Lists the files with references in a directory of git's data that have changed.
fn changed(data: &OwnedFd, is_since: impl Fn(&Path) -> bool, until: Deadline) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let packed = Path::new("packed-refs");
    found.extend(is_since(packed).then(|| packed.to_path_buf()));
    let mut ahead = vec![PathBuf::from("refs"), PathBuf::from("reftable")];
    while let Some(directory) = ahead.pop().filter(|_| !until.is_over()) {
        let Ok(opened) = beneath::listing(data, &directory) else { continue };
        let Ok(entries) = beneath::entries(opened.as_fd()) else { continue };
        for (name, kind) in entries.flatten() {
            let path = directory.join(name);
            match kind {
                FileType::Directory => ahead.push(path),
                _ if path.starts_with("refs") || layout::is_reftable(&path) => {
                    found.extend(is_since(&path).then_some(path));
                }
                _ => {}
            }
        }
    }
    found
}
