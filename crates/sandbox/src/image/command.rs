//! The command line of a build, as data: what is run is what `--dry-run` shows.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use policy::build_spec::{BuildArg, BuildSpec, CA_CERTIFICATES, ImageSource, Platform, Reuse};

use super::builder::Builder;
use super::context::{DOCKERFILE, ENTRYPOINT};
use crate::engine::csv::field;

/// What is built.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BuildTarget<'a> {
    Image {
        /// For an own Dockerfile: where it finds the entrypoint.
        entrypoint: Option<&'a str>,
    },
    Entrypoint,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BuildOutput<'a> {
    /// It goes where the build spec says; what is known of it is written into this file, if there is one.
    Destination(Option<&'a Path>),
    /// It stays on disk, in this directory, without names and attestations.
    Layout(&'a Path),
}

/// How a build shows what it does.
#[derive(Clone, Copy, Debug)]
pub enum Display<'a> {
    /// Drawn on this terminal, as buildx does by itself.
    Terminal(BorrowedFd<'a>),
    Lines,
}

/// Returns the arguments of `docker` that build an image.
pub(super) fn build(
    spec: &BuildSpec,
    builder: &Builder,
    subject: BuildTarget<'_>,
    output: BuildOutput<'_>,
    display: Display<'_>,
) -> Vec<OsString> {
    let mut words = Arguments::start(spec, builder, display);
    let context = match (&spec.source, subject) {
        (ImageSource::Own { dockerfile }, BuildTarget::Image { entrypoint }) => {
            words.pair("--file", dockerfile);
            if let Some(entrypoint) = entrypoint {
                words.pair("--build-context", format!("{ENTRYPOINT}={entrypoint}"));
            }
            dockerfile.parent().unwrap_or(Path::new("/")).as_os_str().to_owned()
        }
        (source, _) => {
            words.pair("--file", DOCKERFILE);
            if subject == BuildTarget::Entrypoint {
                words.pair("--target", ENTRYPOINT);
            }
            if let ImageSource::Stock { base, packages } = source {
                words.pair("--build-arg", format!("BASE={base}"));
                words.pair("--build-arg", format!("PACKAGES={}", packages.join(" ")));
            }
            "-".into()
        }
    };
    for (name, value) in &spec.build_args {
        match value {
            BuildArg::Value(value) => words.pair("--build-arg", format!("{name}={value}")),
            BuildArg::Inherited => words.pair("--build-arg", name),
        }
    }
    if let Some(path) = &spec.ca_certificates {
        words.pair("--secret", fields(&format!("id={CA_CERTIFICATES}"), "src", path));
    }
    words.each("--secret", &spec.secrets);
    words.each("--cache-from", &spec.cache.from);
    match output {
        BuildOutput::Layout(directory) => {
            words.all(["--provenance=false", "--sbom=false"]);
            words.pair("--output", fields("type=oci,tar=false", "dest", directory));
        }
        BuildOutput::Destination(metadata) => {
            words.each("--cache-to", &spec.cache.to);
            let asked = [("sbom", &spec.attestations.sbom), ("provenance", &spec.attestations.provenance)];
            for (kind, how) in asked {
                words.0.extend(how.iter().map(|how| format!("--{kind}={how}").into()));
            }
            words.each("--tag", &spec.tags);
            words.each("--output", &builder.outputs(spec.destination));
            if let Some(metadata) = metadata {
                words.pair("--metadata-file", metadata);
            }
        }
    }
    if spec.cache.reuse == Reuse::Never {
        words.all(["--no-cache"]);
    }
    words.0.push(context);
    words.0
}

/// Returns the arguments of `docker` that copy a few files of an image on disk to another directory. The Dockerfile comes
/// on stdin.
pub(super) fn extract(
    spec: &BuildSpec,
    builder: &Builder,
    image: &str,
    to: &Path,
    display: Display<'_>,
) -> Vec<OsString> {
    let mut words = Arguments::start(spec, builder, display);
    words.pair("--build-context", format!("subject={image}"));
    words.all(["--provenance=false"]);
    words.pair("--output", fields("type=local", "dest", to));
    words.all(["-"]);
    words.0
}

/// Formats a value that buildx reads as a line of CSV, with a path at its end.
fn fields(others: &str, key: &str, path: &Path) -> OsString {
    OsString::from_vec([others.as_bytes(), b",", &field(key, path)].concat())
}

struct Arguments(Vec<OsString>);

impl Arguments {
    /// Starts with the arguments that every build has.
    fn start(spec: &BuildSpec, builder: &Builder, display: Display<'_>) -> Self {
        let mut words = Self(Vec::new());
        words.all(["buildx", "build"]);
        words.pair("--builder", &builder.name);
        words.pair(
            "--progress",
            match display {
                Display::Terminal(_) => "tty",
                Display::Lines => "plain",
            },
        );
        let platforms: Vec<&str> = spec.platforms.iter().map(Platform::as_str).collect();
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
