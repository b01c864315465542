//! What was typed, as the strongest layer of settings.

use std::ffi::OsString;
use std::path::Path;

use policy::config::overrides::{EnvFile, Overrides};
use policy::text::escape;
use sandbox::host::small_file;

use crate::cli::PlanRequest;
use crate::context::Context;

/// Collects the flags and the command, unchecked. Reads the files of variables that they name.
pub(crate) fn overrides(context: &Context, request: &PlanRequest, argv: Vec<OsString>) -> Overrides {
    Overrides {
        name: request.name.clone(),
        platform: request.platform.clone(),
        keys: request.keys.0.clone(),
        volume: request.volume.clone(),
        socket: request.socket.clone(),
        env: request.env.clone(),
        unset_env: request.unset_env.clone(),
        env_file: request.env_file.iter().map(|path| env_file(context, path)).collect(),
        command: argv,
    }
}

fn env_file(context: &Context, path: &Path) -> EnvFile {
    let reached = context.path_to(&context.cwd.join(path));
    let text = reached.and_then(|reached| small_file::read(&reached, context.caller));
    let text = text.map_err(|error| error.to_string());
    EnvFile { label: escape::path(path), text }
}
