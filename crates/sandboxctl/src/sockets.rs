//! Sockets of the host that the agent may connect to: what they are.

use std::io;
use std::path::{Path, PathBuf};

use policy::rules::shared_dir::PathKind;
use policy::rules::socket::SocketSource;
use policy::text::escape;
use policy::{SocketRequest, Unavailable};
use sandbox::boundary::resolve::Lead;

use crate::context::Context;
use crate::directories::Directories;

/// Finds a socket, as the caller could.
pub(crate) fn find(
    context: &Context,
    directories: &mut Directories,
    wanted: &SocketRequest,
) -> Result<PathBuf, Unavailable> {
    let unavailable = |reason: String, hint: Option<&str>| Unavailable { reason, hint: hint.map(Into::into) };
    let path = match &wanted.source {
        SocketSource::Path(path) => path.clone(),
        SocketSource::Variable(name) => match context.env.get(name.as_ref() as &std::ffi::OsStr) {
            Some(value) if Path::new(value).is_absolute() => value.into(),
            Some(_) => return Err(unavailable(format!("the variable {name} holds no absolute path"), None)),
            None => {
                let hint = "start the service that sets it, or leave the socket out";
                return Err(unavailable(format!("the variable {name} is not set"), Some(hint)));
            }
        },
    };
    let shown = escape::path(&path);
    match directories.follow(context, &path) {
        Ok(Lead::Found(found)) if found.kind == PathKind::Socket => Ok(found.path.clone()),
        Ok(Lead::Found(found)) => {
            let hint = "a directory or a file is shared by `--volume`";
            Err(unavailable(format!("`{shown}` is no socket, but {}", found.kind), Some(hint)))
        }
        Ok(Lead::Missing(_)) => Err(unavailable(
            format!("`{shown}` does not exist"),
            Some("start the service that listens there"),
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(unavailable(
            format!("`{shown}` does not exist"),
            Some("start the service that listens there"),
        )),
        Err(error) => Err(unavailable(format!("`{shown}` cannot be examined: {error}"), None)),
    }
}
