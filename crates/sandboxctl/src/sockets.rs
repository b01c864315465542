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
    // A variable that was named as a path is a common slip.
    let is_variable = path.file_name().is_some_and(|name| context.env.contains_key(name));
    let hint = if is_variable {
        "`env:NAME` names the socket whose path a variable has"
    } else {
        "start the service that listens there"
    };
    let missing = unavailable(format!("`{shown}` does not exist"), Some(hint));
    match directories.follow(context, &path) {
        Ok(Lead::Found(found)) if found.kind == PathKind::Socket => Ok(found.path.clone()),
        Ok(Lead::Found(found)) => {
            let hint = "a directory or a file is shared by `--volume`";
            Err(unavailable(format!("`{shown}` is no socket, but {}", found.kind), Some(hint)))
        }
        Ok(Lead::Missing(_)) => Err(missing),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing),
        Err(error) => Err(unavailable(format!("`{shown}` cannot be examined: {error}"), None)),
    }
}
