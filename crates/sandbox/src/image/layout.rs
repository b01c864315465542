//! An image on disk, in the layout of the Open Container Initiative: what a build has made, for each platform.
//!
//! Format: <https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md>

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _};

use super::error::BuildError;

/// One platform of an image.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Made {
    /// As engines write it: `linux/amd64`.
    pub(super) platform: String,
    /// The digest of its manifest.
    pub(super) digest: String,
}

/// An index: a manifest for each platform, and those of attestations.
#[derive(Debug, Deserialize)]
pub(super) struct OciIndex {
    manifests: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
struct Descriptor {
    digest: String,
    #[serde(default)]
    platform: Option<Of>,
}

#[derive(Debug, Deserialize)]
struct Of {
    os: String,
    architecture: String,
}

#[derive(Debug, Deserialize)]
struct Manifest {
    config: Descriptor,
}

/// What an image says of itself.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct OciImage {
    #[serde(default)]
    pub(super) os: String,
    #[serde(default)]
    pub(super) architecture: String,
    #[serde(default)]
    pub(super) config: OciConfig,
}

/// How an image is started.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct OciConfig {
    /// The program that every command is handed to.
    #[serde(default)]
    pub(super) entrypoint: Option<Vec<String>>,
}

impl OciIndex {
    /// Reads one. A manifest of a single platform is none, which is `None`.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, BuildError> {
        let value: serde_json::Value = understood(text.as_bytes())?;
        if value.get("manifests").is_none() { Ok(None) } else { understood(text.as_bytes()).map(Some) }
    }

    /// Lists the platforms in it. Attestations are manifests too, for a platform that nothing has.
    pub(super) fn platforms(&self) -> Vec<Made> {
        let all = self.manifests.iter().filter_map(|manifest| {
            let Of { os, architecture } = manifest.platform.as_ref().filter(|of| of.os != "unknown")?;
            Some(Made { platform: format!("{os}/{architecture}"), digest: manifest.digest.clone() })
        });
        all.collect()
    }
}

/// An image on disk.
#[derive(Debug)]
pub(super) struct Layout(pub(super) PathBuf);

impl Layout {
    /// Returns the digest of the image as a whole: an index, or the manifest of its one platform.
    pub(super) fn digest(&self) -> Result<String, BuildError> {
        let top: OciIndex = self.read(Path::new("index.json"))?;
        let first = top.manifests.into_iter().next();
        first
            .map(|manifest| manifest.digest)
            .ok_or_else(|| answer(serde_json::Error::custom("it holds no image")))
    }

    /// Lists its platforms, each with what the image says of itself.
    pub(super) fn platforms(&self) -> Result<Vec<(Made, OciImage)>, BuildError> {
        let digest = self.digest()?;
        let text = self.blob(&digest)?;
        let manifests = match OciIndex::parse(&String::from_utf8_lossy(&text))? {
            Some(index) => index.platforms().into_iter().map(|made| made.digest).collect(),
            None => vec![digest],
        };
        manifests.into_iter().map(|digest| self.platform(digest)).collect()
    }

    fn platform(&self, digest: String) -> Result<(Made, OciImage), BuildError> {
        let manifest: Manifest = understood(&self.blob(&digest)?)?;
        let image: OciImage = understood(&self.blob(&manifest.config.digest)?)?;
        Ok((Made { platform: format!("{}/{}", image.os, image.architecture), digest }, image))
    }

    fn blob(&self, digest: &str) -> Result<Vec<u8>, BuildError> {
        let hexadecimal =
            digest.strip_prefix("sha256:").filter(|name| name.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let name = hexadecimal.ok_or_else(|| answer(serde_json::Error::custom("a digest is none")))?;
        self.bytes(&Path::new("blobs/sha256").join(name))
    }

    fn read<T: DeserializeOwned>(&self, name: &Path) -> Result<T, BuildError> {
        understood(&self.bytes(name)?)
    }

    fn bytes(&self, name: &Path) -> Result<Vec<u8>, BuildError> {
        let path = self.0.join(name);
        std::fs::read(&path).map_err(|source| BuildError::File { path, source })
    }
}

fn understood<T: DeserializeOwned>(text: &[u8]) -> Result<T, BuildError> {
    serde_json::from_slice(text).map_err(answer)
}

fn answer(source: serde_json::Error) -> BuildError {
    BuildError::Answer { what: "what the build has made", source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attestations_are_no_platform() {
        let text = r#"{"schemaVersion":2,"manifests":[
            {"digest":"sha256:a1","size":1,"platform":{"architecture":"amd64","os":"linux"}},
            {"digest":"sha256:b2","size":1,"platform":{"architecture":"unknown","os":"unknown"}}]}"#;
        let platforms = OciIndex::parse(text).unwrap().unwrap().platforms();
        assert_eq!(platforms, [Made { platform: "linux/amd64".into(), digest: "sha256:a1".into() }]);
        assert!(OciIndex::parse(r#"{"schemaVersion":2,"config":{},"layers":[]}"#).unwrap().is_none());
    }

    #[test]
    fn a_layout_of_one_platform_is_read() {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(top.path().join("blobs/sha256")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(top.path().join(name), text).unwrap();
        write("index.json", r#"{"manifests":[{"digest":"sha256:aa"}]}"#);
        write("blobs/sha256/aa", r#"{"config":{"digest":"sha256:bb"},"layers":[]}"#);
        let image = r#"{"os":"linux","architecture":"arm64","config":{"Entrypoint":["/entrypoint"]}}"#;
        write("blobs/sha256/bb", image);
        let platforms = Layout(top.path().to_owned()).platforms().unwrap();
        let [(made, image)] = platforms.as_slice() else { panic!("{platforms:?}") };
        assert_eq!(*made, Made { platform: "linux/arm64".into(), digest: "sha256:aa".into() });
        assert_eq!(image.config.entrypoint.as_deref(), Some(&["/entrypoint".to_owned()][..]));
        write("index.json", r#"{"manifests":[{"digest":"sha256:../../etc/passwd"}]}"#);
        assert!(Layout(top.path().to_owned()).platforms().is_err());
    }
}
