//! What a command gets of its caller besides its streams: its environment, and the umask.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;

use confine::protocol::EnvEntry;
use policy::plan::Plan;
use policy::rules::env::{EnvRules, Unnamed};
use policy::rules::network::egress;

use crate::secrets::SecretValue;
use crate::session::error::StartError;

/// Returns the environment of a command without an image: what the plan says.
pub(crate) fn environment(plan: &Plan, secrets: &[(String, SecretValue)]) -> Vec<EnvEntry> {
    let routes = plan.routes.iter().flat_map(|route| &route.variables);
    let plain = plan
        .env
        .iter()
        .chain(routes)
        .map(|variable| entry(OsStr::new(&variable.name), variable.value.as_bytes()));
    plain.chain(secrets.iter().map(|(name, value)| entry(OsStr::new(name), value.as_bytes()))).collect()
}

/// Returns the environment of a command in a container: what the image sets (as `NAME=value`), unless it is reserved, and over that
/// what the plan says.
///
/// Not what the engine passes: its settings may hold more, such as proxies with passwords.
pub(crate) fn environment_in_image(
    plan: &Plan,
    image_env: &[String],
    secrets: &[(String, SecretValue)],
) -> Vec<EnvEntry> {
    let given = image_env.iter().filter_map(|entry| {
        let (name, value) = entry.split_once('=')?;
        Some((OsString::from(name), OsString::from(value)))
    });
    let kept = policy::rules::env::apply(given, &EnvRules::new(Unnamed::Keep)).kept;
    let shell = (OsString::from("SHELL"), OsString::from("/bin/sh"));
    let mut all: BTreeMap<OsString, OsString> = std::iter::once(shell).chain(kept).collect();
    for name in &plan.unset {
        all.remove(OsStr::new(name));
    }
    for variable in plan.env.iter().chain(plan.routes.iter().flat_map(|route| &route.variables)) {
        let value = match all.get(OsStr::new(&variable.name)) {
            Some(of_image) if egress::is_java_options(&variable.name, &variable.value) => {
                egress::java_options_before(of_image)
            }
            _ => variable.value.clone(),
        };
        all.insert(variable.name.clone().into(), value);
    }
    for (name, _) in secrets {
        all.remove(OsStr::new(name));
    }
    let plain = all.iter().map(|(name, value)| entry(name, value.as_bytes()));
    plain.chain(secrets.iter().map(|(name, value)| entry(OsStr::new(name), value.as_bytes()))).collect()
}

/// Adds to the environment of an exec what the sandbox has by its egress proxy. What names the proxy yields to what the caller sets, as
/// it does for a first command.
pub(crate) fn add_of_proxy(
    all: &mut Vec<EnvEntry>,
    plan: &Plan,
    secrets: &[(String, SecretValue)],
    of_proxy: Vec<EnvEntry>,
) -> Result<(), StartError> {
    let set = plan.env.iter().map(|variable| &variable.name).chain(secrets.iter().map(|(name, _)| name));
    let set: Vec<&String> = set.collect();
    let is_unset = |variable: &EnvEntry| {
        let mut unset = plan.unset.iter();
        unset.any(|unset| unset.as_bytes() == name(variable) && egress::is_variable(unset))
    };
    for variable in of_proxy.into_iter().filter(|variable| !is_unset(variable)) {
        if name(&variable) == egress::JAVA_OPTIONS.as_bytes() {
            let others = all.iter().find(|other| name(other) == name(&variable));
            let others = others.map_or(&[][..], |other| &other[name(other).len() + 1..]);
            let value = egress::java_options_before(OsStr::from_bytes(others));
            all.retain(|other| name(other) != name(&variable));
            all.push(entry(OsStr::new(egress::JAVA_OPTIONS), value.as_bytes()));
            continue;
        }
        match set.iter().find(|set| set.as_bytes() == name(&variable)) {
            Some(set) if egress::is_variable(set) => {}
            // A key for one server and the address of another would send one to the other.
            Some(set) => {
                return Err(StartError::refused(
                    format!("the variable {set}"),
                    "the sandbox has it already, for a credential that its egress proxy adds",
                    "leave it out, or take another name",
                ));
            }
            None => {
                all.retain(|other| name(other) != name(&variable));
                all.push(variable);
            }
        }
    }
    Ok(())
}

fn name(entry: &EnvEntry) -> &[u8] {
    entry.split(|byte| *byte == b'=').next().unwrap_or_default()
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
