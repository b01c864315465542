//! What PID 1 of a container is to run.

use std::io;
use std::path::PathBuf;

use confine::kernel_file::namespace_inode;
use confine::protocol::{CommandSpec, Expectations, ExpectedMount, InitSpec, Rootfs};
use policy::plan::{Layer, Plan};

use super::arguments;
use super::identity::ContainerUser;
use crate::engine::image::Image;
use crate::provider::init_spec;
use crate::session::children;
use crate::session::error::StartError;
use crate::session::streams::{OwnTerminal, Streams};

/// Makes the init spec.
pub(super) fn of(
    plan: &Plan,
    image: &Image,
    user: &ContainerUser,
    command: Option<CommandSpec>,
    streams: &Streams,
    terminal: Option<&OwnTerminal>,
    mounts: Vec<ExpectedMount>,
) -> Result<InitSpec, StartError> {
    // The socket of PID 1 has shown whose users they are.
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
        command,
        stay: None,
        sockets: children::listening_at(plan),
        grants: init_spec::grants(plan)
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
