//! Images, as far as starting a container from one needs to know them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use policy::plan::Pull;
use serde::Deserialize;

use super::{Engine, EngineError};

/// How long fetching an image may take.
const FETCH: Duration = Duration::from_secs(30 * 60);

/// An image that the engine has.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Image {
    /// The processor it is for, as Docker names it.
    pub architecture: String,
    /// What it sets for whoever is started from it.
    pub config: Config,
}

/// What an image sets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Config {
    /// The environment, each as `NAME=value`.
    #[serde(default, deserialize_with = "or_none")]
    pub env: Vec<String>,
    /// Who a container of it is.
    #[serde(default)]
    pub user: String,
    /// Where it wants file systems of their own, which an engine makes.
    #[serde(default, deserialize_with = "or_none")]
    volumes: BTreeMap<String, serde_json::Value>,
    /// The program that every command is handed to.
    #[serde(default, deserialize_with = "or_none")]
    pub entrypoint: Vec<String>,
}

impl Config {
    /// Where an engine will mount what the image wants of its own, as far as its text says: there may be links.
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
    /// Looks an image up; `None` where the engine does not have it.
    pub fn image(&self, name: &str) -> Result<Option<Image>, EngineError> {
        match self.socket() {
            Some(socket) => socket.get(&format!("/images/{name}/json")),
            None => match self.ask(["image", "inspect", "--format", "json", name]) {
                Ok(text) => {
                    let images: Vec<Image> =
                        serde_json::from_str(&text).map_err(|error| EngineError::Refused {
                            kind: self.kind(),
                            message: format!("its answer cannot be read: {error}"),
                        })?;
                    Ok(images.into_iter().next())
                }
                Err(EngineError::Refused { message, .. }) if is_missing(&message) => Ok(None),
                Err(error) => Err(error),
            },
        }
    }

    /// Looks an image up, and fetches it before as `pull` says.
    pub fn provide(&self, name: &str, pull: Pull, platform: Option<&str>) -> Result<Image, EngineError> {
        let missing = || EngineError::NoImage { kind: self.kind(), image: name.to_owned() };
        // What an engine has of an image may be for its own platform only, and older ones do not tell.
        let must_fetch =
            pull == Pull::Always || pull == Pull::Missing && platform.is_some() && names_a_registry(name);
        let there = if must_fetch { None } else { self.image(name)? };
        match (there, pull) {
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
        self.call(arguments, FETCH).map(drop).map_err(|error| match error {
            EngineError::Refused { message, .. } => {
                EngineError::Pull { image: name.to_owned(), reason: message }
            }
            error => error,
        })
    }
}

/// Refuses what no processor here runs. What cannot be told is tried.
pub fn refuse_foreign(root: &Path, image: &str, architecture: &str) -> Result<(), EngineError> {
    let own = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let handlers = root.join("proc/sys/fs/binfmt_misc");
    let knows = |emulator: &str| {
        std::fs::read_to_string(handlers.join(format!("qemu-{emulator}")))
            .is_ok_and(|text| text.starts_with("enabled"))
    };
    let emulated = match architecture {
        "amd64" => knows("x86_64"),
        "arm64" => knows("aarch64"),
        _ => true,
    };
    // Without this file nobody can look: the kernel's list is mounted elsewhere, or nowhere.
    if architecture == own || emulated || !handlers.join("status").exists() {
        return Ok(());
    }
    let (image, has) = (image.to_owned(), format!("linux/{architecture}"));
    Err(EngineError::Architecture { image, has, runs: format!("linux/{own}") })
}

/// Whether a name says where the image comes from. One without a registry is a name of this machine: a registry that
/// everybody may write to must not answer for it.
fn names_a_registry(name: &str) -> bool {
    name.split_once('/').is_some_and(|(first, _)| first.contains(['.', ':']) || first == "localhost")
}

fn is_missing(message: &str) -> bool {
    let message = message.to_lowercase();
    ["no such image", "image not known"].iter().any(|words| message.contains(words))
}

/// An empty list is written as `null` too.
fn or_none<'de, T: Default + Deserialize<'de>, D: serde::Deserializer<'de>>(
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
        let foreign = if std::env::consts::ARCH == "x86_64" {
            ("arm64", "qemu-aarch64")
        } else {
            ("amd64", "qemu-x86_64")
        };
        let refused = || refuse_foreign(top.path(), "box", foreign.0).is_err();
        assert!(!refused(), "what cannot be looked at is tried");
        let handlers = top.path().join("proc/sys/fs/binfmt_misc");
        std::fs::create_dir_all(&handlers).unwrap();
        std::fs::write(handlers.join("status"), "enabled\n").unwrap();
        assert!(refused());
        std::fs::write(handlers.join(foreign.1), "disabled\n").unwrap();
        assert!(refused());
        std::fs::write(handlers.join(foreign.1), "enabled\ninterpreter /usr/bin/x\n").unwrap();
        assert!(!refused());
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
