//! What to do when this host does not let a layer be: each failure with its reason and its remedy.

use std::fs;
use std::io;
use std::path::Path;

use confine::protocol::{Failure, FilesystemType, MountStep, Step};
use policy::plan::{Layer, Provider};
use rustix::io::Errno;

use crate::host::cgroups;
use crate::session::error::StartError;
use crate::state::sandboxes::SandboxError;

/// Explains what PID 1 has reported as the reason why it started nothing.
pub(crate) fn failure(provider: Provider, failure: Failure) -> StartError {
    match failure {
        Failure::Layer(missing) => layer(provider, missing.layer, missing.reason),
        Failure::Step { step: Step::Fork, errno: Some(errno), .. }
            if errno == Errno::AGAIN.raw_os_error() =>
        {
            StartError::Sandbox(SandboxError::Full(io::Error::from_raw_os_error(errno)))
        }
        Failure::Step { step, errno, message } => {
            let source = errno.map_or_else(|| io::Error::other(message), io::Error::from_raw_os_error);
            failed_step(&step, source)
        }
    }
}

/// Explains why a namespace was refused: by `clone3` itself, by the map of users, or by a namespace that PID 1 makes.
pub(crate) fn entering(source: io::Error) -> StartError {
    let errno = Errno::from_io_error(&source);
    match errno {
        Some(Errno::PERM | Errno::ACCESS) => refused_by_host(&source),
        Some(Errno::NOSPC | Errno::USERS) => StartError::Layer {
            layer: Layer::User,
            reason: format!("the limit of namespaces is reached ({source})"),
            remedy: format!("raise it: sudo sysctl {}=65536", lowest_limit(Path::new("/proc/sys/user"))),
        },
        // Filters of containers say of what they refuse that it does not exist, so that programs try something older.
        Some(Errno::NOSYS) if OuterContainer::detect().is_filtered => refused_by_host(&source),
        Some(Errno::INVAL | Errno::NOSYS) => StartError::Layer {
            layer: Layer::User,
            reason: format!("this kernel lacks clone3 or one of the namespaces ({source})"),
            remedy:
                "Linux 5.13 or newer, built with user, pid, net, ipc, uts and cgroup namespaces, is needed"
                    .into(),
        },
        _ => StartError::Step { step: "creating the namespaces".into(), source, remedy: None },
    }
}

/// Returns the setting that most likely is the limit: the lowest of those for the kinds of namespaces that a sandbox has.
fn lowest_limit(settings: &Path) -> String {
    let limit = |kind: &&str| {
        let text = fs::read_to_string(settings.join(format!("max_{kind}_namespaces"))).unwrap_or_default();
        text.trim().parse().unwrap_or(u64::MAX)
    };
    let lowest = ["user", "pid", "mnt", "net", "ipc", "uts", "cgroup"].into_iter().min_by_key(limit);
    format!("user.max_{}_namespaces", lowest.unwrap_or("user"))
}

/// Explains a step of the start that has failed inside.
pub(crate) fn failed_step(step: &Step, source: io::Error) -> StartError {
    let described = step.to_string();
    let errno = Errno::from_io_error(&source);
    match (step, errno) {
        (Step::Namespaces, _) => entering(source),
        // AppArmor lets the namespace be made and takes its capabilities away, so the first use of one fails.
        (
            Step::IdMap
            | Step::AmbientCapabilities
            | Step::Propagation
            | Step::Hostname
            | Step::Loopback
            | Step::Rootfs,
            Some(Errno::PERM | Errno::ACCESS),
        ) => refused_by_host(&io::Error::new(source.kind(), format!("{described}: {source}"))),
        (Step::Listeners, Some(Errno::PERM | Errno::ACCESS)) => StartError::Step {
            step: described,
            source,
            remedy: Some(
                "ports below 1024 must need no privilege inside: `sysctl net.ipv4.ip_unprivileged_port_start=0` in the container"
                    .into(),
            ),
        },
        (Step::Mount(_), Some(Errno::STALE)) => StartError::refused(
            described,
            "it is not the one that was checked a moment ago: somebody swapped it",
            "find out who writes to its parent directories, then run again",
        ),
        (Step::Mount(MountStep::New { filesystem: FilesystemType::Proc, .. }), Some(Errno::PERM)) => {
            StartError::Layer {
                layer: Layer::Pid,
                reason: format!(
                    "{described}: {source}; parts of the host's /proc are covered, as in a container"
                ),
                remedy: OuterContainer::detect().remedy(),
            }
        }
        (Step::Mount(_), Some(Errno::NOENT)) => StartError::Step {
            step: described,
            source,
            remedy: Some(
                "a mount point inside a shared directory must exist on the host: create it first".into(),
            ),
        },
        (
            Step::Mount(MountStep::Bind { .. } | MountStep::Attach { .. }),
            Some(Errno::NOTDIR | Errno::INVAL),
        ) => StartError::Step {
            step: described,
            source,
            remedy: Some(
                "inside a shared directory a file can only be mounted on a file, and a directory on a directory: choose another \
                 guest path"
                    .into(),
            ),
        },
        (Step::Mount(_), Some(Errno::LOOP)) => StartError::refused(
            described,
            "a symbolic link lies on the way to this mount point",
            "remove the link, or choose another guest path",
        ),
        (Step::Workdir(path), _) => StartError::Workdir { path: path.clone(), source },
        _ => StartError::Step { step: described, source, remedy: None },
    }
}

/// Explains that a layer does not hold which is required of this provider.
pub(crate) fn layer(provider: Provider, layer: Layer, reason: String) -> StartError {
    let fix = match layer {
        Layer::Landlock => {
            "Linux 5.13 or newer with landlock in its list of security modules (lsm=landlock,…)"
        }
        Layer::Seccomp => {
            "a kernel built with CONFIG_SECCOMP_FILTER; where it says `os error 524`, programs of this machine have used up what all \
             filters may take together: end them, or raise net.core.bpf_jit_limit"
        }
        Layer::Memory | Layer::Cpu | Layer::Pids => cgroups::remedy_for_limits(Path::new("/")),
        _ => "run `sandboxctl doctor` for what this host allows",
    };
    let remedy = if provider.runs_containers() && layer == Layer::Mount {
        "use an image without links there, and no mounts in the settings of the engine; run again where another sandbox has \
         changed a shared directory"
            .to_owned()
    } else if provider.runs_containers() {
        format!("{fix}, and an engine that lets containers use it; no container runs without \"{layer}\"")
    } else if layer == Layer::Seccomp {
        // Whoever uses up what filters may take is not to get a sandbox without one.
        fix.to_owned()
    } else {
        format!("{fix}; or take \"{layer}\" off native.require, which lets it run without")
    };
    StartError::Layer { layer, reason, remedy }
}

/// Explains which of the host's switches forbids user namespaces.
fn refused_by_host(source: &io::Error) -> StartError {
    let value = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let (reason, remedy) = if value("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" {
        (
            "AppArmor restricts user namespaces of normal users (kernel.apparmor_restrict_unprivileged_userns=1)",
            "allow sandboxctl by an AppArmor profile with `userns,`, or for everybody: sudo sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0",
        )
    } else if value("/proc/sys/kernel/unprivileged_userns_clone") == "0" {
        (
            "user namespaces of normal users are switched off (kernel.unprivileged_userns_clone=0)",
            "sudo sysctl kernel.unprivileged_userns_clone=1",
        )
    } else if value("/proc/sys/user/max_user_namespaces") == "0" {
        (
            "user namespaces are switched off (user.max_user_namespaces=0)",
            "sudo sysctl user.max_user_namespaces=65536",
        )
    } else {
        let around = OuterContainer::detect();
        let reason = format!("{} forbids it: {source}", around.culprit());
        return StartError::Layer { layer: Layer::User, reason, remedy: around.remedy() };
    };
    StartError::Layer { layer: Layer::User, reason: format!("{reason}: {source}"), remedy: remedy.into() }
}

/// What is around this process: most likely a container, whose engine restricts it.
#[derive(Clone, Debug, Eq, PartialEq)]
struct OuterContainer {
    /// Whether a seccomp filter refuses system calls.
    is_filtered: bool,
    /// The profile of apparmor(7) that is enforced, if one is.
    profile: Option<String>,
    engine: OuterEngine,
}

/// Who has made the container that this process is in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum OuterEngine {
    /// Docker, or whoever has its options.
    Docker,
    Podman,
    Kubernetes,
}

impl OuterContainer {
    fn detect() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let engine = if Path::new("/run/.containerenv").exists() {
            OuterEngine::Podman
        } else if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
            OuterEngine::Kubernetes
        } else {
            OuterEngine::Docker
        };
        Self::new(&text("/proc/thread-self/status"), &text("/proc/thread-self/attr/current"), engine)
    }

    /// Reads `/proc/PID/status` and `/proc/PID/attr/current` (`proc_pid_status(5)`, `proc_pid_attr(5)`).
    fn new(status: &str, label: &str, engine: OuterEngine) -> Self {
        let is_filtered = status.lines().any(|line| line.trim_end() == "Seccomp:\t2");
        let profile = label.trim_end().strip_suffix(" (enforce)").map(str::to_owned);
        Self { is_filtered, profile, engine }
    }

    /// Names what refuses.
    fn culprit(&self) -> String {
        match (self.is_filtered, &self.profile) {
            (true, Some(profile)) => {
                format!("a seccomp filter or the AppArmor profile `{profile}`, as of a container,")
            }
            (true, None) => "a seccomp filter around this process, as of a container,".to_owned(),
            (false, Some(profile)) => format!("the AppArmor profile `{profile}`"),
            (false, None) => "something around this process, such as a container,".to_owned(),
        }
    }

    /// Names the options of the container that let a sandbox start in it.
    fn remedy(&self) -> String {
        let apparmor = self.profile.as_ref().map(|_| match self.engine {
            OuterEngine::Docker | OuterEngine::Podman => " --security-opt apparmor=unconfined",
            OuterEngine::Kubernetes => ", `appArmorProfile: {type: Unconfined}`",
        });
        let apparmor = apparmor.unwrap_or_default();
        match self.engine {
            OuterEngine::Docker => format!(
                "inside a container: run that with --security-opt seccomp=unconfined --security-opt systempaths=unconfined{apparmor}"
            ),
            OuterEngine::Podman => format!(
                "inside a container: run that with --security-opt seccomp=unconfined --security-opt unmask=ALL{apparmor}"
            ),
            OuterEngine::Kubernetes => format!(
                "in the container's securityContext: `seccompProfile: {{type: Unconfined}}`, `procMount: Unmasked`{apparmor}, and \
                 `hostUsers: false` for the pod"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_a_sandbox_from_starting_in_a_container_is_named_with_the_option_of_its_engine() {
        let filtered = "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n";
        let docker = OuterContainer::new(filtered, "docker-default (enforce)\n", OuterEngine::Docker);
        assert!(docker.is_filtered && docker.culprit().contains("`docker-default`"));
        assert!(docker.remedy().ends_with("--security-opt apparmor=unconfined"));
        let podman = OuterContainer::new(filtered, "unconfined\n", OuterEngine::Podman);
        assert!(podman.remedy().ends_with("--security-opt unmask=ALL"), "{}", podman.remedy());
        let pod = OuterContainer::new("Seccomp:\t0\n", "", OuterEngine::Kubernetes);
        assert!(!pod.is_filtered && pod.remedy().contains("procMount: Unmasked"));
    }

    #[test]
    fn the_limit_that_is_reached_is_named() {
        let top = tempfile::tempdir().unwrap();
        for kind in ["user", "pid", "mnt", "net", "ipc", "uts", "cgroup"] {
            fs::write(top.path().join(format!("max_{kind}_namespaces")), "95000\n").unwrap();
        }
        assert_eq!(lowest_limit(top.path()), "user.max_user_namespaces");
        fs::write(top.path().join("max_net_namespaces"), "0\n").unwrap();
        assert_eq!(lowest_limit(top.path()), "user.max_net_namespaces");
    }
}
