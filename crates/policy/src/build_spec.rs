//! The build spec: what image is to be built, fully resolved, as a plan is for a sandbox.
//!
//! Settings come from `[image]`, and the flags of `sandboxctl build` go before them. Whether a path of the host is
//! there, the build finds out.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::config::defaults::{BASE, IMAGE, PACKAGES};
use crate::config::document::Fault;
use crate::config::effective::Effective;
use crate::config::form::accept;
use crate::config::key;
use crate::config::problem::{self, Located, Location, Problem, ProblemCode};
use crate::config::{self, value};

/// The secret by which certificates reach a build.
pub const CA_CERTIFICATES: &str = "ca_certificates";

/// What is to be built, and where it goes.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct BuildSpec {
    /// The names of the image; never empty.
    pub tags: Vec<String>,
    /// What it is built for; never empty, each once.
    pub platforms: Vec<Platform>,
    pub source: ImageSource,
    /// Arguments of the build, without those that the source has already.
    pub build_args: BTreeMap<String, BuildArg>,
    /// Certificates that the build trusts besides the usual ones.
    pub ca_certificates: Option<PathBuf>,
    /// More secrets, as buildx takes them.
    pub secrets: Vec<String>,
    pub destination: Destination,
    pub cache: Cache,
    /// What is attested of the image, as buildx takes it. What is not asked for is left to buildx.
    pub attestations: Attestations,
    pub builder: Option<String>,
}

/// A platform that images are built for.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Platform(String);

impl Platform {
    /// Returns it as engines write it: `linux/amd64`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the processor, as engines name it: `amd64`.
    pub fn architecture(&self) -> &str {
        self.0.split('/').nth(1).unwrap_or(&self.0)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an image is made of.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageSource {
    /// By the Dockerfile of the stock image.
    Stock { base: String, packages: Vec<String> },
    /// By another Dockerfile, beside which everything lies that it copies.
    Own {
        /// The Dockerfile: absolute, links not resolved.
        dockerfile: PathBuf,
    },
}

/// The value of an argument of the build.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BuildArg {
    Value(String),
    /// That of the caller's variable of the same name.
    Inherited,
}

/// Where an image goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Destination {
    /// Into the engine of this machine.
    Engine,
    /// Into the registry that is in its name.
    Registry,
    Both,
}

impl Destination {
    /// Returns whether the engine of this machine is to have it.
    pub fn loads(self) -> bool {
        self != Self::Registry
    }

    /// Returns whether it is pushed.
    pub fn pushes(self) -> bool {
        self != Self::Engine
    }
}

/// How the cache is used, besides that of the builder itself.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Cache {
    /// Whether what the builder has may be used.
    pub reuse: Reuse,
    /// Where more is taken from, as buildx takes it.
    pub from: Vec<String>,
    /// Where it is kept, as buildx takes it.
    pub to: Vec<String>,
}

/// Whether steps that were done before are done again.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reuse {
    #[default]
    Allowed,
    Never,
}

/// What is attested of an image, each as buildx takes it: `true`, `mode=max`, …
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Attestations {
    pub sbom: Option<String>,
    pub provenance: Option<String>,
}

impl Attestations {
    /// Returns whether any is asked for.
    pub fn are_asked_for(&self) -> bool {
        [&self.sbom, &self.provenance].into_iter().flatten().any(|asked| asked != "false")
    }
}

/// Flags exactly as they were typed. The command line's parser fills this in; nothing is checked yet.
#[derive(Clone, Debug, Default)]
pub struct BuildFlags {
    /// `--platform`, each time it was given; each may be a list with commas.
    pub platform: Vec<String>,
    pub tag: Vec<String>,
    pub push: bool,
    pub load: bool,
    pub base: Option<String>,
    /// `--build-arg`, each time it was given: `NAME=VALUE`, or `NAME` for the caller's variable.
    pub build_arg: Vec<String>,
    pub secret: Vec<String>,
    pub cache_from: Vec<String>,
    pub cache_to: Vec<String>,
    pub no_cache: bool,
    pub sbom: Option<String>,
    pub provenance: Option<String>,
    pub builder: Option<String>,
}

impl BuildSpec {
    /// Makes the build spec of settings and flags; every problem is returned at once.
    pub fn new(effective: &Effective, flags: &BuildFlags) -> Result<Self, Vec<Problem>> {
        let image = &effective.settings().image;
        let mut reader = SpecReader { problems: Vec::new() };
        let destination = match (flags.load, flags.push) {
            (_, false) => Destination::Engine,
            (false, true) => Destination::Registry,
            (true, true) => Destination::Both,
        };
        let spec = Self {
            tags: reader.tags(image, flags, destination),
            platforms: reader.platforms(image, flags),
            source: reader.source(image, flags),
            build_args: reader.build_args(effective.settings(), flags),
            ca_certificates: image.ca_certificates.as_ref().map(|path| path.value.clone()),
            secrets: reader.secrets(image, flags),
            destination,
            cache: Cache {
                reuse: if flags.no_cache { Reuse::Never } else { Reuse::Allowed },
                from: flags.cache_from.clone(),
                to: flags.cache_to.clone(),
            },
            attestations: Attestations { sbom: flags.sbom.clone(), provenance: flags.provenance.clone() },
            builder: reader.builder(flags),
        };
        if reader.problems.is_empty() {
            return Ok(spec);
        }
        problem::sort(&mut reader.problems);
        Err(reader.problems)
    }
}

struct SpecReader {
    problems: Vec<Problem>,
}

impl SpecReader {
    fn note(
        &mut self,
        location: &Location,
        key: &str,
        code: ProblemCode,
        message: impl Into<String>,
        hint: &str,
    ) {
        self.problems.push(Problem::new(location, key, code, message).hinting(hint));
    }

    fn tags(
        &mut self,
        image: &config::ImageTable,
        flags: &BuildFlags,
        destination: Destination,
    ) -> Vec<String> {
        let mut typed: Vec<Located<String>> =
            flags.tag.iter().map(|tag| flag("--tag", tag.clone())).collect();
        if typed.is_empty() {
            typed.push(
                image.name.clone().unwrap_or_else(|| Located::new(IMAGE.to_owned(), Location::Default)),
            );
        }
        let mut tags = Vec::new();
        for Located { value, location } in typed {
            let Some(name) = accept(&mut self.problems, &location, "image.name", tag(&value)) else {
                continue;
            };
            if destination.pushes() && !name.contains('/') {
                let message = format!("{name:?} names no registry that it could be pushed to");
                let hint = "`--tag registry.example.org/team/image` names one";
                self.note(&location, "image.name", ProblemCode::Conflict, message, hint);
            }
            tags.push(name);
        }
        tags
    }

    fn platforms(&mut self, image: &config::ImageTable, flags: &BuildFlags) -> Vec<Platform> {
        let typed: Vec<Located<String>> = if flags.platform.is_empty() {
            match &image.platforms {
                Some(platforms) => platforms.value.clone(),
                None => key::PLATFORMS
                    .iter()
                    .map(|name| Located::new((*name).to_owned(), Location::Default))
                    .collect(),
            }
        } else {
            let words = flags.platform.iter().flat_map(|list| list.split(','));
            words.map(|word| flag("--platform", word.trim().to_owned())).collect()
        };
        if typed.is_empty() {
            let location = image.platforms.as_ref().map(|list| list.location.clone()).unwrap_or_default();
            let hint = "leave it out for all that there are";
            self.note(&location, "image.platforms", ProblemCode::InvalidValue, "there is no platform", hint);
        }
        let mut platforms = Vec::new();
        for Located { value, location } in typed {
            let known = accept(&mut self.problems, &location, "image.platforms", value::platform(&value));
            platforms.extend(known.map(Platform).filter(|platform| !platforms.contains(platform)));
        }
        platforms
    }

    fn source(&mut self, image: &config::ImageTable, flags: &BuildFlags) -> ImageSource {
        let typed = flags.base.as_ref().and_then(|base| {
            let location = Location::Flag("--base".into());
            accept(&mut self.problems, &location, "image.base", value::image(base))
        });
        if let Some(dockerfile) = &image.dockerfile {
            if flags.base.is_some() {
                let message = format!(
                    "the stock image has a base, and image.dockerfile ({}) replaces it",
                    dockerfile.location
                );
                let hint = "write `FROM` in that Dockerfile, or leave one of the two out";
                self.note(
                    &Location::Flag("--base".into()),
                    "image.base",
                    ProblemCode::Conflict,
                    message,
                    hint,
                );
            }
            return ImageSource::Own { dockerfile: dockerfile.value.clone() };
        }
        let packages = match &image.packages {
            Some(packages) => packages
                .value
                .iter()
                .filter_map(|Located { value, location }| {
                    accept(&mut self.problems, location, "image.packages", package(value))
                })
                .collect(),
            None => PACKAGES.iter().map(|package| (*package).to_owned()).collect(),
        };
        let configured = || image.base.as_ref().map(|base| base.value.clone());
        ImageSource::Stock { base: typed.or_else(configured).unwrap_or_else(|| BASE.to_owned()), packages }
    }

    fn build_args(&mut self, config: &config::Config, flags: &BuildFlags) -> BTreeMap<String, BuildArg> {
        let mut all: BTreeMap<String, Located<BuildArg>> = BTreeMap::new();
        for (name, Located { value, location }) in &config.build_args {
            all.insert(name.clone(), Located::new(BuildArg::Value(value.clone()), location.clone()));
        }
        for typed in &flags.build_arg {
            let (name, value) = match typed.split_once('=') {
                Some((name, value)) => (name, BuildArg::Value(value.to_owned())),
                None => (typed.as_str(), BuildArg::Inherited),
            };
            all.insert(name.to_owned(), flag("--build-arg", value));
        }
        for (name, Located { location, .. }) in &all {
            let instead = match name.as_str() {
                "BASE" => "`image.base` or `--base`",
                "PACKAGES" => "`image.packages`",
                _ => {
                    accept(&mut self.problems, location, "image.build_args", argument_name(name));
                    continue;
                }
            };
            if config.image.dockerfile.is_none() {
                let message = format!("{name} is set elsewhere for the stock image");
                self.note(
                    location,
                    "image.build_args",
                    ProblemCode::Conflict,
                    message,
                    &format!("use {instead}"),
                );
            }
        }
        all.into_iter().map(|(name, value)| (name, value.value)).collect()
    }

    fn secrets(&mut self, image: &config::ImageTable, flags: &BuildFlags) -> Vec<String> {
        let location = Location::Flag("--secret".into());
        for typed in &flags.secret {
            let id = typed.split(',').find_map(|part| part.strip_prefix("id=")).filter(|id| !id.is_empty());
            match (id, &image.ca_certificates) {
                // The rest is not repeated: it may be the secret itself, given by mistake.
                (None, _) => self.problems.push(
                    Problem::new(&location, "", ProblemCode::InvalidValue, "a secret of a build has an id")
                        .expecting("such as id=npm,src=FILE or id=npm,env=NAME"),
                ),
                (Some(CA_CERTIFICATES), Some(configured)) => {
                    let message =
                        format!("image.ca_certificates ({}) is this secret already", configured.location);
                    self.note(&location, "", ProblemCode::Conflict, message, "leave one of the two out");
                }
                (Some(_), _) => {}
            }
        }
        flags.secret.clone()
    }

    fn builder(&mut self, flags: &BuildFlags) -> Option<String> {
        let location = Location::Flag("--builder".into());
        accept(&mut self.problems, &location, "", builder(flags.builder.as_deref()?))
    }
}

fn flag<T>(name: &str, value: T) -> Located<T> {
    Located::new(value, Location::Flag(name.into()))
}

/// Reads a name that an image can be given: distribution's grammar of references, without a digest.
fn tag(text: &str) -> Result<String, Fault> {
    let name = value::image(text)?;
    if name.contains('@') {
        let message = format!("{text:?} names one content by its digest, and what is built has its own");
        return Err(Fault::Value {
            message,
            expected: Some("a name with a tag or without".to_owned()),
            hint: None,
        });
    }
    // A colon before the last slash belongs to the port of a registry.
    let repository = match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => &name,
    };
    let path = repository.split_once('/').map_or(repository, |(_, path)| path);
    if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(Fault::Value {
            message: format!("{text:?} has capital letters, which no registry takes in the name of an image"),
            expected: None,
            hint: Some(format!("use {:?}", name.replace(path, &path.to_lowercase()))),
        });
    }
    Ok(name)
}

/// Reads a package of a distribution, as its package manager takes one: with a version, an architecture or a suite if need
/// be. Never an option or an address, and nothing that a shell would read as more than a word.
fn package(text: &str) -> Result<String, Fault> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"+-._:/=~<>@".contains(&byte);
    if text.bytes().all(known)
        && text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '.')
        && !text.contains("//")
    {
        Ok(text.to_owned())
    } else {
        Err(Fault::Value {
            message: format!("{text:?} cannot be a package"),
            expected: Some("a name such as \"git\", one package an entry".to_owned()),
            hint: None,
        })
    }
}

fn argument_name(text: &str) -> Result<(), Fault> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if text.bytes().all(inner) && text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
    {
        Ok(())
    } else {
        Err(Fault::Value {
            message: format!("{text:?} cannot be the name of an argument"),
            expected: Some("letters, digits and \"_\"".to_owned()),
            hint: None,
        })
    }
}

fn builder(text: &str) -> Result<String, Fault> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if text.bytes().all(inner) && text.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        Ok(text.to_owned())
    } else {
        Err(Fault::Value {
            message: format!("{text:?} cannot name a builder"),
            expected: Some("one that `docker buildx ls` lists".to_owned()),
            hint: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::problem::Scope;
    use crate::config::{Config, ConfigFile, PathBase};

    fn spec(text: &str, flags: &BuildFlags) -> Result<BuildSpec, Vec<String>> {
        let base = PathBase { directory: "/project".into(), home: None };
        let file = ConfigFile { scope: Scope::Project, label: "sandbox.toml".into(), base };
        let config = Config::parse(text, &file).unwrap();
        BuildSpec::new(&Effective::merge([config]), flags)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[track_caller]
    fn refused(text: &str, flags: &BuildFlags) -> String {
        spec(text, flags).unwrap_err().join("\n")
    }

    #[test]
    fn without_a_word_the_stock_image_is_built_for_every_platform() {
        let spec = spec("", &BuildFlags::default()).unwrap();
        assert_eq!(spec.tags, [IMAGE]);
        assert_eq!(spec.platforms.iter().map(Platform::as_str).collect::<Vec<_>>(), key::PLATFORMS);
        assert_eq!(spec.platforms[1].architecture(), "arm64");
        assert_eq!(spec.destination, Destination::Engine);
        let ImageSource::Stock { base, packages } = spec.source else { panic!("{:?}", spec.source) };
        let default = |name| crate::config::schema::find("image", name).unwrap().default;
        assert_eq!(default("base"), format!("{base:?}"));
        assert_eq!(default("packages"), format!("{packages:?}"));
        assert_eq!(default("name"), format!("{IMAGE:?}"));
    }

    #[test]
    fn flags_go_before_the_file() {
        let text = "[image]\nname = \"team/a\"\nbase = \"debian:trixie-slim\"\nplatforms = [\"linux/amd64\"]\n\
                    build_args = { A = \"1\", B = \"2\" }";
        let flags = BuildFlags {
            tag: vec!["localhost:5000/b:1".into(), "localhost:5000/b:2".into()],
            platform: vec!["linux/arm64,linux/amd64".into(), "linux/arm64".into()],
            base: Some("debian:13".into()),
            build_arg: vec!["B=3=4".into(), "C".into()],
            push: true,
            ..BuildFlags::default()
        };
        let spec = spec(text, &flags).unwrap();
        assert_eq!(spec.tags, flags.tag);
        assert_eq!(
            spec.platforms.iter().map(Platform::as_str).collect::<Vec<_>>(),
            ["linux/arm64", "linux/amd64"]
        );
        assert!(matches!(spec.source, ImageSource::Stock { base, .. } if base == "debian:13"));
        let value = |text: &str| BuildArg::Value(text.to_owned());
        let expected = [("A", value("1")), ("B", value("3=4")), ("C", BuildArg::Inherited)];
        assert_eq!(spec.build_args, expected.map(|(name, value)| (name.to_owned(), value)).into());
        assert_eq!(spec.destination, Destination::Registry);
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let text =
            "[image]\npackages = [\"git\", \"--allow-untrusted\", \"a b\"]\nbuild_args = { BASE = \"x\" }";
        let flags = BuildFlags {
            platform: vec!["linux/arm46".into()],
            tag: vec!["Sandbox".into(), "a@sha256:0".into()],
            secret: vec!["hunter2".into()],
            builder: Some("-x".into()),
            ..BuildFlags::default()
        };
        let problems = refused(text, &flags);
        assert_eq!(problems.lines().count(), 8, "{problems}");
        for part in [
            "\"--allow-untrusted\" cannot be a package",
            "\"a b\" cannot be a package",
            "BASE is set elsewhere for the stock image; use `image.base` or `--base`",
            "--platform: image.platforms: \"linux/arm46\" is not known",
            "use \"sandbox\"",
            "by its digest",
            "a secret of a build has an id",
            "\"-x\" cannot name a builder",
        ] {
            assert!(problems.contains(part), "{part}: {problems}");
        }
        assert!(!problems.contains("hunter2"), "{problems}");
    }

    #[test]
    fn what_is_pushed_says_where_to() {
        let push = BuildFlags { push: true, ..BuildFlags::default() };
        assert!(refused("", &push).contains("\"sandbox-image\" names no registry"));
        assert!(spec("[image]\nname = \"localhost:5000/a\"", &push).is_ok());
    }

    #[test]
    fn an_own_dockerfile_has_no_base_beside_it() {
        let text = "[image]\ndockerfile = \"docker/Dockerfile\"\nbuild_args = { BASE = \"x\" }";
        let own = spec(text, &BuildFlags::default()).unwrap();
        assert_eq!(own.source, ImageSource::Own { dockerfile: "/project/docker/Dockerfile".into() });
        let flags = BuildFlags { base: Some("debian".into()), ..BuildFlags::default() };
        assert!(
            refused(text, &flags).contains("(sandbox.toml:2:14) replaces it"),
            "{}",
            refused(text, &flags)
        );
    }

    #[test]
    fn certificates_are_given_once() {
        let flags =
            BuildFlags { secret: vec!["id=ca_certificates,src=a.pem".into()], ..BuildFlags::default() };
        assert!(spec("", &flags).is_ok());
        assert!(refused("[image]\nca_certificates = \"b.pem\"", &flags).contains("is this secret already"));
    }

    #[test]
    fn only_attestations_that_are_asked_for_need_a_builder_that_makes_them() {
        let asked = |provenance: Option<&str>| {
            Attestations { sbom: None, provenance: provenance.map(str::to_owned) }.are_asked_for()
        };
        assert!(!asked(None) && !asked(Some("false")) && asked(Some("mode=max")));
    }
}
