//! The command line of a build, as data: what is run is what `--dry-run` shows.

use std::ffi::OsString;
use std::path::Path;

use policy::recipe::{BuildArg, CA_CERTIFICATES, Platform, Recipe, Reuse, Source};

use super::builder::Builder;
use super::context::{DOCKERFILE, ENTRYPOINT};

/// What is built.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Subject<'a> {
    /// The image itself.
    Image {
        /// For an own Dockerfile: where it finds the entrypoint.
        entrypoint: Option<&'a str>,
    },
    /// The entrypoint alone.
    Entrypoint,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Output<'a> {
    /// It goes where the recipe says; what is known of it is written into this file, if there is one.
    Destination(Option<&'a Path>),
    /// It stays on disk, in this directory, without names and attestations.
    Layout(&'a Path),
}

/// How a build tells what it does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Display {
    /// On the caller's terminal, as buildx does by itself.
    Terminal,
    /// Line by line.
    Lines,
}

/// The arguments of `docker`.
pub(super) fn build(
    recipe: &Recipe,
    builder: &Builder,
    subject: Subject<'_>,
    output: Output<'_>,
    display: Display,
) -> Vec<OsString> {
    let mut words = Words::start(recipe, builder, display);
    let context = match (&recipe.source, subject) {
        (Source::Own { dockerfile }, Subject::Image { entrypoint }) => {
            words.pair("--file", dockerfile);
            if let Some(entrypoint) = entrypoint {
                words.pair("--build-context", format!("{ENTRYPOINT}={entrypoint}"));
            }
            dockerfile.parent().unwrap_or(Path::new("/")).as_os_str().to_owned()
        }
        (source, _) => {
            words.pair("--file", DOCKERFILE);
            if subject == Subject::Entrypoint {
                words.pair("--target", ENTRYPOINT);
            }
            if let Source::Stock { base, packages } = source {
                words.pair("--build-arg", format!("BASE={base}"));
                words.pair("--build-arg", format!("PACKAGES={}", packages.join(" ")));
            }
            "-".into()
        }
    };
    for (name, value) in &recipe.build_args {
        match value {
            BuildArg::Value(value) => words.pair("--build-arg", format!("{name}={value}")),
            BuildArg::Inherited => words.pair("--build-arg", name),
        }
    }
    if let Some(path) = &recipe.ca_certificates {
        let mut source = OsString::from(format!("id={CA_CERTIFICATES},src="));
        source.push(path);
        words.pair("--secret", source);
    }
    words.each("--secret", &recipe.secrets);
    words.each("--cache-from", &recipe.cache.from);
    match output {
        Output::Layout(directory) => {
            words.all(["--provenance=false", "--sbom=false"]);
            let mut to = OsString::from("type=oci,tar=false,dest=");
            to.push(directory);
            words.pair("--output", to);
        }
        Output::Destination(metadata) => {
            words.each("--cache-to", &recipe.cache.to);
            let asked =
                [("sbom", &recipe.attestations.sbom), ("provenance", &recipe.attestations.provenance)];
            for (kind, how) in asked {
                words.0.extend(how.iter().map(|how| format!("--{kind}={how}").into()));
            }
            words.each("--tag", &recipe.tags);
            words.each("--output", &builder.outputs(recipe.destination));
            if let Some(metadata) = metadata {
                words.pair("--metadata-file", metadata);
            }
        }
    }
    if recipe.cache.reuse == Reuse::Never {
        words.all(["--no-cache"]);
    }
    words.0.push(context);
    words.0
}

/// The arguments of `docker` that copy a few files of an image on disk to another directory: the Dockerfile comes on
/// stdin.
pub(super) fn extract(
    recipe: &Recipe,
    builder: &Builder,
    image: &str,
    to: &Path,
    display: Display,
) -> Vec<OsString> {
    let mut words = Words::start(recipe, builder, display);
    words.pair("--build-context", format!("subject={image}"));
    words.all(["--provenance=false"]);
    let mut output = OsString::from("type=local,dest=");
    output.push(to);
    words.pair("--output", output);
    words.all(["-"]);
    words.0
}

struct Words(Vec<OsString>);

impl Words {
    /// What every build begins with.
    fn start(recipe: &Recipe, builder: &Builder, display: Display) -> Self {
        let mut words = Self(Vec::new());
        words.all(["buildx", "build"]);
        words.pair("--builder", &builder.name);
        words.pair(
            "--progress",
            match display {
                Display::Terminal => "tty",
                Display::Lines => "plain",
            },
        );
        let platforms: Vec<&str> = recipe.platforms.iter().map(Platform::as_str).collect();
        words.pair("--platform", platforms.join(","));
        words
    }

    fn all<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(Into::into));
    }

    fn pair(&mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) {
        self.0.extend([name.into(), value.as_ref().to_owned()]);
    }

    fn each(&mut self, name: &str, values: &[impl AsRef<str>]) {
        for value in values {
            self.pair(name, value.as_ref());
        }
    }
}
