//! Builders: which one can do what is requested, and what the one that there is lacks.

use std::time::Duration;

use policy::build_spec::{BuildSpec, Destination, ImageSource};

use super::docker::{Docker, ImageStore};
use super::error::{BuildError, BuilderError, Lack};

/// How long a builder may take to start: its image may have to be fetched.
const START: Duration = Duration::from_secs(300);

/// The driver of builders in the engine itself.
const IN_ENGINE: &str = "docker";

/// A builder of buildx.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Builder {
    pub(super) name: String,
    pub(super) driver: String,
    /// The platforms it has, whether by its own processor or by emulation.
    pub(super) platforms: Vec<String>,
}

impl Builder {
    /// Lists what of a build spec it cannot do, with an engine behind it that keeps images so.
    pub(super) fn lacks(&self, spec: &BuildSpec, store: ImageStore) -> Vec<Lack> {
        let mut lacks = Vec::new();
        if matches!(spec.source, ImageSource::Stock { .. }) {
            // An own Dockerfile may get along without any step on another processor.
            let missing = spec
                .platforms
                .iter()
                .filter(|platform| !self.platforms.iter().any(|has| has == platform.as_str()));
            lacks.extend(missing.cloned().map(Lack::Emulator));
        }
        let several = spec.platforms.len() > 1;
        let attests = spec.attestations.are_asked_for();
        match (self.driver.as_str(), store) {
            (IN_ENGINE, ImageStore::Containerd) => {}
            (IN_ENGINE, ImageStore::Classic) => {
                let outside = |to: &String| !to.split(',').any(|part| part == "type=inline");
                lacks.extend(several.then_some(Lack::Platforms));
                lacks.extend(attests.then_some(Lack::Attestations));
                lacks.extend(spec.cache.to.iter().any(outside).then_some(Lack::Cache));
                lacks.extend(matches!(spec.source, ImageSource::Own { .. }).then_some(Lack::Layout));
            }
            (_, _) => {
                lacks.extend((spec.destination.loads() && (several || attests)).then_some(Lack::Store));
            }
        }
        lacks
    }
}

/// Whether a builder may be made where none there is will do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Making {
    Allowed,
    Not,
}

/// Finds a builder for a build spec: the one that is asked for; else the current one; else another one that runs; else
/// one of our own, whose name is `own`.
pub(super) fn choose(
    docker: &Docker,
    spec: &BuildSpec,
    own: &str,
    making: Making,
) -> Result<Builder, BuildError> {
    let lacks = |builder: &Builder| builder.lacks(spec, docker.store);
    let first = inspect(docker, spec.builder.as_ref())?;
    // The engine that it is part of keeps what it makes: that would be another one.
    let context = docker.context()?;
    let is_elsewhere = |builder: &Builder| builder.driver == IN_ENGINE && builder.name != context;
    if is_elsewhere(&first) {
        let source = BuilderError::Elsewhere { context: first.name.clone(), wanted: context };
        return Err(BuildError::Builder { builder: first.name, source });
    }
    let lacking = lacks(&first);
    if lacking.is_empty() {
        return Ok(first);
    }
    let refused =
        |lacks| BuildError::Lacks { builder: first.name.clone(), driver: first.driver.clone(), lacks };
    if spec.builder.is_some() {
        return Err(refused(lacking));
    }
    let names = names(&docker.query(["buildx", "ls"])?);
    for name in names.iter().filter(|name| **name != first.name && *name != own) {
        // What does not answer is not what is looked for.
        let Ok(builder) = running(docker, name) else { continue };
        // Those of other contexts are listed too, and each keeps what it makes in an engine of its own.
        if !is_elsewhere(&builder) && lacks(&builder).is_empty() {
            return Ok(builder);
        }
    }
    // One of our own has the processors of this machine, and hands what it made to the same engine.
    let made = Builder {
        name: own.to_owned(),
        driver: "docker-container".to_owned(),
        platforms: first.platforms.clone(),
    };
    if !lacks(&made).is_empty() {
        return Err(refused(lacking));
    }
    let there = names.iter().any(|name| name == own);
    if !there && making == Making::Not {
        return Ok(made);
    }
    make(docker, own, there).map_err(|source| BuildError::NoBuilder {
        builder: first.name.clone(),
        driver: first.driver.clone(),
        lacks: lacking,
        source: Box::new(source),
    })
}

/// Inspects a builder, and starts it where it does not run.
fn inspect(docker: &Docker, name: Option<&String>) -> Result<Builder, BuildError> {
    let arguments = ["buildx", "inspect", "--bootstrap"].into_iter().chain(name.map(String::as_str));
    let inspected = docker.call(arguments, START).map_err(Into::into).and_then(|text| parse(&text));
    inspected.map_err(|source| match source {
        BuilderError::Engine(error) => error.into(),
        source => BuildError::Builder {
            builder: name.cloned().unwrap_or_else(|| "of the current context".to_owned()),
            source,
        },
    })
}

/// Inspects somebody's builder, and leaves it as it is.
fn running(docker: &Docker, name: &str) -> Result<Builder, BuilderError> {
    parse(&docker.query(["buildx", "inspect", name])?)
}

/// Makes a builder of our own, or starts the one that is there.
fn make(docker: &Docker, name: &str, there: bool) -> Result<Builder, BuilderError> {
    let create = ["buildx", "create", "--name", name, "--driver", "docker-container"];
    if !there {
        docker.query(create)?;
    }
    let started = docker.call(["buildx", "inspect", "--bootstrap", name], START);
    let started = started.map_err(Into::into).and_then(|text| parse(&text));
    if started.is_err() && !there {
        // One that cannot start would stand in the list of builders and in the way of the next attempt.
        let _ = docker.query(["buildx", "rm", name]);
    }
    started
}

/// Parses the output of `buildx inspect`. It has no other form in the versions that people have.
fn parse(text: &str) -> Result<Builder, BuilderError> {
    let values = |key: &'static str| {
        text.lines().filter_map(move |line| {
            let (name, value) = line.split_once(':')?;
            (name == key).then(|| value.trim())
        })
    };
    if let Some(error) = values("Error").next() {
        return Err(BuilderError::Refused(error.to_owned()));
    }
    if !values("Status").any(|status| status == "running") {
        return Err(BuilderError::Stopped);
    }
    let first = |key| values(key).next().map(str::to_owned).ok_or(BuilderError::Incomplete(key));
    let platforms = values("Platforms").flat_map(|list| list.split(','));
    // A star marks what its owner has named.
    let platforms = platforms.map(|platform| platform.trim().trim_end_matches('*').to_owned());
    Ok(Builder { name: first("Name")?, driver: first("Driver")?, platforms: platforms.collect() })
}

/// Lists the builders that `buildx ls` lists, without their nodes.
fn names(text: &str) -> Vec<String> {
    let builders =
        text.lines().skip(1).filter(|line| line.starts_with(|first: char| first.is_ascii_alphanumeric()));
    let words = builders.filter_map(|line| line.split_whitespace().next());
    words.map(|name| name.trim_end_matches('*').to_owned()).collect()
}

impl Builder {
    /// Lists the outputs of the build, as buildx takes them.
    pub(super) fn outputs(&self, destination: Destination) -> Vec<&'static str> {
        match (self.driver.as_str(), destination) {
            // In the engine, what is made is also kept.
            (IN_ENGINE, Destination::Engine) => vec!["type=image,oci-mediatypes=true"],
            (IN_ENGINE, Destination::Registry | Destination::Both) => {
                vec!["type=image,oci-mediatypes=true,push=true"]
            }
            (_, Destination::Engine) => vec!["type=docker"],
            (_, Destination::Registry) => vec!["type=image,oci-mediatypes=true,push=true"],
            (_, Destination::Both) => vec!["type=image,oci-mediatypes=true,push=true", "type=docker"],
        }
    }
}

#[cfg(test)]
mod tests {
    use policy::build_spec::BuildFlags;
    use policy::config::effective::Effective;

    use super::*;

    const INSPECTED: &str = "\
Name:          default
Driver:        docker
Last Activity: 2026-11-22 06:49:29 +0000 UTC

Nodes:
Name:             default
Endpoint:         default
Status:           running
BuildKit version: v0.13.2
Platforms:        linux/amd64, linux/amd64/v2, linux/arm64*
Labels:
 org.mobyproject.buildkit.worker.network:              host
";

    fn spec(flags: &BuildFlags) -> BuildSpec {
        BuildSpec::new(&Effective::default(), flags).unwrap()
    }

    fn builder(driver: &str, platforms: &[&str]) -> Builder {
        let platforms = platforms.iter().map(|platform| (*platform).to_owned()).collect();
        Builder { name: "b".into(), driver: driver.into(), platforms }
    }

    const ALL: &[&str] = &["linux/amd64", "linux/arm64"];

    #[test]
    fn an_inspected_builder_is_understood() {
        let builder = parse(INSPECTED).unwrap();
        assert_eq!((builder.name.as_str(), builder.driver.as_str()), ("default", "docker"));
        assert_eq!(builder.platforms, ["linux/amd64", "linux/amd64/v2", "linux/arm64"]);
        assert!(matches!(parse(&INSPECTED.replace("running", "inactive")), Err(BuilderError::Stopped)));
        let broken = INSPECTED.replace("Status:           running", "Error: no such host");
        assert!(matches!(parse(&broken), Err(BuilderError::Refused(said)) if said == "no such host"));
    }

    #[test]
    fn listed_builders_are_distinguished_from_their_nodes() {
        let text = "NAME/NODE DRIVER/ENDPOINT STATUS  BUILDKIT PLATFORMS\n\
                    default*  docker                           \n \\_ default default running v0.13 linux/amd64\n\
                    mine      docker-container\n  mine0 unix:///x inactive\n";
        assert_eq!(names(text), ["default", "mine"]);
    }

    #[test]
    fn a_builder_lacks_what_its_driver_and_the_engine_behind_it_cannot_do() {
        let lacks = |driver: &str, store, flags| builder(driver, ALL).lacks(&spec(&flags), store);
        let two = BuildFlags::default;
        let one = || BuildFlags { platform: vec!["linux/amd64".into()], ..BuildFlags::default() };
        let pushed =
            || BuildFlags { push: true, tag: vec!["localhost:5000/a".into()], ..BuildFlags::default() };
        let attested = BuildFlags { provenance: Some("mode=max".into()), ..one() };
        let cached = BuildFlags { cache_to: vec!["type=local,dest=c".into()], ..one() };
        let inline = BuildFlags { cache_to: vec!["type=inline".into()], ..one() };
        assert_eq!(lacks("docker", ImageStore::Containerd, two()), []);
        assert_eq!(lacks("docker", ImageStore::Classic, two()), [Lack::Platforms]);
        assert_eq!(lacks("docker", ImageStore::Classic, one()), []);
        assert_eq!(lacks("docker", ImageStore::Classic, attested), [Lack::Attestations]);
        assert_eq!(lacks("docker", ImageStore::Classic, cached), [Lack::Cache]);
        assert_eq!(lacks("docker", ImageStore::Classic, inline), []);
        assert_eq!(lacks("docker-container", ImageStore::Containerd, two()), [Lack::Store]);
        assert_eq!(lacks("docker-container", ImageStore::Classic, one()), []);
        assert_eq!(lacks("docker-container", ImageStore::Classic, pushed()), []);
    }

    #[test]
    fn steps_of_the_stock_image_run_on_every_platform() {
        let lacks =
            builder("docker", &["linux/amd64"]).lacks(&spec(&BuildFlags::default()), ImageStore::Containerd);
        let [Lack::Emulator(platform)] = lacks.as_slice() else { panic!("{lacks:?}") };
        assert_eq!(platform.as_str(), "linux/arm64");
    }
}
