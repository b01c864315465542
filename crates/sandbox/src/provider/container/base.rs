//! What a container is made from: an engine that answers, the image that it has, and the identity of the agent.

use std::path::{Path, PathBuf};
use std::time::Duration;

use confine::protocol::ExpectedMount;
use policy::plan::{Container, Plan};
use policy::rules::network::egress::DNS;
use policy::rules::rootfs::TMPFS_PATHS;

use super::arguments::{self, ContainerRequest, Life, Run};
use super::directories::HeldDirectories;
use super::identity::{self, ContainerUser, Mounter};
use super::rendezvous::{InitConnection, RendezvousDir, RendezvousListener};
use super::rootfs;
use super::started::Started;
use super::unsupported;
use crate::boundary::protect::mounts::Mounts;
use crate::engine::error::EngineError;
use crate::engine::error_patterns::FailureCause;
use crate::engine::image::Image;
use crate::engine::kind::EngineKind;
use crate::engine::surroundings::Surroundings;
use crate::engine::{self, Engine, image};
use crate::host::clock::now;
use crate::host::identity::Identity;
use crate::session::attendance::Parent;
use crate::session::error::StartError;
use crate::session::outcome::Notice;
use crate::state::client::Client;
use crate::state::record::RunId;

/// How much longer for each volume: Docker writes several files for one.
const EACH_VOLUME: Duration = Duration::from_millis(500);

/// Who wants a container, and of what.
#[derive(Clone, Copy)]
pub(super) struct WantedContainer<'a> {
    pub(super) plan: &'a Plan,
    pub(super) container: &'a Container,
    pub(super) caller: Identity,
    /// The caller's state directory.
    pub(super) state: &'a Path,
    /// The directory of this process's own user.
    pub(super) own: &'a Path,
    /// Where running sandboxes of root lock their host user ids.
    pub(super) locks: &'a Path,
}

/// What a container is made from.
pub(super) struct ContainerBase {
    pub(super) engine: Engine,
    pub(super) user: ContainerUser,
    pub(super) image: Image,
    pub(super) platform: String,
}

/// One container that is to be made.
pub(super) struct Making<'a> {
    /// What is to be mounted over each boundary.
    pub(super) protected: &'a [Mounts],
    pub(super) held: &'a HeldDirectories,
    pub(super) rendezvous: &'a Path,
    pub(super) life: Life,
}

impl<'a> WantedContainer<'a> {
    /// Returns the run of this id.
    pub(super) fn run(self, id: &'a RunId) -> Run<'a> {
        Run { id, owner: self.caller.uid, state: self.state, own: self.own }
    }
}

impl ContainerBase {
    /// Finds the engine, chooses the agent, and has the image fetched if it is to be.
    pub(super) fn find(
        wanted: WantedContainer<'_>,
        engines: &Surroundings,
        notice: &mut dyn FnMut(Notice),
    ) -> Result<Self, StartError> {
        let WantedContainer { plan, container, caller, locks, .. } = wanted;

        // 2. An engine that answers.
        let kind = EngineKind::of(plan.provider);
        let engine = Engine::find(kind, engines)?;

        // 3. The identity of the agent, on the host and inside.
        let user = identity::choose(&engine, container, caller, locks)?;
        unsupported::refuse_no_exec(plan, kind, user.mounter)?;

        // 4. The image. It is fetched now or not at all.
        let image = engine.provide(&container.image, container.pull, container.platform.as_deref())?;
        let platform = container.platform.clone().unwrap_or_else(|| format!("linux/{}", image.architecture));
        let architecture = platform.rsplit('/').next().unwrap_or_default();
        image::refuse_foreign(Path::new("/"), &container.image, architecture)?;
        if container.platform.is_none() && !image.is_for(None) {
            notice(Notice::Warning(format!(
                "{kind} has image {} for {platform} only, which is emulated here",
                container.image
            )));
        }
        unsupported::refuse_volumes(plan, &container.image, &image)?;
        unsupported::refuse_missing_mount_points(plan, caller)?;
        Ok(Self { engine, user, image, platform })
    }

    /// Refuses an image with something in the way of what the engine mounts. What the engine would reach for is looked at by the engine
    /// itself, once for each image. A container that is made for that goes with the record of this run.
    pub(super) fn refuse_unfit(&self, wanted: WantedContainer<'_>, id: &RunId) -> Result<(), StartError> {
        let guests = wanted.plan.boundaries.iter().map(|boundary| boundary.guest.clone());
        let temporary = TMPFS_PATHS.iter().filter(|path| !path.starts_with("/dev")).map(PathBuf::from);
        let places: Vec<PathBuf> = guests.chain(temporary).chain(self.image.config.volumes()).collect();
        rootfs::refuse_unfit(&rootfs::ImageToCheck {
            engine: &self.engine,
            image: &self.image,
            platform: &self.platform,
            run: id,
            places: &places,
            state: wanted.state,
            owner: wanted.caller,
            own: wanted.own,
        })
    }

    /// Makes the rendezvous directory, with what the engine is to show of ours.
    pub(super) fn prepare_rendezvous(
        &self,
        own: &Path,
        id: &RunId,
    ) -> Result<(RendezvousDir, RendezvousListener), StartError> {
        let files = [
            ("passwd", self.user.passwd(policy::config::defaults::HOME)),
            ("group", self.user.group()),
            ("resolv.conf", format!("nameserver {}\n", DNS.ip())),
        ];
        RendezvousDir::prepare(own, id, &files).map_err(StartError::step("creating the rendezvous directory"))
    }

    /// Opens what the engine is to mount by descriptors of this process.
    pub(super) fn held(
        &self,
        wanted: WantedContainer<'_>,
        protected: &[Mounts],
    ) -> Result<HeldDirectories, StartError> {
        match self.user.mounter {
            Mounter::EngineByDescriptor => HeldDirectories::open(wanted.plan, wanted.caller, protected),
            Mounter::Client | Mounter::Engine => Ok(HeldDirectories::default()),
        }
    }

    /// Returns what is requested of the engine.
    pub(super) fn request<'a>(
        &'a self,
        wanted: WantedContainer<'a>,
        id: &'a RunId,
        making: &Making<'a>,
    ) -> Result<ContainerRequest<'a>, StartError> {
        let WantedContainer { plan, container, .. } = wanted;
        unsupported::refuse_not_text(plan, making.protected, self.user.mounter)?;
        Ok(ContainerRequest {
            kind: self.engine.kind(),
            plan,
            container,
            image: &self.image,
            platform: &self.platform,
            inside: self.user.inside,
            namespace: self.user.namespace,
            mounter: self.user.mounter,
            run: wanted.run(id),
            client: Client::this().map_err(|error| StartError::recorded(error.into()))?,
            created: now(),
            rendezvous: making.rendezvous,
            protected: making.protected,
            held: making.held,
            life: making.life,
        })
    }

    /// Has the engine make the container and start PID 1 in it, and waits until that has connected to the rendezvous.
    pub(super) fn start<'a>(
        &'a self,
        wanted: WantedContainer<'a>,
        id: &'a RunId,
        making: &Making<'_>,
        listener: &RendezvousListener,
        parent: Option<&Parent>,
        leave: &'a dyn Fn(),
    ) -> Result<(Started<'a>, InitConnection), StartError> {
        let Self { engine, user, image, platform } = self;
        let request = self.request(wanted, id, making)?;
        let not_for_platform = |error: StartError| match error {
            StartError::Engine(EngineError::Refused { kind, cause: Some(FailureCause::NoImage), .. }) => {
                let (image, unfetched) = (wanted.container.image.clone(), image.unfetched.clone());
                EngineError::NoPlatform { kind, image, platform: platform.clone(), unfetched }.into()
            }
            error => error,
        };
        let mut started = Started::run(engine, &arguments::run(&request), wanted.run(id), listener, leave)
            .map_err(not_for_platform)?;
        let volumes = u32::try_from(making.held.len()).unwrap_or(u32::MAX);
        let patience = engine::START + EACH_VOLUME.saturating_mul(volumes);
        let init = started.wait_for_init(listener, patience, parent).map_err(not_for_platform)?;
        making.held.check(wanted.plan, wanted.caller, making.protected)?;
        if init.uid != user.agent.uid {
            return Err(StartError::refused(
                format!("an agent that is user {} on the host", user.agent.uid),
                format!("the engine has made it user {}", init.uid),
                "look for user namespaces in the engine's settings (userns-remap)",
            ));
        }
        if let Some(other) = init.groups.iter().find(|group| **group != user.agent.gid) {
            return Err(StartError::refused(
                format!("an agent that is in group {} alone on the host", user.agent.gid),
                format!("the engine has put it into group {other} too, whose files would be open to it"),
                "look for additional groups in the engine's settings, and for a wrapper of its command",
            ));
        }
        Ok((started, init))
    }
}

/// Lists what PID 1 must find mounted of the rendezvous directory, besides what is shared.
pub(super) fn with_rendezvous(
    mut mounts: Vec<ExpectedMount>,
    rendezvous: &RendezvousDir,
    id: &RunId,
    plan: &Plan,
) -> Result<Vec<ExpectedMount>, StartError> {
    let ours = rendezvous.mounts(id, &plan.network);
    mounts.extend(ours.map_err(StartError::step("inspecting the rendezvous directory"))?);
    Ok(mounts)
}
