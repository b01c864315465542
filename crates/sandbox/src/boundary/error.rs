//! Why a directory is not shared.

use std::io;
use std::path::{Path, PathBuf};

use policy::rules::shared_dir::ShareRefusal;
use policy::text::escape;

/// Why a directory is not shared.
#[derive(Debug, thiserror::Error)]
pub enum BoundaryError {
    #[error("directory `{}` does not exist; make it, or run again with --create-dirs", escape::path(.0))]
    Missing(PathBuf),
    #[error(transparent)]
    Refused(#[from] ShareRefusal),
    #[error("{action} `{}`: {source}", escape::path(.path))]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("`{}` was exchanged after it was validated; run again when nothing else changes it", escape::path(.0))]
    Exchanged(PathBuf),
}

pub(super) fn failed(action: &'static str, path: &Path, source: io::Error) -> BoundaryError {
    BoundaryError::File { action, path: path.into(), source }
}
