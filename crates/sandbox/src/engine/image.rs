//! Images, as far as starting a container from one needs to know them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use policy::plan::{Pull, names_a_registry};
use serde::Deserialize;

use super::Engine;
use crate::engine::error::EngineError;
use crate::engine::error_patterns::FailureCause;
use crate::host::child::Group;

/// How long fetching an image may take.
const FETCH: Duration = Duration::from_secs(30 * 60);

/// What the keys of annotations begin with that describe an image, and that no runtime obeys.
const DESCRIPTIONS: &[&str] = &["com.docker.official-images.", "io.buildah.", "org.opencontainers.image."];

/// The digest that names the content of an image: what was inspected is what runs, whatever its name means by then.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(try_from = "String")]
pub struct ImageId(String);

/// What an engine gave for an id is none.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is no id of an image", policy::text::escape::line(.0))]
pub struct NoImageId(String);

/// An image that the engine has.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Image {
    /// The name by which it was requested: for messages alone, because it may name another image by now.
    #[serde(skip)]
    pub name: String,
    /// What is run.
    pub id: ImageId,
    /// The processor it is for, as Docker names it.
    pub architecture: String,
    pub config: ImageConfig,
    /// What it says of itself besides. Podman hands that to the runtime.
    #[serde(default, deserialize_with = "or_none")]
    pub annotations: BTreeMap<String, serde_json::Value>,
    /// Why none for another processor could be fetched, where that was tried.
    #[serde(skip)]
    pub unfetched: Option<String>,
}

/// What an image sets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ImageConfig {
    /// The environment, each as `NAME=value`.
    #[serde(default, deserialize_with = "or_none")]
    pub env: Vec<String>,
    /// Where it wants file systems of their own, which an engine makes.
    #[serde(default, deserialize_with = "or_none")]
    volumes: BTreeMap<String, serde_json::Value>,
}

impl ImageId {
    /// Returns it as the engine's command takes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ImageId {
    type Error = NoImageId;

    fn try_from(text: String) -> Result<Self, NoImageId> {
        let digits = text.strip_prefix("sha256:").unwrap_or(&text);
        let is_digest = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_digest { Ok(Self(text)) } else { Err(NoImageId(text)) }
    }
}

impl Image {
    /// Returns whether it is for this platform, or for this machine where none is named.
    pub fn is_for(&self, platform: Option<&str>) -> bool {
        let wanted = platform.and_then(|platform| platform.split('/').nth(1));
        self.architecture == wanted.unwrap_or_else(|| own_architecture())
    }
}

impl ImageConfig {
    /// Lists where an engine will mount the volumes of the image, as far as its text says: there may be links.
    pub(crate) fn volumes(&self) -> impl Iterator<Item = PathBuf> {
        self.volumes.keys().map(|volume| {
            let parts = Path::new(volume).components();
            parts.fold(PathBuf::from("/"), |mut path, part| {
                match part {
                    Component::Normal(name) => path.push(name),
                    Component::ParentDir => drop(path.pop()),
                    Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
                }
                path
            })
        })
    }
}

impl Engine {
    /// Inspects an image; `None` where the engine does not have it.
    pub fn image(&self, name: &str) -> Result<Option<Image>, EngineError> {
        let Some(socket) = self.socket() else {
            return names_of(name).iter().find_map(|name| self.inspected(name).transpose()).transpose();
        };
        let image: Option<Image> = socket.get(&format!("/images/{name}/json"))?;
        Ok(image.map(|image| Image { name: name.to_owned(), ..image }))
    }

    fn inspected(&self, name: &str) -> Result<Option<Image>, EngineError> {
        match self.query(["image", "inspect", "--format", "json", name]) {
            Ok(text) => {
                let images: Vec<Image> = serde_json::from_str(&text).map_err(|source| {
                    EngineError::Answer { kind: self.kind(), what: "its answer".to_owned(), source }
                })?;
                let image = images.into_iter().next();
                image.iter().try_for_each(|image| self.refuse_runtime_annotations(name, image))?;
                Ok(image.map(|image| Image { name: name.to_owned(), ..image }))
            }
            Err(EngineError::Refused { cause: Some(FailureCause::NoImage), .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Refuses an image whose annotations are more than a description: crun opens files and sockets of the host that they
    /// name (`run.oci.hooks.stderr` and others in crun(1)), and systemd sets properties (`org.systemd.property.*`).
    fn refuse_runtime_annotations(&self, name: &str, image: &Image) -> Result<(), EngineError> {
        image.annotations.keys().find(|key| !describes(key)).map_or(Ok(()), |key| {
            let key = policy::text::escape::line(key);
            let message = format!("image {name} has the annotation `{key}`, which Podman would hand to the runtime; none but descriptions are allowed");
            Err(EngineError::refused(self.kind(), message))
        })
    }

    /// Inspects an image, and pulls it before as `pull` says.
    pub fn provide(&self, name: &str, pull: Pull, platform: Option<&str>) -> Result<Image, EngineError> {
        let missing = || EngineError::NoImage { kind: self.kind(), image: name.to_owned() };
        let there = if pull == Pull::Always { None } else { self.image(name)? };
        match (there, pull) {
            (Some(image), Pull::Missing) if names_a_registry(name) && !image.is_for(platform) => {
                // An engine may have several under one name, and list one. What it does not have is fetched; where that
                // cannot be, it may still run what it has, or says itself why not.
                match self.fetch(name, platform) {
                    Ok(()) => self.image(name)?.ok_or_else(missing),
                    Err(EngineError::Pull { reason, .. }) => Ok(Image { unfetched: Some(reason), ..image }),
                    Err(error) => Err(error),
                }
            }
            (Some(image), _) => Ok(image),
            (None, Pull::Never) => Err(missing()),
            (None, Pull::Missing) if !names_a_registry(name) => Err(missing()),
            (None, Pull::Missing | Pull::Always) => {
                self.fetch(name, platform)?;
                self.image(name)?.ok_or_else(missing)
            }
        }
    }

    fn fetch(&self, name: &str, platform: Option<&str>) -> Result<(), EngineError> {
        let platform = platform.into_iter().flat_map(|platform| ["--platform", platform]);
        let arguments = ["pull", "--quiet"].into_iter().chain(platform).chain([name]);
        // It may take as long as somebody's patience, and ends with it.
        let group = Group::guarded(None).map_err(|source| EngineError::Call { kind: self.kind(), source })?;
        super::output(self.kind(), self.command().args(arguments), group, FETCH).map(drop).map_err(|error| {
            match error {
                EngineError::Refused { message, .. } => {
                    EngineError::Pull { image: name.to_owned(), reason: message }
                }
                error => error,
            }
        })
    }
}

/// Returns whether an annotation describes an image, and nothing more.
pub(crate) fn describes(key: &str) -> bool {
    DESCRIPTIONS.iter().any(|beginning| key.starts_with(beginning))
}

/// Refuses what no processor here runs. What cannot be determined is tried.
pub(crate) fn refuse_foreign(root: &Path, image: &str, architecture: &str) -> Result<(), EngineError> {
    let own = own_architecture();
    let handlers = root.join("proc/sys/fs/binfmt_misc");
    // By what it is for, whatever its name: e_machine of elf(5), at its place in the header that it matches.
    let machine = match architecture {
        "amd64" => Some("3e00"),
        "arm64" => Some("b700"),
        _ => None,
    };
    let emulates = |machine: &str| {
        let entries = std::fs::read_dir(&handlers).into_iter().flatten().flatten();
        entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).any(|text| {
            let magic = text.lines().find_map(|line| line.strip_prefix("magic "));
            text.starts_with("enabled") && magic.is_some_and(|magic| magic.get(36..40) == Some(machine))
        })
    };
    let emulated = machine.is_none_or(emulates);
    // Without this file nobody can look: the kernel's list is mounted elsewhere, or nowhere.
    if architecture == own || emulated || !handlers.join("status").exists() {
        return Ok(());
    }
    let (image, has) = (image.to_owned(), format!("linux/{architecture}"));
    Err(EngineError::Architecture { image, has, runs: format!("linux/{own}") })
}

/// Lists the full names that a name may stand for: Podman takes an image of any registry for one without a registry. What
/// has none was made here, or comes from Docker, which calls it so.
fn names_of(name: &str) -> Vec<String> {
    let is_number = name.len() >= 12 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if names_a_registry(name) || is_number || name.starts_with("sha256:") {
        return vec![name.to_owned()];
    }
    let of_docker = if name.contains('/') { "docker.io" } else { "docker.io/library" };
    ["localhost", of_docker].map(|registry| format!("{registry}/{name}")).into()
}

/// Returns the processor of this machine, as images name it.
fn own_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Deserializes a list that is written as `null` where it is empty.
pub(crate) fn or_none<'de, T: Default + Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_processor_needs_an_emulator() {
        let top = tempfile::tempdir().unwrap();
        let (foreign, machine) =
            if std::env::consts::ARCH == "x86_64" { ("arm64", "b700") } else { ("amd64", "3e00") };
        let refused = || refuse_foreign(top.path(), "box", foreign).is_err();
        assert!(!refused(), "what cannot be looked at is tried");
        let handlers = top.path().join("proc/sys/fs/binfmt_misc");
        std::fs::create_dir_all(&handlers).unwrap();
        std::fs::write(handlers.join("status"), "enabled\n").unwrap();
        assert!(refused());
        // As the kernel shows them, by whatever name.
        let entry = |state: &str, machine: &str| {
            let text = format!(
                "{state}\ninterpreter /usr/bin/x\nflags: OCF\noffset 0\nmagic 7f454c460201010000000000000000000200{machine}\nmask ff\n"
            );
            std::fs::write(handlers.join("other"), text).unwrap();
        };
        entry("disabled", machine);
        assert!(refused());
        entry("enabled", "f300");
        assert!(refused());
        entry("enabled", machine);
        assert!(!refused());
    }

    #[test]
    fn only_a_whole_digest_is_an_id() {
        let digits = "0123456789abcdef".repeat(4);
        for id in [digits.clone(), format!("sha256:{digits}")] {
            assert_eq!(ImageId::try_from(id.clone()).unwrap().as_str(), id);
        }
        for name in ["", "box:1", "sha256:0123", &digits[1..], &format!("{digits}0")] {
            assert!(ImageId::try_from(name.to_owned()).is_err(), "{name}");
        }
    }

    #[test]
    fn no_registry_answers_for_a_name_without_one() {
        assert_eq!(names_of("box:1"), ["localhost/box:1", "docker.io/library/box:1"]);
        assert_eq!(names_of("team/box"), ["localhost/team/box", "docker.io/team/box"]);
        for name in ["registry.example.org/box", "sha256:0123", "0123456789ab"] {
            assert_eq!(names_of(name), [name]);
        }
    }

    #[test]
    fn only_a_name_with_a_registry_is_fetched() {
        for name in ["localhost:5000/debian", "localhost/x", "registry.example.org/team/sandbox:1"] {
            assert!(names_a_registry(name), "{name}");
        }
        for name in ["sandbox-image", "sandbox-image:latest", "team/sandbox", "debian:trixie-slim"] {
            assert!(!names_a_registry(name), "{name}");
        }
    }
}
