//! The error for an image that was not built: a code, a cause, and what to do next.

use policy::build_spec::{BuildArg, BuildSpec, ImageSource};
use sandbox::engine::error::EngineError;
use sandbox::image::{BuildError, Lack, Unfit};
use serde_json::{Value, json};

use crate::error::{Code, CommandError, of_engine};
use crate::text;

/// Converts a failed build into the error that people and programs see.
pub(super) fn told(error: &BuildError, spec: &BuildSpec) -> CommandError {
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
            "look whether that machine can be reached and its engine runs; DOCKER_HOST or `docker context use` has chosen it",
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
        BuildError::Fetch { image, said } => return fetch(image, said, spec),
        BuildError::Push { said } => match Obstacle::of(said) {
            Some(obstacle) => return vec![obstacle.remedy(), "`--tag` names another registry".to_owned()],
            None => &["`docker login REGISTRY` gives the right to push, `--tag` another name"],
        },
        BuildError::DiskFull { .. } => {
            &["`docker buildx du` says what the cache holds, `docker buildx prune` removes it"]
        }
        BuildError::Step { said, printed, .. } => return step(said, printed, spec),
        BuildError::Unfit { unfit } => return mend(unfit),
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

/// What stands between a builder and a registry, besides the rights that somebody has there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Obstacle {
    /// A certificate that is not trusted.
    Certificate,
    /// There is no way to it.
    Network,
    /// It has no such image.
    Absent,
    /// It cannot do it now.
    Fault,
}

impl Obstacle {
    /// Classifies the message of a registry or an engine.
    fn of(said: &str) -> Option<Self> {
        let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if is_about_trust(said) {
            Some(Self::Certificate)
        } else if says(&[
            "no such host",
            "connection refused",
            "i/o timeout",
            "is unreachable",
            "deadline exceeded",
        ]) {
            Some(Self::Network)
        } else if said.ends_with(": not found") {
            Some(Self::Absent)
        } else if says(&[
            "429 Too Many Requests",
            "500 Internal Server Error",
            "502 Bad Gateway",
            "503 Service Unavailable",
            "504 Gateway Timeout",
        ]) {
            Some(Self::Fault)
        } else {
            None
        }
    }

    /// Returns how to remove it.
    fn remedy(self) -> String {
        let remedy = match self {
            Self::Certificate => {
                "the engine itself speaks with the registry, and has to trust that certificate: add it to those of the machine \
                 that the engine runs on (`update-ca-certificates`), and restart the engine"
            }
            Self::Network => {
                "the engine cannot reach that registry: look at the name, and at the engine's network and proxy"
            }
            Self::Absent => "the registry has no such image: look at the name and the tag",
            Self::Fault => "the registry has a fault or too much to do: try again later",
        };
        remedy.to_owned()
    }
}

/// Returns whether a message says that a certificate is not trusted. Go, OpenSSL, curl, apk and apt use different words
/// for it.
fn is_about_trust(said: &str) -> bool {
    let lower = said.to_lowercase();
    let words = [
        "unknown authority",
        "self-signed",
        "self signed",
        "verify failed",
        "verification failed",
        "local issuer",
        "not trusted",
    ];
    lower.contains("certificate") && words.iter().any(|word| lower.contains(word))
}

/// Returns hints for an image that was not pulled: what stands in the way, and where the image is named.
fn fetch(image: &str, said: &str, spec: &BuildSpec) -> Vec<String> {
    let obstacle = Obstacle::of(said);
    let login = || "look at the name; if the registry wants to know who you are: `docker login`".to_owned();
    let named = if image.contains("buildkit-syft-scanner") {
        "`--sbom` takes this image to look at what was built; `--sbom=generator=IMAGE` names another"
    } else if image.ends_with(rust(spec)) {
        "the entrypoint is compiled in this image; `--build-arg RUST=IMAGE` names another"
    } else {
        match &spec.source {
            ImageSource::Stock { .. } => "`--base` names another",
            ImageSource::Own { .. } => "the Dockerfile names this image",
        }
    };
    vec![obstacle.map_or_else(login, Obstacle::remedy), named.to_owned()]
}

/// Returns the image that the entrypoint is compiled in.
fn rust(spec: &BuildSpec) -> &str {
    match spec.build_args.get("RUST") {
        Some(BuildArg::Value(image)) => image,
        _ => "rust:1-alpine",
    }
}

/// Returns hints for a build step that failed: its last output, and what helps where that is known.
fn step(said: &str, printed: &[String], spec: &BuildSpec) -> Vec<String> {
    let mut hints = Vec::new();
    hints.extend(printed.last().map(|line| format!("last output: {}", text::one_line(line))));
    if printed.iter().map(String::as_str).chain([said]).any(is_about_trust) {
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
fn mend(unfit: &[(policy::build_spec::Platform, Unfit)]) -> Vec<String> {
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

    fn not_fetched(image: &str, said: &str, spec: &BuildSpec) -> Vec<String> {
        let error = BuildError::Fetch { image: image.to_owned(), said: said.to_owned() };
        told(&error, spec).hints
    }

    #[test]
    fn an_image_that_is_not_fetched_has_the_hint_for_whoever_named_it() {
        let said = "pull access denied, repository does not exist or may require authorization";
        let named = |image: &str, spec: &BuildSpec| not_fetched(image, said, spec).remove(1);
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
        let first = |said: &str| not_fetched("a/b:1", said, &stock()).remove(0);
        assert!(first("failed to authorize: 401 Unauthorized").contains("`docker login`"));
        for (said, remedy) in [
            ("dial tcp: lookup a on 10.0.0.53:53: no such host", "network and proxy"),
            ("dial tcp 127.0.0.1:5001: connect: connection refused", "network and proxy"),
            ("localhost:5000/nosuch:1: not found", "no such image"),
            ("unexpected status from HEAD request to http://a/v2/b: 503 Service Unavailable", "try again"),
            (
                "tls: failed to verify certificate: x509: certificate signed by unknown authority",
                "restart the engine",
            ),
        ] {
            assert!(
                first(said).contains(remedy) && !first(said).contains("login"),
                "{said}: {}",
                first(said)
            );
        }
        let push =
            BuildError::Push { said: "failed to push a/b: dial tcp: lookup a: no such host".to_owned() };
        assert!(!told(&push, &stock()).hints.concat().contains("login"));
    }

    #[test]
    fn a_certificate_that_a_step_does_not_trust_can_be_named() {
        for line in [
            "curl: (60) SSL certificate problem: self-signed certificate in certificate chain",
            "x509: certificate signed by unknown authority",
            "error:0A000086:SSL routines:tls_post_process_server_certificate:certificate verify failed",
            "Certificate verification failed: The certificate is NOT trusted.",
            "npm error code UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unable to get local issuer certificate",
        ] {
            let error = BuildError::Step { step: None, said: String::new(), printed: vec![line.to_owned()] };
            let hints = told(&error, &stock()).hints;
            assert!(hints.concat().contains("`image.ca_certificates`"), "{line}: {hints:?}");
        }
        let error = BuildError::Step { step: None, said: String::new(), printed: vec!["exit 1".to_owned()] };
        assert_eq!(told(&error, &stock()).hints, ["last output: exit 1"]);
    }
}
