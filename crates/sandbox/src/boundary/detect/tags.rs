//! Tags of git: what each is called in its own object, which `git describe` prints in the place of the name of the reference.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use policy::classify::index::ObjectFormat;
use policy::classify::objects::{self, ObjectId, ObjectKind};
use policy::classify::{MAX_CONTENT, Reason, layout, repository};
use rustix::fs::FileType;

use super::Compared;
use super::baseline::Baseline;
use super::finding::{Finding, FindingOrigin};
use crate::boundary::protect::mounts::Mounts;
use crate::boundary::protect::objects::Objects;
use crate::boundary::protect::path_list::MAX_SIZE;
use crate::boundary::protect::reach::Base;
use crate::boundary::protect::references::{self, MAX_REFERENCE, named_by, named_in};
use crate::boundary::protect::search::resolved;
use crate::host::beneath;
use crate::host::deadline::Deadline;

impl Baseline {
    /// Lists the references that have changed and lead to a tag that programs may take for more than a name. `host` is where the boundary lies.
    pub fn hostile_tags(&self, root: impl AsFd, host: &Path, mounts: &Mounts, until: Deadline) -> Compared {
        let root = root.as_fd();
        let mut all = Compared { findings: Vec::new(), is_whole: true };
        for base in mounts.reach.bases() {
            let Base::Git(git) = base else { continue };
            // A new repository may borrow objects by a path that is one inside.
            let is_known = self.searched.contains(base);
            let Ok(data) = beneath::directory(root, git) else { continue };
            // A linked work tree has the references of its repository, and logs have none.
            let is_there = |name: &str| beneath::stat(&data, Path::new(name)).is_ok();
            if is_there("commondir") || !is_there("objects") {
                continue;
            }
            let changed = changed(&data, |path| self.is_since(root, &git.join(path)), until);
            if changed.is_empty() {
                continue;
            }
            let config = references::read(&data, Path::new("config"), MAX_CONTENT as u64).unwrap_or_default();
            let mut objects =
                Objects::open(&data, &host.join(git), ObjectFormat::of(&config), &resolved, until);
            for path in changed {
                let is_one = path.starts_with("refs");
                let longest = if is_one { MAX_REFERENCE } else { MAX_SIZE };
                let Some(content) = references::read(&data, &path, longest) else { continue };
                let ids: Vec<ObjectId> = if is_one {
                    named_by(&content, objects.format()).into_iter().collect()
                } else {
                    let tags =
                        named_in(&content).into_iter().filter(|(name, _)| name.starts_with(b"refs/tags/"));
                    tags.map(|(_, id)| id).collect()
                };
                let (mut names, mut unread) = (Vec::new(), 0);
                for id in ids {
                    match name_of(&mut objects, &id) {
                        Ok(name) => names.extend(name.filter(|name| repository::is_hostile_tag(name))),
                        Err(Unread) => unread += 1,
                    }
                }
                let path = git.join(&path);
                let mut found = |reason, origin| {
                    let path = path.clone();
                    all.findings.push(Finding { path, reason, origin, quarantined: None, restored: false });
                };
                if let Some(example) = names.first() {
                    // Files of many references hold those of the user, too.
                    let origin = if is_one { FindingOrigin::Created } else { FindingOrigin::Earlier };
                    let example = String::from_utf8_lossy(example).into_owned();
                    found(Reason::NamesTags { tags: names.len(), example }, origin);
                } else if unread > 0 && is_known && !objects.is_exhausted() {
                    found(Reason::NamesUnread { references: unread }, FindingOrigin::Earlier);
                }
            }
            all.is_whole &= !objects.is_exhausted();
        }
        all
    }
}

/// An object could not be read.
struct Unread;

/// Returns the name of a tag in its own object, if it is one.
fn name_of(objects: &mut Objects, id: &ObjectId) -> Result<Option<Vec<u8>>, Unread> {
    let (kind, content) = objects.read(id).ok_or(Unread)?;
    if kind != ObjectKind::Tag {
        return Ok(None);
    }
    let tag = objects::tag(&content, objects.format()).ok_or(Unread)?;
    Ok(Some(tag.name.to_vec()))
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
