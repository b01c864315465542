//! What a command gets of its caller besides its streams: its environment, and the umask.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;

use confine::protocol::EnvEntry;
use policy::plan::Plan;

use crate::secrets::SecretValue;

/// Returns the environment of the agent.
pub(crate) fn environment(plan: &Plan, secrets: &[(String, SecretValue)]) -> Vec<EnvEntry> {
    let routes = plan.routes.iter().flat_map(|route| &route.variables);
    let plain = plan
        .env
        .iter()
        .chain(routes)
        .map(|variable| entry(OsStr::new(&variable.name), variable.value.as_bytes()));
    plain.chain(secrets.iter().map(|(name, value)| entry(OsStr::new(name), value.as_bytes()))).collect()
}

/// Formats one variable as a process gets it.
pub(crate) fn entry(name: &OsStr, value: &[u8]) -> EnvEntry {
    // All at once: nothing grows, and leaves a copy behind.
    [name.as_bytes(), b"=", value].concat().into()
}

/// Reads the caller's umask from `/proc`: umask(2) returns it only by changing it, for all threads.
pub(crate) fn umask() -> io::Result<u32> {
    let status = std::fs::read_to_string("/proc/thread-self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    let umask = line.and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
    umask.ok_or_else(|| io::Error::other("/proc/thread-self/status does not show it"))
}
