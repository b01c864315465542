//! Places inside that may follow from the host: where a shared directory is seen, and where the agent starts.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use super::path::{GuestPath, PathError, normalise};
use crate::text::escape;

/// What stands for the path on the host.
const SAME: &str = "same";

/// Where the sandbox sees a shared directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum GuestPlace {
    /// At the path that it has on the host, so that absolute paths in its files mean the same on both sides.
    Same,
    At(GuestPath),
}

impl GuestPlace {
    /// Returns the path inside of a directory of the host.
    pub fn of(&self, host: &Path) -> Result<GuestPath, PathError> {
        match self {
            Self::Same => GuestPath::new(&normalise(host)),
            Self::At(path) => Ok(path.clone()),
        }
    }
}

impl FromStr for GuestPlace {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        if text == SAME { Ok(Self::Same) } else { text.parse().map(Self::At) }
    }
}

impl fmt::Display for GuestPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same => f.write_str(SAME),
            Self::At(path) => path.fmt(f),
        }
    }
}

/// Where the agent starts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StartDirectory {
    At(GuestPath),
    /// Below the directory in which it would start otherwise: a plain relative path, possibly an empty one.
    Below(PathBuf),
}

impl StartDirectory {
    /// Returns the path inside, where the agent would start in `otherwise`.
    pub fn from(&self, otherwise: &GuestPath) -> Result<GuestPath, PathError> {
        match self {
            Self::At(path) => Ok(path.clone()),
            Self::Below(rest) => GuestPath::new(&otherwise.as_path().join(rest)),
        }
    }
}

impl FromStr for StartDirectory {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let path = Path::new(text);
        if text.is_empty() || path.is_absolute() {
            return text.parse().map(Self::At);
        }
        if path.components().any(|component| component == Component::ParentDir) {
            return Err(PathError::Parent { path: path.to_owned() });
        }
        if text.contains('\0') {
            return Err(PathError::Nul { path: path.to_owned() });
        }
        Ok(Self::Below(normalise(path)))
    }
}

impl fmt::Display for StartDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(path) => path.fmt(f),
            Self::Below(rest) if rest.as_os_str().is_empty() => f.write_str("."),
            Self::Below(rest) => escape::path(rest).fmt(f),
        }
    }
}
