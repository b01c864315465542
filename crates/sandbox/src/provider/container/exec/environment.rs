//! The environment of an exec: that of a first command, with what the sandbox has by its egress proxy.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use confine::protocol::EnvEntry;
use policy::plan::Plan;
use policy::rules::network::egress;

use crate::engine::image::Image;
use crate::provider::container::init_spec;
use crate::secrets::SecretValue;
use crate::session::environment::entry;
use crate::session::error::StartError;

/// Makes it. What names the proxy yields to what the caller sets, as it does for a first command.
pub(super) fn of(
    plan: &Plan,
    image: &Image,
    secrets: &[(String, SecretValue)],
    of_proxy: Vec<EnvEntry>,
) -> Result<Vec<EnvEntry>, StartError> {
    let mut all = init_spec::environment(plan, image, secrets);
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
    Ok(all)
}

fn name(entry: &EnvEntry) -> &[u8] {
    entry.split(|byte| *byte == b'=').next().unwrap_or_default()
}
