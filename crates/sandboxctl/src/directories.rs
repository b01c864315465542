//! Directories of the host that are to be shared: what they are, and making those that are missing.

use std::fs::FileType;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use policy::plan::FileId;
use policy::policy::{Directory, Facts, Missing, Policy, Wanted};
use policy::problem::{Code, Problem};
use policy::workspace::{self, Caller, Candidate, Kind};
use sandbox::boundary::{self, Ask, BoundaryError};

use crate::cli::Request;
use crate::context::Context;
use crate::error::CommandError;
use crate::ui::{self, Ui};

/// Where a path leads with every link resolved, as far as it exists; `None` where that cannot be told.
pub(crate) fn resolve(path: &Path) -> Option<PathBuf> {
    let existing = path.ancestors().find(|ancestor| ancestor.symlink_metadata().is_ok())?;
    // What does not exist has no links, but `..` in it would still go elsewhere once it exists.
    let rest = path.strip_prefix(existing).ok()?;
    let plain = rest.components().all(|component| matches!(component, Component::Normal(_)));
    // A link that leads nowhere exists, and cannot be resolved.
    let resolved = existing.canonicalize().ok().filter(|_| plain)?;
    Some(if rest.as_os_str().is_empty() { resolved } else { resolved.join(rest) })
}

/// What a directory that is to be shared leads to. Whether it may be shared is for the policy to say.
pub(crate) fn look(context: &Context, wanted: &Wanted) -> Result<Directory, Missing> {
    let found = wanted.host.canonicalize().and_then(|host| {
        // The path has no links left. If somebody puts one there now, what is mounted is compared with this.
        let metadata = host.symlink_metadata()?;
        let file_id = FileId { device: metadata.dev(), inode: metadata.ino() };
        Ok(Directory { kind: kind(metadata.file_type()), owner: metadata.uid(), host, file_id })
    });
    found.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing(context, wanted),
        _ => Missing { reason: format!("cannot be looked at: {error}"), hint: None },
    })
}

/// Whether the directory of the host behind the agent's working directory is there. Where a link is on the way to it,
/// only the sandbox can tell.
pub(crate) fn look_at_start(policy: &Policy) -> Result<(), Missing> {
    let Some((wanted, below)) = policy.behind(policy.workdir().as_path()) else { return Ok(()) };
    let mut path = wanted.host.clone();
    for name in below.components() {
        path.push(name);
        let reason = match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => continue,
            Ok(metadata) if !metadata.is_symlink() => "is no directory",
            Err(error) if error.kind() == io::ErrorKind::NotFound => "does not exist",
            Ok(_) | Err(_) => return Ok(()),
        };
        return Err(Missing {
            reason: reason.to_owned(),
            hint: Some(format!("on this machine it is {}", path.display())),
        });
    }
    Ok(())
}

/// Directories that may be made because they are missing.
pub(crate) fn to_make<'p>(request: &Request, policy: &'p Policy) -> Vec<&'p Wanted> {
    let answers = &request.source.answers;
    if request.create_dirs || answers.yes || !answers.no_input && ui::can_ask() {
        policy.boundaries().iter().filter(|wanted| !wanted.host.exists()).collect()
    } else {
        Vec::new()
    }
}

/// What will be there once these directories are made.
pub(crate) fn as_if_made(context: &Context, missing: &[&Wanted], facts: &Facts) -> Facts {
    let mut facts = facts.clone();
    for wanted in missing {
        if let Some(host) = resolve(&wanted.host) {
            let file_id = FileId { device: 0, inode: 0 };
            let directory = Directory { host, kind: Kind::Directory, owner: context.caller.uid, file_id };
            facts.directories.insert(wanted.name.clone(), Ok(directory));
        }
    }
    facts
}

/// Makes the directories that are missing, where the caller said so or says so when asked.
pub(crate) fn make(
    ui: &Ui,
    context: &Context,
    request: &Request,
    missing: &[&Wanted],
) -> Result<(), CommandError> {
    for wanted in missing {
        let host = wanted.host.display();
        let agreed = request.create_dirs
            || request.source.answers.yes
            || ui::confirm(&format!("{host} does not exist; create it?"))?;
        if agreed {
            create(context, wanted)?;
            ui.note(format_args!("created {host}"));
        }
    }
    Ok(())
}

fn create(context: &Context, wanted: &Wanted) -> Result<(), CommandError> {
    let Wanted { name, host, guest, mode, place } = wanted;
    let ask = Ask { name, host, guest: guest.as_path(), mode: *mode };
    boundary::create(&ask, &caller(context, &context.homes()), context.caller).map_err(|error| {
        let code = if let BoundaryError::Refused(_) = error { Code::Refused } else { Code::Host };
        CommandError::problems(vec![Problem::new(place, wanted.key(), code, error.to_string())])
    })
}

/// A missing directory where nothing may be shared is refused at once: making it would not help.
fn missing(context: &Context, wanted: &Wanted) -> Missing {
    let refusal = resolve(&wanted.host).and_then(|resolved| {
        let candidate = Candidate {
            given: &wanted.host,
            resolved: &resolved,
            kind: Kind::Directory,
            owner: context.caller.uid,
            mode: wanted.mode,
        };
        workspace::validate(&candidate, &caller(context, &context.homes())).err()
    });
    match refusal {
        Some(refusal) => Missing { reason: format!("cannot be shared: {}", refusal.rule), hint: None },
        None => Missing {
            reason: "does not exist".to_owned(),
            hint: Some("create it, or let `--create-dirs` do that".to_owned()),
        },
    }
}

fn caller<'a>(context: &Context, homes: &'a [&'a Path]) -> Caller<'a> {
    Caller { uid: context.caller.uid, homes, allowed_root: None }
}

fn kind(file_type: FileType) -> Kind {
    if file_type.is_dir() {
        Kind::Directory
    } else if file_type.is_socket() {
        Kind::Socket
    } else if file_type.is_fifo() {
        Kind::Fifo
    } else if file_type.is_file() {
        Kind::File
    } else {
        Kind::Device
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn resolves_as_far_as_the_path_exists() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        fs::create_dir(top.join("real")).unwrap();
        symlink("real", top.join("link")).unwrap();
        symlink("nowhere", top.join("dangling")).unwrap();
        assert_eq!(resolve(&top.join("link")), Some(top.join("real")));
        assert_eq!(resolve(&top.join("link/a/b")), Some(top.join("real/a/b")));
        assert_eq!(resolve(&top.join("missing/../a")), None);
        assert_eq!(resolve(&top.join("dangling")), None);
        assert_eq!(resolve(&top.join("dangling/a")), None);
    }
}
