//! What an image has where an engine reaches into it, looked at before anything is mounted or started.
//!
//! An engine follows the links of an image on the way to what it mounts, and makes what is missing there, as root also in a
//! shared directory. And Docker reads the image's `/etc/passwd` without asking whether it ever ends: a named pipe there
//! holds the container, and everybody who asks for it, until the engine is restarted.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{StartError, arguments, step, sweep};
use crate::engine::image::Image;
use crate::engine::socket::{FileKind, Socket};
use crate::engine::{Engine, EngineError};
use crate::host_uid::Identity;
use crate::record::RunId;
use crate::state::{StateDir, StateError};

/// The directory with an empty file for every image that was found fit, in the state directory.
const FIT: &str = "images";

/// Files that engines read or mount something on.
const FILES: [&str; 2] = ["/etc/passwd", "/etc/group"];

/// An image that is to be looked at.
pub(super) struct Sought<'a> {
    pub(super) engine: &'a Engine,
    pub(super) image: &'a Image,
    pub(super) platform: &'a str,
    pub(super) run: &'a RunId,
    /// Where something will be mounted.
    pub(super) places: &'a [PathBuf],
    pub(super) state: &'a Path,
    pub(super) owner: Identity,
}

/// Refuses an image that has anything but directories on the way to a mount point, or anything but a file where files are
/// read. An image that was found fit stays so: its digest names its content.
pub(super) fn refuse_unfit(sought: &Sought<'_>) -> Result<(), StartError> {
    // Podman has no daemon that could be held up, and makes files as its caller, who is then the agent too.
    let Some(socket) = sought.engine.socket() else { return Ok(()) };
    let failed = |error: StateError| step("remembering which images are fit")(io::Error::other(error));
    let fit = StateDir::open(&sought.state.join(FIT), sought.owner).map_err(failed)?;
    let key = key(sought);
    if fit.read(&key).map_err(failed)?.is_some() {
        return Ok(());
    }

    // A container that is made and never started: nothing is mounted in it, and nothing of the image runs.
    let label = format!("--label={}={}", arguments::ID, sought.run.as_str());
    let managed = format!("--label={}", arguments::MANAGED);
    let platform = format!("--platform={}", sought.platform);
    let owner = format!("--label={}={}", arguments::OWNER, sought.owner.uid);
    let words = ["create", "--pull=never", "--network=none", &label, &managed, &owner, &platform];
    let made = sought
        .engine
        .call(words.into_iter().chain(["--entrypoint=/x", sought.image.reference.as_str()]), super::START);
    let looked = made.and_then(|container| look(socket, container.trim(), sought.places));
    let removed = sweep::remove(sought.engine, sought.owner.uid, sought.run);
    if let Some((path, what)) = looked? {
        return Err(StartError::Refused {
            asked: format!("image {}", sought.image.reference),
            reason: format!("its {} {what}", path.display()),
            remedy: "an image with plain files and directories there would be allowed".into(),
        });
    }
    removed?;
    fit.write(&key, b"").map_err(failed)
}

/// The name of what is remembered: this image of this engine, and these places in it.
fn key(sought: &Sought<'_>) -> String {
    let mut hash = Sha256::new();
    let address = sought.engine.address().unwrap_or_default();
    for part in [address.as_str(), &sought.image.id, sought.platform] {
        hash.update(part);
        hash.update([0]);
    }
    for place in sought.places {
        hash.update(place.as_os_str().as_encoded_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().fold(String::new(), |name, byte| format!("{name}{byte:02x}"))
}

/// The first thing that is not as it should be, and what it is.
fn look(
    socket: &Socket,
    container: &str,
    places: &[PathBuf],
) -> Result<Option<(PathBuf, &'static str)>, EngineError> {
    let files = FILES.map(Path::new);
    let all = places.iter().map(PathBuf::as_path).chain(files);
    // From the root on: what leads to a link is looked at before what is behind it.
    let all: BTreeSet<&Path> = all.flat_map(Path::ancestors).filter(|path| path.parent().is_some()).collect();
    for path in all {
        let wrong = match socket.kind_in(container, path)? {
            None | Some(FileKind::Directory) => None,
            Some(FileKind::File) if files.contains(&path) => None,
            Some(FileKind::File) => Some("is a file where a directory has to be"),
            Some(FileKind::Link) => Some("is a link, which the engine would follow to mount something"),
            Some(FileKind::Other) => {
                Some("is neither a file nor a directory: whoever reads it may wait for ever")
            }
        };
        if let Some(wrong) = wrong {
            return Ok(Some((path.to_owned(), wrong)));
        }
    }
    Ok(None)
}
