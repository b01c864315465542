//! Facts: what the host has of what a policy names.

use std::collections::BTreeMap;
use std::path::Path;

use policy::policy::{Facts, Policy};

use crate::context::Context;
use crate::directories;

/// Looks up every directory and toolchain that the policy names.
pub(crate) fn gather(context: &Context, policy: &Policy, name: String) -> Facts {
    let directories = policy.boundaries().iter();
    Facts {
        name,
        environment: context.env.clone().into_iter().collect(),
        directories: directories
            .map(|wanted| (wanted.name.clone(), directories::look(context, wanted)))
            .collect(),
        toolchains: BTreeMap::new(),
        uid: context.caller.uid,
        homes: context.homes().into_iter().map(Path::to_owned).collect(),
        allowed_root: None,
    }
}
