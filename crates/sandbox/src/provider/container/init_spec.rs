//! What PID 1 of a container is to run, and with which environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use confine::kernel_file::namespace_inode;
use confine::protocol::{
    CommandSpec, EnvEntry, Expectations, ExpectedMount, InitSpec, ProcessLimits, Rootfs, Terminal,
};
use policy::plan::{Layer, Plan};
use policy::rules::env::{EnvRules, Unnamed};
use policy::rules::network::egress;

use super::arguments;
use super::identity::ContainerUser;
use crate::engine::image::Image;
use crate::provider::init_spec;
use crate::secrets::SecretValue;
use crate::session::environment::{entry, umask};
use crate::session::error::StartError;
use crate::session::streams::{OwnTerminal, Streams};

/// Makes the init spec.
pub(super) fn of(
    plan: &Plan,
    image: &Image,
    user: &ContainerUser,
    secrets: &[(String, SecretValue)],
    streams: &Streams,
    terminal: Option<&OwnTerminal>,
    mounts: Vec<ExpectedMount>,
) -> Result<InitSpec, StartError> {
    // Whose users they are, the socket of PID 1 has told.
    let names = Expectations::NAMESPACES.into_iter().filter(|(_, layer)| *layer != Layer::User);
    let namespaces: io::Result<Vec<_>> =
        names.map(|(name, _)| Ok((name.to_owned(), namespace_inode(name)?))).collect();
    Ok(InitSpec {
        rootfs: Rootfs::Engine {
            limits: plan.limits.clone(),
            user_namespace: user.namespace.kind(),
            tmpfs: arguments::tmpfs_paths(plan).map(PathBuf::from).collect(),
            other_mounts: arguments::places(plan, image)
                .map_err(StartError::step("reading what is mounted"))?,
        },
        command: Some(CommandSpec {
            argv: plan.agent.argv.iter().map(|argument| argument.as_bytes().to_vec()).collect(),
            env: environment(plan, image, secrets),
            workdir: plan.agent.workdir.clone(),
            umask: umask().map_err(StartError::step("reading the umask of this process"))?,
            process_limits: ProcessLimits::of(&plan.limits),
            terminal: terminal.map(|terminal| Terminal::Stream(terminal.first)),
            passed: streams.passed_as(),
        }),
        stay: None,
        sockets: plan.sockets.iter().map(|socket| socket.guest.clone()).collect(),
        grants: init_spec::grants(plan, &arguments::TMPFS_PATHS)
            .into_iter()
            .chain(streams.grants())
            .chain(terminal.into_iter().flat_map(OwnTerminal::grants))
            .collect(),
        interception: None,
        git: plan.git.clone(),
        expected: Expectations {
            foreign_namespaces: namespaces
                .map_err(StartError::step("reading the namespaces of this process"))?,
            uid: user.agent.uid,
            uid_inside: user.inside.0,
            network: plan.network.mode(),
            mounts,
        },
        required: init_spec::required_inside(plan),
    })
}

/// Returns the environment of the agent: what the image sets, unless it is reserved, and over that what the plan says.
///
/// Not what the engine passes: its settings may hold more, such as proxies with passwords.
pub(super) fn environment(plan: &Plan, image: &Image, secrets: &[(String, SecretValue)]) -> Vec<EnvEntry> {
    let given = image.config.env.iter().filter_map(|entry| {
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
