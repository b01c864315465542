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

/// The directory with an empty file for every image that was found fit, in the one of this process's own user: whoever can
/// make such a file turns the search off.
const FIT: &str = "images";

/// Files that engines read or mount something on.
const FILES: [&str; 2] = ["/etc/passwd", "/etc/group"];

/// An image that is to be looked at.
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
/// read. An image that was found fit stays so: its digest names its content.
pub(super) fn refuse_unfit(sought: &ImageToCheck<'_>) -> Result<(), StartError> {
    if sought.engine.socket().is_none() && sought.engine.rights() != Rights::Rootful {
        // Podman makes files as its caller, who is then the agent too.
        return Ok(());
    }
    let failed =
        |error: StateError| StartError::step("recording the checked images")(io::Error::other(error));
    let fit = StateDir::open(&sought.own.join(FIT), Identity::own()).map_err(failed)?;
    let key = key(sought);
    if fit.read(&key).map_err(failed)?.is_some() {
        return Ok(());
    }
    let (looked, removed) = match sought.engine.socket() {
        Some(socket) => look_in_container(sought, socket),
        None => look_in_mount(sought),
    };
    if let Some((path, what)) = looked? {
        return Err(StartError::refused(
            format!("image {}", sought.image.name),
            format!("its {} {what}", escape::path(&path)),
            "an image with plain files and directories there would be allowed",
        ));
    }
    removed?;
    fit.write(&key, b"").map_err(failed)
}

/// The first thing that is not as it should be, and what it is.
type Looked = Result<Option<(PathBuf, &'static str)>, EngineError>;

/// Checks an image by a container that is created and never started: nothing is mounted in it, and nothing of the image
/// runs.
fn look_in_container(sought: &ImageToCheck<'_>, socket: &Socket) -> (Looked, Result<(), EngineError>) {
    let platform = format!("--platform={}", sought.platform);
    let run = Run { id: sought.run, owner: sought.owner.uid, state: sought.state, own: sought.own };
    let name = format!("--name={}", arguments::name_of_look(sought.run));
    let labels = run.labels().map(|label| format!("--label={label}"));
    let words = ["create", "--pull=never", "--network=none", &platform, &name].into_iter();
    let words = words.chain(labels.iter().map(String::as_str));
    let made =
        sought.engine.call(words.chain(["--entrypoint=/x", sought.image.id.as_str()]), crate::engine::START);
    let looked =
        made.and_then(|container| look(sought.places, |path| socket.kind_in(container.trim(), path)));
    (looked, sweep::remove(sought.engine, run).map(drop))
}

/// Checks the image itself, which Podman of root's mounts for that: it has no daemon to query.
fn look_in_mount(sought: &ImageToCheck<'_>) -> (Looked, Result<(), EngineError>) {
    let (engine, image) = (sought.engine, sought.image.id.as_str());
    let failed = |source| EngineError::Call { kind: engine.kind(), source };
    let look_at = |top: String| {
        let top = File::open(top.trim()).map_err(failed)?;
        look(sought.places, |path| match beneath::stat(&top, path.strip_prefix("/").unwrap_or(path)) {
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
    let looked = engine.call(["image", "mount", image], crate::engine::START).and_then(look_at);
    (looked, engine.call(["image", "unmount", image], crate::engine::START).map(drop))
}

/// Names the record of a check: this image of this engine, and these mount points in it.
fn key(sought: &ImageToCheck<'_>) -> String {
    let mut hash = Sha256::new();
    let address = sought.engine.address().unwrap_or_default();
    for part in [address.as_str(), sought.image.id.as_str(), sought.platform] {
        hash.update(part);
        hash.update([0]);
    }
    for place in sought.places {
        hash.update(place.as_os_str().as_encoded_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().fold(String::new(), |name, byte| format!("{name}{byte:02x}"))
}

fn look(places: &[PathBuf], kind_at: impl Fn(&Path) -> Result<Option<EntryKind>, EngineError>) -> Looked {
    let files = FILES.map(Path::new);
    let all = places.iter().map(PathBuf::as_path).chain(files);
    // From the root on: what leads to a link is looked at before what is behind it.
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
