//! The error for an image that was not built: a code, a cause, and what to do next.

use policy::build_spec::{BuildArg, BuildSpec, ImageSource};
use sandbox::engine::error::EngineError;
use sandbox::engine::error_patterns::FailureCause;
use sandbox::image::{BuildError, Lack, Unfit};
use serde_json::{Value, json};

use crate::error::{Code, CommandError, of_engine};
use crate::text;

/// Converts a failed build into the error that people and programs see.
pub(super) fn command_error(error: &BuildError, spec: &BuildSpec) -> CommandError {
    let (code, details) = match error {
        BuildError::Engine(engine) => (of_engine(engine), Value::Null),
        BuildError::Unreachable { .. } => (Code::EngineUnreachable, Value::Null),
        BuildError::Forbidden { .. } => (Code::EngineForbidden, Value::Null),
        BuildError::NoBuildx { .. } | BuildError::Builder { .. } => (Code::BuilderMissing, Value::Null),
        BuildError::Lacks { builder, lacks, .. } | BuildError::NoBuilder { builder, lacks, .. } => {
            let emulator = lacks.iter().any(|lack| matches!(lack, Lack::Emulator(_)));
            let code = if emulator { Code::EmulatorMissing } else { Code::BuilderUnfit };
            let lacks: Vec<String> = lacks.iter().map(ToString::to_string).collect();
            (code, json!({ "builder": builder, "lacks": lacks }))
        }
        BuildError::Emulator { platform } => (Code::EmulatorMissing, json!({ "platform": platform })),
        BuildError::Fetch { image, .. } => (Code::ImageNotFetched, json!({ "image": image })),
        BuildError::Push { .. } => (Code::ImageNotPushed, Value::Null),
        BuildError::DiskFull { .. } => (Code::EngineDiskFull, Value::Null),
        BuildError::Step { step, printed, .. } => {
            (Code::BuildFailed, json!({ "step": step, "printed": printed }))
        }
        BuildError::Unfit { unfit } => {
            let one =
                |(platform, what): &(_, Unfit)| json!({ "platform": platform, "problem": what.to_string() });
            (Code::ImageUnfit, json!({ "problems": unfit.iter().map(one).collect::<Vec<_>>() }))
        }
        BuildError::Ended(_) | BuildError::File { .. } | BuildError::Answer { .. } => {
            (Code::ToolFailed, Value::Null)
        }
    };
    let message = text::one_line(&error.to_string());
    let failure = CommandError::message(code, message).details(details);
    hints(error, spec).into_iter().fold(failure, CommandError::hint)
}

/// Returns what to do next.
fn hints(error: &BuildError, spec: &BuildSpec) -> Vec<String> {
    let hints: &[&str] = match error {
        BuildError::Engine(EngineError::NotInstalled { .. }) => &[
            "install Docker with buildx, which builds images; `sandboxctl run --provider native` needs none",
        ],
        BuildError::Engine(engine) => return engine.remedy().into_iter().collect(),
        BuildError::Unreachable { .. } => &[
            "check whether that machine can be reached and its engine runs; DOCKER_HOST or `docker context use` has chosen it",
        ],
        BuildError::Forbidden { .. } => &[
            "that machine has to let you in, and there you have to be in the group of its engine; DOCKER_HOST or \
             `docker context use` has chosen it",
        ],
        BuildError::NoBuildx { .. } => &[
            "install it: `apt-get install docker-buildx-plugin` (Docker's packages) or `docker-buildx` (Debian's)",
        ],
        BuildError::Builder { .. } => &[
            "`docker buildx ls` lists the builders, `docker buildx use default` takes the engine's own; for the engine of \
               another context set DOCKER_CONTEXT",
        ],
        BuildError::Lacks { lacks, .. } | BuildError::NoBuilder { lacks, .. } => {
            return lacks.iter().map(remedy).collect();
        }
        BuildError::Emulator { .. } => &[EMULATE],
        BuildError::Fetch { image, cause, .. } => return fetch(image, *cause, spec),
        BuildError::Push { cause, .. } => match obstacle(*cause) {
            Some(remedy) => return vec![remedy, "`--tag` names another registry".to_owned()],
            None => &["`docker login REGISTRY` gives the right to push, `--tag` another name"],
        },
        BuildError::DiskFull { .. } => {
            &["`docker buildx du` says what the cache holds, `docker buildx prune` removes it"]
        }
        BuildError::Step { cause, printed, .. } => return step(*cause, printed, spec),
        BuildError::Unfit { unfit } => return fix(unfit),
        BuildError::Ended(_) | BuildError::File { .. } | BuildError::Answer { .. } => &[],
    };
    hints.iter().map(|hint| (*hint).to_owned()).collect()
}

const EMULATE: &str = "`docker run --privileged --rm tonistiigi/binfmt --install all` adds emulators until the next start of \
                       this machine; Debian's `qemu-user-static` or `qemu-user-binfmt` for good";

/// Returns how to give a builder what it lacks.
fn remedy(lack: &Lack) -> String {
    match lack {
        Lack::Emulator(platform) => format!("{EMULATE}; or leave {platform} out with `--platform`"),
        Lack::Platforms | Lack::Store => "build for one platform (`--platform linux/amd64`), or let the engine keep images in \
                                          containerd: {\"features\": {\"containerd-snapshotter\": true}} in /etc/docker/daemon.json, \
                                          then `systemctl restart docker`; or `--push` without `--load`"
            .to_owned(),
        Lack::Attestations | Lack::Cache | Lack::Layout => {
            "`docker buildx create --use --driver docker-container` makes a builder that can".to_owned()
        }
    }
}

/// Returns what removes what stands between a builder and a registry, besides the rights that somebody has there.
fn obstacle(cause: Option<FailureCause>) -> Option<String> {
    let remedy = match cause? {
        FailureCause::Certificate => {
            "the engine itself speaks with the registry, and has to trust that certificate: add it to those of the machine \
             that the engine runs on (`update-ca-certificates`), and restart the engine"
        }
        FailureCause::Unreachable => {
            "the engine cannot reach that registry: check the name, and the engine's network and proxy"
        }
        FailureCause::NotInRegistry => "the registry has no such image: check the name and the tag",
        FailureCause::Fault => "the registry has a fault or too much to do: try again later",
        _ => return None,
    };
    Some(remedy.to_owned())
}

/// Returns hints for an image that was not pulled: what stands in the way, and where the image is named.
fn fetch(image: &str, cause: Option<FailureCause>, spec: &BuildSpec) -> Vec<String> {
    let login = || "check the name; if the registry wants to know who you are: `docker login`".to_owned();
    let named = if image.contains("buildkit-syft-scanner") {
        "`--sbom` takes this image to scan what was built; `--sbom=generator=IMAGE` names another"
    } else if image.ends_with(rust(spec)) {
        "the entrypoint is compiled in this image; `--build-arg RUST=IMAGE` names another"
    } else {
        match &spec.source {
            ImageSource::Stock { .. } => "`--base` names another",
            ImageSource::Own { .. } => "the Dockerfile names this image",
        }
    };
    vec![obstacle(cause).unwrap_or_else(login), named.to_owned()]
}

/// Returns the image that the entrypoint is compiled in.
fn rust(spec: &BuildSpec) -> &str {
    match spec.build_args.get("RUST") {
        Some(BuildArg::Value(image)) => image,
        _ => "rust:1-alpine",
    }
}

/// Returns hints for a build step that failed: its last output, and what helps where that is known.
fn step(cause: Option<FailureCause>, printed: &[String], spec: &BuildSpec) -> Vec<String> {
    let mut hints = Vec::new();
    hints.extend(printed.last().map(|line| format!("last output: {}", text::one_line(line))));
    if cause == Some(FailureCause::Certificate) {
        let trust = "name a file with the certificate of your proxy in `image.ca_certificates`: the build then trusts it";
        hints.push(match spec.source {
            ImageSource::Stock { .. } => trust.to_owned(),
            ImageSource::Own { .. } => {
                format!("{trust} in the steps that ask for it, as docs/image.md shows")
            }
        });
    }
    hints
}

/// Returns how to fix an image, each fix once.
fn fix(unfit: &[(policy::build_spec::Platform, Unfit)]) -> Vec<String> {
    let mut hints: Vec<String> = Vec::new();
    for (_, what) in unfit {
        let hint = match what {
            Unfit::NoEntrypoint { path }
            | Unfit::NoProgram { path }
            | Unfit::Machine { path }
            | Unfit::Dynamic { path } => format!("`COPY --from=entrypoint /entrypoint {path}` takes it in"),
            Unfit::Starts { .. } => {
                "`COPY --from=entrypoint /entrypoint /usr/local/bin/entrypoint` takes the entrypoint in, \
                 `ENTRYPOINT [\"/usr/local/bin/entrypoint\"]` starts it"
                    .to_owned()
            }
            Unfit::Mode { path } => format!("`RUN chmod 0755 {path}` lets everybody execute it"),
            Unfit::NoUser => "`RUN useradd --create-home --uid 1000 agent` adds one; in Alpine \
                              `RUN adduser -D -u 1000 agent`"
                .to_owned(),
        };
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    hints.push(
        "for `sandboxctl run`, which brings a PID 1 along, any image will do: `docker build` makes one unchecked".to_owned(),
    );
    hints
}

#[cfg(test)]
mod tests {
    use policy::build_spec::BuildFlags;
    use policy::config::effective::Effective;

    use super::*;

    fn stock() -> BuildSpec {
        BuildSpec::new(&Effective::default(), &BuildFlags::default()).unwrap()
    }

    fn not_fetched(image: &str, cause: Option<FailureCause>, spec: &BuildSpec) -> Vec<String> {
        let error = BuildError::Fetch { image: image.to_owned(), cause, message: "no".to_owned() };
        command_error(&error, spec).hints
    }

    #[test]
    fn an_image_that_is_not_fetched_has_the_hint_for_whoever_named_it() {
        let named = |image: &str, spec: &BuildSpec| not_fetched(image, None, spec).remove(1);
        assert!(named("docker.io/library/alpine:3.23", &stock()).contains("`--base`"));
        assert!(named("docker.io/library/rust:1-alpine", &stock()).contains("`--build-arg RUST=IMAGE`"));
        let scanner = "docker.io/docker/buildkit-syft-scanner:stable-1";
        assert!(named(scanner, &stock()).contains("`--sbom=generator=IMAGE`"));
        let own =
            BuildSpec { source: ImageSource::Own { dockerfile: "/project/Dockerfile".into() }, ..stock() };
        assert!(named(scanner, &own).contains("`--sbom=generator=IMAGE`"));
        assert_eq!(named("localhost:5000/nosuch:1", &own), "the Dockerfile names this image");
    }

    #[test]
    fn only_those_who_were_turned_away_get_the_hint_to_log_in() {
        let first = |cause| not_fetched("a/b:1", cause, &stock()).remove(0);
        assert!(first(None).contains("`docker login`"));
        for (cause, remedy) in [
            (FailureCause::Unreachable, "network and proxy"),
            (FailureCause::NotInRegistry, "no such image"),
            (FailureCause::Fault, "try again"),
            (FailureCause::Certificate, "restart the engine"),
        ] {
            let first = first(Some(cause));
            assert!(first.contains(remedy) && !first.contains("login"), "{cause:?}: {first}");
        }
        let push = BuildError::Push { cause: Some(FailureCause::Unreachable), message: "no".to_owned() };
        assert!(!command_error(&push, &stock()).hints.concat().contains("login"));
    }

    #[test]
    fn a_certificate_that_a_step_does_not_trust_can_be_named() {
        let hints = |cause| {
            let (message, printed) = (String::new(), vec!["exit 1".to_owned()]);
            command_error(&BuildError::Step { step: None, cause, message, printed }, &stock()).hints
        };
        assert!(hints(Some(FailureCause::Certificate)).concat().contains("`image.ca_certificates`"));
        assert_eq!(hints(None), ["last output: exit 1"]);
    }
}
