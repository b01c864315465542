//! What an image has where an engine reaches into it, checked before anything is mounted or started.
//!
//! An engine follows the links of an image on the way to what it mounts, and makes what is missing there, as root also in a
//! shared directory. And Docker reads the image's `/etc/passwd` without asking whether it ever ends: a named pipe there
//! holds the container, and everybody who asks for it, until the engine is restarted.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use policy::text::escape;
use rustix::fs::FileType;
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::arguments::{self, Run};
use super::sweep;
use crate::engine::Engine;
use crate::engine::error::EngineError;
use crate::engine::image::Image;
use crate::engine::kind::Rights;
use crate::engine::socket::{EntryKind, Socket};
use crate::host::beneath;
use crate::host::identity::Identity;
use crate::session::error::StartError;
use crate::state::directory::{StateDir, StateError};
use crate::state::record::RunId;

/// The directory with an empty file for every image that passed its check, in the one of this process's own user: whoever can
/// make such a file turns the check off.
const CHECKED_IMAGES: &str = "images";

/// Files that engines read or mount something on.
const FILES: [&str; 2] = ["/etc/passwd", "/etc/group"];

/// An image that is to be checked.
pub(super) struct ImageToCheck<'a> {
    pub(super) engine: &'a Engine,
    pub(super) image: &'a Image,
    pub(super) platform: &'a str,
    pub(super) run: &'a RunId,
    /// Where something will be mounted.
    pub(super) places: &'a [PathBuf],
    pub(super) state: &'a Path,
    pub(super) owner: Identity,
    pub(super) own: &'a Path,
}

/// Refuses an image that has anything but directories on the way to a mount point, or anything but a file where files are
/// read. An image that passed stays so: its digest names its content.
pub(super) fn refuse_unfit(to_check: &ImageToCheck<'_>) -> Result<(), StartError> {
    if to_check.engine.socket().is_none() && to_check.engine.rights() != Rights::Rootful {
        // Podman makes files as its caller, who is then the agent too.
        return Ok(());
    }
    let failed =
        |error: StateError| StartError::step("recording the checked images")(io::Error::other(error));
    let checked_images =
        StateDir::open(&to_check.own.join(CHECKED_IMAGES), Identity::own()).map_err(failed)?;
    let key = key(to_check);
    if checked_images.read(&key).map_err(failed)?.is_some() {
        return Ok(());
    }
    let (checked, removed) = match to_check.engine.socket() {
        Some(socket) => check_in_container(to_check, socket),
        None => check_in_mount(to_check),
    };
    if let Some((path, what)) = checked? {
        return Err(StartError::refused(
            format!("image {}", to_check.image.name),
            format!("its {} {what}", escape::path(&path)),
            "an image with plain files and directories there would be allowed",
        ));
    }
    removed?;
    checked_images.write(&key, b"").map_err(failed)
}

/// The first thing that is not as it should be, and what it is.
type CheckResult = Result<Option<(PathBuf, &'static str)>, EngineError>;

/// Checks an image by a container that is created and never started: nothing is mounted in it, and nothing of the image
/// runs.
fn check_in_container(
    to_check: &ImageToCheck<'_>,
    socket: &Socket,
) -> (CheckResult, Result<(), EngineError>) {
    let platform = format!("--platform={}", to_check.platform);
    let run = Run { id: to_check.run, owner: to_check.owner.uid, state: to_check.state, own: to_check.own };
    let name = format!("--name={}", arguments::inspection_container_name(to_check.run));
    let labels = run.labels().map(|label| format!("--label={label}"));
    let words = ["create", "--pull=never", "--network=none", &platform, &name].into_iter();
    let words = words.chain(labels.iter().map(String::as_str));
    let made = to_check
        .engine
        .call(words.chain(["--entrypoint=/x", to_check.image.id.as_str()]), crate::engine::START);
    let checked = made.and_then(|container| {
        let kind_in = |path: &Path| socket.kind_in(container.trim(), path);
        let found = check(to_check.places, kind_in)?;
        // Of a container that is gone the engine says the same as of a path at which nothing is. Every container has a root.
        if kind_in(Path::new("/"))? == Some(EntryKind::Directory) {
            return Ok(found);
        }
        let message = "somebody has removed the container in which the image was checked";
        Err(EngineError::refused(to_check.engine.kind(), message.to_owned()))
    });
    (checked, sweep::remove(to_check.engine, run).map(drop))
}

/// Checks the image itself, which Podman of root's mounts for that: it has no daemon to query.
fn check_in_mount(to_check: &ImageToCheck<'_>) -> (CheckResult, Result<(), EngineError>) {
    let (engine, image) = (to_check.engine, to_check.image.id.as_str());
    let failed = |source| EngineError::Call { kind: engine.kind(), source };
    let check_at = |top: String| {
        let top = File::open(top.trim()).map_err(failed)?;
        check(to_check.places, |path| match beneath::stat(&top, path.strip_prefix("/").unwrap_or(path)) {
            Ok(stat) => Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Directory,
                FileType::Symlink => EntryKind::Link,
                _ => EntryKind::Other,
            })),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(failed(errno.into())),
        })
    };
    let checked = engine.call(["image", "mount", image], crate::engine::START).and_then(check_at);
    (checked, engine.call(["image", "unmount", image], crate::engine::START).map(drop))
}

/// Names the record of a check: this image of this engine, and these mount points in it.
fn key(to_check: &ImageToCheck<'_>) -> String {
    let mut hash = Sha256::new();
    let address = to_check.engine.address().unwrap_or_default();
    for part in [address.as_str(), to_check.image.id.as_str(), to_check.platform] {
        hash.update(part);
        hash.update([0]);
    }
    for place in to_check.places {
        hash.update(place.as_os_str().as_encoded_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().fold(String::new(), |name, byte| format!("{name}{byte:02x}"))
}

fn check(
    places: &[PathBuf],
    kind_at: impl Fn(&Path) -> Result<Option<EntryKind>, EngineError>,
) -> CheckResult {
    let files = FILES.map(Path::new);
    let all = places.iter().map(PathBuf::as_path).chain(files);
    // From the root on: what leads to a link is checked before what is behind it.
    let all: BTreeSet<&Path> = all.flat_map(Path::ancestors).filter(|path| path.parent().is_some()).collect();
    for path in all {
        let wrong = match kind_at(path)? {
            None | Some(EntryKind::Directory) => None,
            Some(EntryKind::File) if files.contains(&path) => None,
            Some(EntryKind::File) => Some("is a file where a directory has to be"),
            Some(EntryKind::Link) => Some("is a link, which the engine would follow to mount something"),
            Some(EntryKind::Other) => {
                Some("is neither a file nor a directory: whoever reads it may wait for ever")
            }
        };
        if let Some(wrong) = wrong {
            return Ok(Some((path.to_owned(), wrong)));
        }
    }
    Ok(None)
}
