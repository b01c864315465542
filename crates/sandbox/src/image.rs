//! Images: built by buildx as a build spec says, checked, and reported by digest.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use policy::build_spec::{BuildSpec, Destination, ImageSource, Platform, Reuse};
use serde::Deserialize;

use self::builder::{Builder, Making};
pub use self::call::BuildProgress;
pub use self::command::Display;
use self::command::{BuildOutput, BuildTarget};
use self::docker::{Docker, ImageStore};
pub use self::error::BuildError;
use self::layout::{Layout, Made, OciIndex};
use crate::engine::surroundings::Surroundings;
use crate::host::project;
pub use crate::image::error::Lack;
pub use crate::image::error::Unfit;

mod builder;
mod call;
mod check;
mod command;
mod context;
mod docker;
pub mod error;
mod failure;
mod layout;

/// What a build is made with, besides its build spec.
#[derive(Clone, Copy, Debug)]
pub struct BuildRequest<'a> {
    pub spec: &'a BuildSpec,
    /// What is in the files that it names.
    pub files: &'a Files,
    pub surroundings: &'a Surroundings,
    /// Where a directory can be made for what is only needed until the end.
    pub temporary: &'a Path,
    /// The caller's `SOURCE_DATE_EPOCH`.
    pub epoch: Option<&'a OsStr>,
    /// Where what buildx says of the image is kept.
    pub metadata_file: Option<&'a Path>,
    pub detail: Detail,
}

/// What is in the files of the caller's that a build spec names. Each is read once, and by whoever knows with whose rights.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Files {
    /// The Dockerfile; empty for the stock image.
    pub dockerfile: Vec<u8>,
    /// The certificates that the build trusts.
    pub ca_certificates: Option<Vec<u8>>,
}

/// How much is to be known of an image.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Detail {
    /// The digest of the whole.
    Whole,
    /// That of each platform too. Where the image is not pushed it has to be written to disk for that.
    Platforms,
}

/// An image that was built.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Built {
    /// The digest of the whole. An engine with a classic store has none.
    pub digest: Option<String>,
    /// The platforms, each with the digest of its manifest where it is known.
    pub platforms: Vec<(Platform, Option<String>)>,
    pub builder: String,
}

/// Returns the command line that builds the image: `docker` and its arguments, and the variable that they need.
pub fn command(
    request: &BuildRequest<'_>,
    display: Display<'_>,
) -> Result<(Option<String>, Vec<OsString>), BuildError> {
    let docker = Docker::find(request.surroundings)?;
    let builder = builder::choose(&docker, request.spec, &own_builder(request), Making::Not)?;
    let subject = match &request.spec.source {
        ImageSource::Stock { .. } => BuildTarget::Image { entrypoint: None },
        ImageSource::Own { .. } => {
            let takes = takes_entrypoint(&request.files.dockerfile);
            BuildTarget::Image { entrypoint: takes.then_some("oci-layout://entrypoint") }
        }
    };
    let output = BuildOutput::Destination(request.metadata_file);
    let mut words = vec!["docker".into()];
    words.extend(command::build(request.spec, &builder, subject, output, display));
    Ok((epoch(request).map(|epoch| format!("SOURCE_DATE_EPOCH={epoch}")), words))
}

/// Builds the image.
pub fn build(request: &BuildRequest<'_>, progress: &mut BuildProgress<'_>) -> Result<Built, BuildError> {
    let docker = Docker::find(request.surroundings)?;
    let builder = builder::choose(&docker, request.spec, &own_builder(request), Making::Allowed)?;
    let scratch = Scratch::new(request.temporary)?;
    let spec = with_certificates(request, &scratch.0)?;
    let request = &BuildRequest { spec: &spec, ..*request };
    let site = Site { docker: &docker, builder: &builder, request, scratch: &scratch.0 };
    match &request.spec.source {
        ImageSource::Stock { .. } => {
            (progress.on_line)(&format!("building the image: {}", site.goes()));
            let metadata = site.image(request.spec, BuildTarget::Image { entrypoint: None }, progress)?;
            let platforms = site.digests(&metadata, progress)?;
            Ok(site.built(metadata, &platforms))
        }
        ImageSource::Own { .. } => {
            let entrypoint = if takes_entrypoint(&request.files.dockerfile) {
                (progress.on_line)("building the entrypoint, which the Dockerfile takes");
                Some(site.layout("entrypoint", request.spec, BuildTarget::Entrypoint, progress)?.1)
            } else {
                None
            };
            let subject = BuildTarget::Image { entrypoint: entrypoint.as_deref() };
            let platforms = site.check(subject, progress)?;
            (progress.on_line)(&format!("the image passed its check: {}", site.goes()));
            // Every step was done a moment ago.
            let mut spec = request.spec.clone();
            spec.cache.reuse = Reuse::Allowed;
            let metadata = site.image(&spec, subject, progress)?;
            Ok(site.built(metadata, &platforms))
        }
    }
}

/// Returns the build spec with certificates of our own writing: what was read is what the build trusts.
fn with_certificates(request: &BuildRequest<'_>, scratch: &Path) -> Result<BuildSpec, BuildError> {
    let mut spec = request.spec.clone();
    if let Some(certificates) = &request.files.ca_certificates {
        let path = scratch.join("ca_certificates.pem");
        std::fs::write(&path, certificates)
            .map_err(|source| BuildError::File { path: path.clone(), source })?;
        spec.ca_certificates = Some(path);
    }
    Ok(spec)
}

/// Returns the name of a builder of our own.
fn own_builder(request: &BuildRequest<'_>) -> String {
    format!("sandboxctl-{}", request.surroundings.uid)
}

/// Returns what `SOURCE_DATE_EPOCH` has to be set to. An own Dockerfile is its owner's, dates included.
fn epoch(request: &BuildRequest<'_>) -> Option<&'static str> {
    let stock = matches!(request.spec.source, ImageSource::Stock { .. });
    (stock && request.epoch.is_none()).then_some(context::EPOCH)
}

/// Returns whether a Dockerfile takes the entrypoint from us: by naming it, without a stage of its own by that name.
fn takes_entrypoint(dockerfile: &[u8]) -> bool {
    let lower = String::from_utf8_lossy(dockerfile).to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let named = |word: &str| {
        word.split(',')
            .any(|part| part.trim_start_matches("--mount=").trim_start_matches("--") == "from=entrypoint")
    };
    let follows = |first: &str| words.windows(2).any(|pair| pair == [first, context::ENTRYPOINT]);
    (words.iter().any(|word| named(word)) || follows("from")) && !follows("as")
}

fn read(path: &Path) -> Result<String, BuildError> {
    std::fs::read_to_string(path).map_err(|source| BuildError::File { path: path.to_owned(), source })
}

/// What buildx writes of an image.
#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(rename = "containerimage.digest")]
    digest: Option<String>,
}

/// Where one build takes place.
struct Site<'a> {
    docker: &'a Docker,
    builder: &'a Builder,
    request: &'a BuildRequest<'a>,
    scratch: &'a Path,
}

impl Site<'_> {
    /// Builds the image to where it goes.
    fn image(
        &self,
        spec: &BuildSpec,
        subject: BuildTarget<'_>,
        progress: &mut BuildProgress<'_>,
    ) -> Result<Metadata, BuildError> {
        let own = self.scratch.join("metadata.json");
        let path = self.request.metadata_file.unwrap_or(&own);
        let output = BuildOutput::Destination(Some(path));
        self.run(&command::build(spec, self.builder, subject, output, progress.display), progress)?;
        serde_json::from_str(&read(path)?)
            .map_err(|source| BuildError::Answer { what: "what buildx says of the image", source })
    }

    /// Builds to disk. Returns it, and how other builds name it.
    fn layout(
        &self,
        name: &str,
        spec: &BuildSpec,
        subject: BuildTarget<'_>,
        progress: &mut BuildProgress<'_>,
    ) -> Result<(Layout, String), BuildError> {
        let layout = Layout(self.scratch.join(name));
        let output = BuildOutput::Layout(&layout.0);
        self.run(&command::build(spec, self.builder, subject, output, progress.display), progress)?;
        let reference = format!("oci-layout://{}@{}", layout.0.to_string_lossy(), layout.digest()?);
        Ok((layout, reference))
    }

    /// Refuses an image that is no sandbox where an engine starts it, before it goes anywhere.
    fn check(
        &self,
        subject: BuildTarget<'_>,
        progress: &mut BuildProgress<'_>,
    ) -> Result<Vec<Made>, BuildError> {
        let spec = self.request.spec;
        (progress.on_line)(&format!("building the image to disk, for {}", listed(&spec.platforms)));
        let (layout, reference) = self.layout("image", spec, subject, progress)?;
        let images = layout.platforms()?;
        let mut unfit = Vec::new();
        let mut paths = Vec::new();
        for platform in &spec.platforms {
            let image = images.iter().find(|(made, _)| same(platform, made)).map(|(_, image)| image);
            match check::path_in(image.unwrap_or(&layout::OciImage::default())) {
                Ok(path) => paths.push((platform, path)),
                Err(what) => unfit.push((platform.clone(), what)),
            }
        }
        if !paths.is_empty() {
            (progress.on_line)("checking the image: its entrypoint, and its user");
            let taken = self.scratch.join("taken");
            let mut all: Vec<PathBuf> = paths.iter().map(|(_, path)| path.clone()).collect();
            all.dedup();
            let words = command::extract(spec, self.builder, &reference, &taken, progress.display);
            self.call(&words, check::dockerfile(&all).as_bytes(), progress)?;
            for (platform, path) in paths {
                // One platform has no directory of its own.
                let of = taken.join(platform.as_str().replace('/', "_"));
                let of = if spec.platforms.len() > 1 { &of } else { &taken };
                unfit.extend(
                    check::check(of, &path, platform).into_iter().map(|what| (platform.clone(), what)),
                );
            }
        }
        if unfit.is_empty() {
            return Ok(images.into_iter().map(|(made, _)| made).collect());
        }
        Err(BuildError::Unfit { unfit })
    }

    /// Returns the digests of the platforms, where they are to be known.
    fn digests(
        &self,
        metadata: &Metadata,
        progress: &mut BuildProgress<'_>,
    ) -> Result<Vec<Made>, BuildError> {
        let spec = self.request.spec;
        if spec.destination.pushes() {
            let Some(digest) = &metadata.digest else { return Ok(Vec::new()) };
            let name = format!("{}@{digest}", repository(&spec.tags[0]));
            let raw = self.docker.query(["buildx", "imagetools", "inspect", "--raw", &name])?;
            return Ok(match (OciIndex::parse(&raw)?, spec.platforms.as_slice()) {
                (Some(index), _) => index.platforms(),
                (None, [platform]) => vec![Made { platform: platform.to_string(), digest: digest.clone() }],
                (None, _) => Vec::new(),
            });
        }
        if self.request.detail == Detail::Whole || self.docker.store == ImageStore::Classic {
            return Ok(Vec::new());
        }
        (progress.on_line)("querying the digest of each platform: every step was done a moment ago");
        let mut again = spec.clone();
        again.cache.reuse = Reuse::Allowed;
        let (layout, _) = self.layout("image", &again, BuildTarget::Image { entrypoint: None }, progress)?;
        Ok(layout.platforms()?.into_iter().map(|(made, _)| made).collect())
    }

    fn built(&self, metadata: Metadata, made: &[Made]) -> Built {
        let digest = |platform: &Platform| {
            made.iter().find(|made| same(platform, made)).map(|made| made.digest.clone())
        };
        let platforms = self.request.spec.platforms.iter();
        Built {
            digest: metadata.digest,
            platforms: platforms.map(|platform| (platform.clone(), digest(platform))).collect(),
            builder: self.builder.name.clone(),
        }
    }

    /// Describes where the image goes, and what for.
    fn goes(&self) -> String {
        let spec = self.request.spec;
        let place = match spec.destination {
            Destination::Engine => "into the engine",
            Destination::Registry => "to its registry",
            Destination::Both => "into the engine and to its registry",
        };
        format!("{} for {}, {place}", spec.tags.join(", "), listed(&spec.platforms))
    }

    /// Runs buildx with the context that its arguments mean.
    fn run(&self, words: &[OsString], progress: &mut BuildProgress<'_>) -> Result<(), BuildError> {
        let stock = words.last().is_some_and(|context| context == "-");
        self.call(words, if stock { context::STOCK } else { &[] }, progress)
    }

    fn call(
        &self,
        words: &[OsString],
        input: &[u8],
        progress: &mut BuildProgress<'_>,
    ) -> Result<(), BuildError> {
        call::run(self.docker, words, input, epoch(self.request), self.scratch, progress)
    }
}

fn listed(platforms: &[Platform]) -> String {
    platforms.iter().map(Platform::as_str).collect::<Vec<_>>().join(", ")
}

fn same(platform: &Platform, made: &Made) -> bool {
    platform.as_str() == made.platform
}

/// Derives the name of a project's image from the project's directory: the same each time, and shared by no other
/// project.
pub fn name_of_project(directory: &Path) -> String {
    format!("sandbox-{}", project::name(directory))
}

/// Returns the name of an image without its tag.
fn repository(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => name,
    }
}

/// A directory of ours, for as long as this.
struct Scratch(PathBuf);

impl Scratch {
    fn new(parent: &Path) -> Result<Self, BuildError> {
        let mut random = [0; 8];
        let path = match rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()) {
            Ok(_) => parent.join(format!("sandboxctl-build-{:016x}", u64::from_ne_bytes(random))),
            Err(errno) => return Err(BuildError::File { path: parent.to_owned(), source: errno.into() }),
        };
        // One that is there already, whoever made it, is an error.
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => Ok(Self(path)),
            Err(source) => Err(BuildError::File { path, source }),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dockerfile_that_takes_the_entrypoint_is_known() {
        for text in [
            "FROM debian\nCOPY --from=entrypoint /entrypoint /usr/local/bin/entrypoint",
            "from entrypoint\n",
            "FROM a\nRUN --mount=type=bind,from=entrypoint,target=/x true",
            "FROM a\nRUN --mount=from=entrypoint,target=/x true",
        ] {
            assert!(takes_entrypoint(text.as_bytes()), "{text}");
        }
        for text in [
            "FROM debian\nENTRYPOINT [\"/entrypoint\"]",
            "FROM a AS entrypoint\nFROM b\nCOPY --from=entrypoint /x /x",
        ] {
            assert!(!takes_entrypoint(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn each_project_has_a_name_for_its_image() {
        let name = |path: &str| name_of_project(Path::new(path));
        assert_eq!(name("/src/My Tool_2"), "sandbox-my-tool-2-b3b7953ff55e");
        assert_eq!(name("/src/ä--"), "sandbox-038233305407");
        assert_eq!(name("/"), "sandbox-8a5edab28263");
        assert_ne!(name("/a/b"), name("/c/b"));
    }

    #[test]
    fn a_tag_is_distinguished_from_a_port() {
        assert_eq!(repository("localhost:5000/a:1"), "localhost:5000/a");
        assert_eq!(repository("localhost:5000/a"), "localhost:5000/a");
        assert_eq!(repository("a:latest"), "a");
    }
}
