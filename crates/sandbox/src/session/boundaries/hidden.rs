//! What is hidden in the boundaries of a run: in each the paths that its patterns name, and in all of them the same files.
//!
//! Another run finds them by the same patterns and links, now or later. So what these go by stays as it is: directories on the way are
//! pinned, and links are watched. Without the pins an agent could move a directory to and fro past the search of a run that starts beside
//! its own.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use policy::plan::{Boundary, BoundaryKind, BoundaryMode, FileId, Plan};
use policy::rules::hide::HidePatterns;
use policy::text::escape;
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::search_in::{search_in, shown};
use super::{other_mounts, stored_copies};
use crate::boundary::aliases;
use crate::boundary::hide::{self, HiddenOnHost, HideQuery, HideSearch};
use crate::boundary::protect::mounts::{Cause, FileKind, HiddenPath, Link, Mounts, on_the_way};
use crate::boundary::protect::reach::Base;
use crate::boundary::root::{Entered, Root};
use crate::host::beneath;
use crate::host::deadline::Deadline;
use crate::host::follow::traversed_paths;
use crate::host::identity::Identity;
use crate::session::error::StartError;

/// How long the search in all boundaries may take. A million files take about a second.
const SEARCH_LIMIT: Duration = Duration::from_secs(30);

/// What is hidden in one boundary, relative to it.
#[derive(Default)]
pub(super) struct Hiding {
    pub(super) hidden: Vec<HiddenPath>,
    /// Directories on the way to it, and those that something is found through.
    pub(super) pins: BTreeSet<PathBuf>,
    /// Links that something is found through.
    pub(super) links: Vec<PathBuf>,
}

impl Hiding {
    /// Adds the links to what is watched. One that is watched for another reason may not be taken away either.
    pub(super) fn watch(&self, mounts: &mut Mounts) {
        for path in &self.links {
            match mounts.links.iter_mut().find(|link| link.path == *path) {
                Some(link) => link.cause = Cause::Asked,
                None => mounts.links.push(Link {
                    path: path.clone(),
                    seen_as: path.clone(),
                    cause: Cause::Asked,
                    base: Base::Tree(PathBuf::new()),
                }),
            }
        }
    }
}

/// What links with a hidden name lead through, by its path on the host.
#[derive(Default)]
struct FoundThrough {
    directories: BTreeSet<PathBuf>,
    links: BTreeSet<PathBuf>,
}

impl FoundThrough {
    fn add_above(&mut self, path: &Path) {
        self.directories.extend(path.ancestors().skip(1).map(Path::to_path_buf));
    }

    /// Adds everything that a link leads through.
    fn add_traversed(&mut self, link: &Path) {
        for place in traversed_paths(link).0 {
            self.add_above(&place);
            match place.symlink_metadata() {
                Ok(found) if found.is_symlink() => drop(self.links.insert(place)),
                Ok(found) if found.is_dir() => drop(self.directories.insert(place)),
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn within(&self, boundary: &Boundary) -> (BTreeSet<PathBuf>, Vec<PathBuf>) {
        let relative = |paths: &BTreeSet<PathBuf>| -> BTreeSet<PathBuf> {
            let below = paths.iter().filter_map(|path| path.strip_prefix(&boundary.host).ok());
            below.filter(|path| *path != Path::new("")).map(Path::to_path_buf).collect()
        };
        (relative(&self.directories), relative(&self.links).into_iter().collect())
    }
}

/// Finds what is to be hidden in each boundary of a plan. What cannot be hidden everywhere is an error: it would be shown.
pub(super) fn find(plan: &Plan, caller: Identity) -> Result<Vec<Hiding>, StartError> {
    let mut found: Vec<Hiding> = plan.boundaries.iter().map(|_| Hiding::default()).collect();
    if plan.boundaries.iter().all(|boundary| boundary.hide.is_empty()) {
        return Ok(found);
    }
    let until = Deadline::after(SEARCH_LIMIT);
    let mut everything = Vec::new();
    let (mut linked, mut led) = (HashSet::new(), Vec::new());
    let mut objects = stored_copies::Objects::default();
    let mut through = FoundThrough::default();
    for boundary in plan.boundaries.iter().filter(|boundary| boundary.kind == BoundaryKind::Directory) {
        let patterns = HidePatterns::of(&boundary.hide).with_quarantines();
        let search = in_boundary(boundary, caller, HideQuery::Named(&patterns), until, |root, search| {
            let lead = |link: &PathBuf| {
                let led_to = led_to(root, link, boundary)?;
                through.add_traversed(&boundary.host.join(link));
                Some(led_to)
            };
            let in_the_way =
                search.in_the_way.iter().find_map(|link| in_the_way(root, link, boundary, plan, &patterns));
            (search.links.iter().filter_map(lead).collect(), in_the_way)
        })?;
        let (search, (led_to, in_the_way)): (HideSearch, (Vec<HiddenOnHost>, Option<StartError>)) = search;
        if let Some(refused) = in_the_way {
            return Err(refused);
        }
        linked.extend(search.linked);
        objects.add(boundary, search.objects);
        led.extend(led_to.iter().map(|one| one.path.clone()));
        everything.extend(led_to);
        everything.extend(search.hidden.into_iter().map(|one| HiddenOnHost {
            path: boundary.host.join(one.path),
            file_id: one.file_id,
            kind: one.kind,
            by: boundary.name.clone(),
        }));
    }
    let all: Vec<_> = everything.iter().map(|one| (one.path.as_path(), one.file_id, one.kind)).collect();
    let others = other_mounts::find(plan, caller, &all)?.into_iter().map(|other| HiddenOnHost {
        by: everything[other.of].by.clone(),
        path: other.path,
        file_id: other.file_id,
        kind: other.kind,
    });
    let others: Vec<_> = others.collect();
    everything.extend(others);
    refuse_shared_otherwise(plan, &everything)?;
    let copies = stored_copies::find(plan, caller, &everything, objects, until)?;
    linked.extend(copies.iter().map(|copy| copy.file_id));
    everything.extend(copies);
    linked.extend(with_other_names(plan, caller, &led, until)?);
    for (boundary, found) in plan.boundaries.iter().zip(&mut found) {
        if boundary.kind != BoundaryKind::Directory {
            continue;
        }
        // The same directory may be in two boundaries, of which only one hides it.
        let hidden = &mut found.hidden;
        hidden.extend(everything.iter().filter_map(|one| {
            let path = one.path.strip_prefix(&boundary.host).ok()?.to_owned();
            Some(HiddenPath { path, file_id: one.file_id, kind: one.kind })
        }));
        if !linked.is_empty() {
            let same = in_boundary(boundary, caller, HideQuery::SameFiles(&linked), until, |_, _| ())?;
            hidden.extend(same.0.hidden);
        }
        outermost(hidden);
        refuse_other_paths(boundary, caller, hidden)?;
        // In what can only be read, nothing is moved.
        if boundary.mode == BoundaryMode::ReadWrite {
            (found.pins, found.links) = through.within(boundary);
            found.pins.extend(hidden.iter().flat_map(|one| on_the_way(&one.path)));
        }
    }
    Ok(found)
}

/// Lists the files that have other names, of what links lead to: files, and all that is in directories.
fn with_other_names(
    plan: &Plan,
    caller: Identity,
    led: &[PathBuf],
    until: Deadline,
) -> Result<HashSet<FileId>, StartError> {
    let mut linked = HashSet::new();
    for boundary in plan.boundaries.iter().filter(|boundary| boundary.kind == BoundaryKind::Directory) {
        let within = led.iter().filter_map(|path| path.strip_prefix(&boundary.host).ok());
        let within: Vec<&Path> = within.filter(|path| *path != Path::new("")).collect();
        if within.is_empty() {
            continue;
        }
        search_in(boundary, caller, "other names of what is hidden", |root| {
            for path in within {
                let own = beneath::stat(root, path).ok().map(|stat| (path.to_owned(), stat));
                let all = stored_copies::beneath_of(root, path, until)?.into_iter().chain(own);
                let is_linked = |stat: &Stat| {
                    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink > 1
                };
                linked
                    .extend(all.filter(|(_, stat)| is_linked(stat)).map(|(_, stat)| beneath::file_id(&stat)));
            }
            Ok(())
        })?;
    }
    Ok(linked)
}

/// Looks for another name of a single file in a writable directory: through it the agent can write what is read-only at the one that is
/// shared. Returns what to say of it.
pub(super) fn writable_name(
    plan: &Plan,
    caller: Identity,
    file: &Entered<'_>,
    until: Deadline,
) -> io::Result<Option<String>> {
    let stat = rustix::fs::fstat(file)?;
    let file_id = beneath::file_id(&stat);
    let may_hold = |boundary: &&Boundary| {
        boundary.mode == BoundaryMode::ReadWrite && boundary.file_id.device == file_id.device
    };
    for boundary in plan.boundaries.iter().filter(may_hold).filter(|_| stat.st_nlink > 1) {
        let held = Root::open(boundary, caller).map_err(io::Error::other)?;
        let search = hide::search(&held.enter()?, HideQuery::SameFiles(&HashSet::from([file_id])), until)?;
        if let Some(name) = search.hidden.iter().find(|one| one.file_id == file_id) {
            let path = escape::path(&boundary.guest.join(&name.path));
            return Ok(Some(format!("the same file is {path}, which can be written")));
        }
        if !search.is_whole {
            let name = &boundary.name;
            return Ok(Some(format!(
                "the file has other names, and there was no time to look for them in \"{name}\""
            )));
        }
    }
    Ok(None)
}

/// Looks through one boundary with the rights that count in it.
fn in_boundary<T>(
    boundary: &Boundary,
    caller: Identity,
    wanted: HideQuery<'_>,
    until: Deadline,
    more: impl FnOnce(&Entered<'_>, &HideSearch) -> T,
) -> Result<(HideSearch, T), StartError> {
    let (search, more) = search_in(boundary, caller, "what is hidden", |root| {
        let search = hide::search(root, wanted, until)?;
        let more = search.is_whole.then(|| more(root, &search));
        Ok((search, more))
    })?;
    more.map(|more| (search, more)).ok_or_else(|| {
        StartError::refused(
            format!("hidden paths in {}", shown(boundary)),
            format!(
                "there is too much in it to be looked through in {} seconds, and what is not found would be shown",
                SEARCH_LIMIT.as_secs()
            ),
            "share a smaller directory",
        )
    })
}

/// Identifies what a link leads to, as a program of the host would find it. One that leads nowhere hides nothing.
fn led_to(root: &Entered<'_>, link: &Path, boundary: &Boundary) -> Option<HiddenOnHost> {
    let open = || -> Result<HiddenOnHost, Errno> {
        let (parent, name) = beneath::parent(root, link)?;
        let target = rustix::fs::openat(parent, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let stat = rustix::fs::fstat(&target)?;
        Ok(HiddenOnHost {
            path: beneath::path_of(&target)?,
            file_id: beneath::file_id(&stat),
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            by: boundary.name.clone(),
        })
    };
    open().ok()
}

/// Returns why a sandbox is refused where a link leads to a directory that is shared, and a pattern would hide something beneath the link.
/// An agent can have made it for the next run.
fn in_the_way(
    root: &Entered<'_>,
    link: &Path,
    boundary: &Boundary,
    plan: &Plan,
    patterns: &HidePatterns,
) -> Option<StartError> {
    let led_to = led_to(root, link, boundary).filter(|led_to| led_to.kind == FileKind::Directory)?;
    let is_shared =
        |other: &Boundary| led_to.path.starts_with(&other.host) || other.host.starts_with(&led_to.path);
    if !plan.boundaries.iter().any(is_shared) {
        return None;
    }
    let pattern = match led_to.path.strip_prefix(&boundary.host) {
        Ok(directory) => patterns.hiding_beneath_link(link, directory)?,
        // Nothing is searched there by the patterns of this one.
        Err(_) => patterns.hiding_beneath_link(link, Path::new(""))?,
    };
    let shown = escape::path(link);
    Some(StartError::refused(
        format!("hidden path `{pattern}` in shared directory \"{}\"", boundary.name),
        format!(
            "{shown} is a symlink to {}, and a pattern follows none: what it names there would be shown",
            escape::path(&led_to.path)
        ),
        "write the pattern as seen where the link leads, or as a name without `/`; remove the link if an agent has made it",
    ))
}

/// Refuses what shows by itself what another boundary hides.
fn refuse_shared_otherwise(plan: &Plan, everything: &[HiddenOnHost]) -> Result<(), StartError> {
    let refuse = |asked: String, one: &HiddenOnHost| {
        let reason = format!("\"{}\" hides {}, which it would show", one.by, escape::path(&one.path));
        Err(StartError::refused(asked, reason, "hide less, or leave this out"))
    };
    for boundary in &plan.boundaries {
        let shows = |one: &&HiddenOnHost| {
            boundary.host.starts_with(&one.path)
                || (boundary.kind == BoundaryKind::File && boundary.file_id == one.file_id)
        };
        if let Some(one) = everything.iter().find(shows) {
            return refuse(shown(boundary), one);
        }
    }
    for exposed in &plan.expose {
        let shows =
            |one: &&HiddenOnHost| exposed.host.starts_with(&one.path) || one.path.starts_with(&exposed.host);
        if let Some(one) = everything.iter().find(shows) {
            return refuse(format!("exposing {} ({})", exposed.name, escape::path(&exposed.host)), one);
        }
    }
    Ok(())
}

/// Refuses what the file system shows by other paths than the one that is covered.
fn refuse_other_paths(
    boundary: &Boundary,
    caller: Identity,
    hidden: &[HiddenPath],
) -> Result<(), StartError> {
    let Some(first) = hidden.first() else { return Ok(()) };
    let paths = || hidden.iter().map(|one| one.path.as_path());
    let (other_case, snapshots) = search_in(boundary, caller, "other paths to what is hidden", |root| {
        Ok((aliases::other_case(root, paths())?, aliases::unlisted_snapshots(root, paths())?))
    })?;
    let asked = || format!("hidden path {} in {}", escape::path(&first.path), shown(boundary));
    if let Some(other) = other_case {
        let reason = format!(
            "its file system ignores upper and lower case, and a cover hides one spelling alone: {} is found, and not listed",
            escape::path(&other)
        );
        let remedy = "share a copy on a file system that tells upper and lower case apart, or one without what is to be hidden";
        return Err(StartError::refused(asked(), reason, remedy));
    }
    if let Some(snapshots) = snapshots {
        let reason = format!(
            "{} is there and not listed: what is hidden could be read in the snapshots in it, which cannot be searched",
            escape::path(&snapshots)
        );
        let remedy =
            "share a copy on a file system without snapshots, or a directory that does not show them";
        return Err(StartError::refused(asked(), reason, remedy));
    }
    Ok(())
}

/// Keeps of paths that lie in each other the outer ones.
fn outermost(found: &mut Vec<HiddenPath>) {
    found.sort_by(|one, other| one.path.cmp(&other.path));
    let mut last: Option<PathBuf> = None;
    found.retain(|one| {
        let is_within = last.as_ref().is_some_and(|last| one.path.starts_with(last));
        if !is_within {
            last = Some(one.path.clone());
        }
        !is_within
    });
}

#[cfg(test)]
mod tests {
    use policy::plan::FileId;

    use super::*;

    #[test]
    fn what_lies_in_a_hidden_directory_needs_no_cover_of_its_own() {
        let hidden = |path: &str| HiddenPath {
            path: path.into(),
            file_id: FileId { device: 1, inode: 2 },
            kind: FileKind::File,
        };
        let mut found: Vec<_> = ["b/x", "a", "a/b/c", "a", "ab", "b"].map(hidden).into();
        outermost(&mut found);
        assert_eq!(found, ["a", "ab", "b"].map(hidden));
    }
}
