//! What was typed, as the strongest layer of settings.

use std::ffi::OsString;
use std::path::PathBuf;

use policy::config::overrides::{BareNames, EnvFile, Overrides};
use policy::text::escape;
use sandbox::state::writable::{Unsafe, Writable};

use crate::cli::PlanRequest;
use crate::context::Context;

/// Collects the flags and the command, unchecked, without the files of variables that they name: see [`env_files`].
pub(crate) fn overrides(request: &PlanRequest, argv: Vec<OsString>) -> Overrides {
    Overrides {
        name: request.name.clone(),
        platform: request.platform.clone(),
        keys: request.keys.0.clone(),
        volume: request.volume.clone(),
        socket: request.socket.clone(),
        env: request.env.clone(),
        unset_env: request.unset_env.clone(),
        env_file: Vec::new(),
        command: argv,
    }
}

/// Reads the files of variables. One that an agent may have written, or another user, sets variables and passes none of the caller's.
pub(crate) fn env_files(context: &Context, request: &PlanRequest, writable: &Writable) -> Vec<EnvFile> {
    let read = |path: &PathBuf| {
        let absolute = context.cwd.join(path);
        let read = context.path_to(&absolute).map_err(Unsafe::from);
        let read = read.and_then(|reached| writable.read_of_anybody(&reached, &absolute, context.caller));
        let (text, bare_names) = match read {
            Ok((text, author)) => (Ok(text), author.reason().map_or(BareNames::Pass, BareNames::Refused)),
            Err(error) => (Err(error.to_string()), BareNames::Pass),
        };
        EnvFile { label: escape::path(path), text, bare_names }
    };
    request.env_file.iter().map(read).collect()
}
