//! Bytes in JSON: a string where they are UTF-8, else an object with their base64: `{"base64": "L3RtcC//"}`.
//!
//! Names of files, arguments and values of variables need not be text. One form for all of them loses nothing and
//! leaves what is text as it is.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that were not one's own to choose, as they stand in JSON.
#[derive(Serialize)]
#[serde(untagged)]
pub enum JsonBytes<'a> {
    /// UTF-8.
    Text(&'a str),
    /// Anything.
    Encoded {
        /// With padding, RFC 4648 section 4.
        base64: String,
    },
}

impl<'a> From<&'a [u8]> for JsonBytes<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        std::str::from_utf8(bytes).map_or_else(|_| Self::Encoded { base64: base64(bytes) }, Self::Text)
    }
}

impl<'a> From<&'a OsStr> for JsonBytes<'a> {
    fn from(bytes: &'a OsStr) -> Self {
        bytes.as_bytes().into()
    }
}

impl<'a> From<&'a Path> for JsonBytes<'a> {
    fn from(path: &'a Path) -> Self {
        path.as_os_str().into()
    }
}

/// The same, read.
struct Owned(Vec<u8>);

impl<'de> Deserialize<'de> for Owned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Encoded { base64: String },
        }
        match Form::deserialize(deserializer)? {
            Form::Text(text) => Ok(Self(text.into_bytes())),
            Form::Encoded { base64 } => {
                STANDARD.decode(base64).map(Self).map_err(|_| D::Error::custom("it is not base64"))
            }
        }
    }
}

/// For `#[serde(with)]` on bytes.
pub mod bytes {
    use super::{Deserialize, Deserializer, JsonBytes, Owned, Serialize, Serializer};

    /// Writes them.
    pub fn serialize<S: Serializer>(value: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        JsonBytes::from(value).serialize(serializer)
    }

    /// Reads them.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Owned::deserialize(deserializer).map(|owned| owned.0)
    }
}

/// For `#[serde(with)]` on an [`OsString`].
pub mod os_string {
    use super::{
        Deserialize, Deserializer, JsonBytes, OsStr, OsString, OsStringExt, Owned, Serialize, Serializer,
    };

    /// Writes one.
    pub fn serialize<S: Serializer>(value: &OsStr, serializer: S) -> Result<S::Ok, S::Error> {
        JsonBytes::from(value).serialize(serializer)
    }

    /// Reads one.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OsString, D::Error> {
        Owned::deserialize(deserializer).map(|owned| OsString::from_vec(owned.0))
    }
}

/// For `#[serde(with)]` on a list of [`OsString`]s.
pub mod os_strings {
    use super::{Deserialize, Deserializer, JsonBytes, OsString, OsStringExt, Owned, Serializer};

    /// Writes them.
    pub fn serialize<S: Serializer>(values: &[OsString], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|value| JsonBytes::from(value.as_os_str())))
    }

    /// Reads them.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<OsString>, D::Error> {
        Ok(Vec::<Owned>::deserialize(deserializer)?
            .into_iter()
            .map(|owned| OsString::from_vec(owned.0))
            .collect())
    }
}

/// For `#[serde(with)]` on a [`PathBuf`].
pub mod path {
    use super::{Deserializer, Path, PathBuf, Serializer, os_string};

    /// Writes one.
    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        os_string::serialize(path.as_os_str(), serializer)
    }

    /// Reads one.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        os_string::deserialize(deserializer).map(PathBuf::from)
    }
}

/// For `#[serde(with)]` on a [`PathBuf`] that may be missing.
pub mod optional_path {
    use super::{
        Deserialize, Deserializer, JsonBytes, OsString, OsStringExt, Owned, PathBuf, Serialize, Serializer,
    };

    /// Writes one, or nothing.
    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(JsonBytes::from).serialize(serializer)
    }

    /// Reads one, or nothing.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
        let owned = Option::<Owned>::deserialize(deserializer)?;
        Ok(owned.map(|owned| PathBuf::from(OsString::from_vec(owned.0))))
    }
}

/// Encodes bytes as base64 with padding, RFC 4648 section 4.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, Eq, PartialEq, Serialize)]
    struct All {
        #[serde(with = "path")]
        path: PathBuf,
        #[serde(with = "optional_path")]
        other: Option<PathBuf>,
        #[serde(with = "os_strings")]
        words: Vec<OsString>,
    }

    #[test]
    fn what_is_text_is_text_and_the_rest_comes_back_as_it_was() {
        let bytes = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let all = All {
            path: bytes(b"a/\xff\n\\").into(),
            other: None,
            words: vec![bytes(b""), bytes(b"\\xff \n"), bytes("ä".as_bytes()), bytes(b"\xc3")],
        };
        let value = serde_json::to_value(&all).unwrap();
        let words = json!(["", "\\xff \n", "ä", { "base64": "ww==" }]);
        assert_eq!(value, json!({ "path": { "base64": "YS//Clw=" }, "other": null, "words": words }));
        assert_eq!(serde_json::from_value::<All>(value).unwrap(), all);
        let other = All { other: Some(bytes(b"\x80").into()), ..all };
        assert_eq!(serde_json::from_value::<All>(serde_json::to_value(&other).unwrap()).unwrap(), other);
    }

    #[test]
    fn encodes_and_decodes_the_examples_of_rfc_4648() {
        let plain = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let encoded = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (plain, encoded) in plain.into_iter().zip(encoded) {
            assert_eq!(base64(plain.as_bytes()), encoded);
            assert_eq!(STANDARD.decode(encoded).unwrap(), plain.as_bytes());
        }
        for bad in ["Z", "Zg", "Zg=", "Z===", "Zm9v====", "Zm 9", "Zg==Zg=="] {
            assert!(STANDARD.decode(bad).is_err(), "{bad:?}");
        }
    }
}
