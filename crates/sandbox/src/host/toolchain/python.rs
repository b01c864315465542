//! The preset `python`: from `/usr`, from pyenv, or wherever a link leads, as uv makes them.

use std::ffi::OsString;

use super::error::ToolchainError;
use super::prefix::Form;
use super::search::{HostContext, Toolchains};
use super::version_manager::VersionManager;

const NAME: &str = "python";

pub(super) const FORM: Form = Form {
    preset: NAME,
    is_program: |name| name.starts_with("python") || name.starts_with("pypy"),
    is_prefix: |prefix| {
        let is_library =
            |name: OsString| ["python", "pypy"].iter().any(|word| name.to_string_lossy().starts_with(word));
        let mut libraries = prefix.join("lib").read_dir().into_iter().flatten().flatten();
        libraries.any(|entry| is_library(entry.file_name()) && entry.path().is_dir())
    },
    expected: "`bin/python3`, and `lib/python3.x`",
    // The certificates of conda's.
    more: &["ssl/cacert.pem", "ssl/cert.pem"],
};

const PYENV: VersionManager =
    VersionManager { preset: NAME, root: "PYENV_ROOT", version: "PYENV_VERSION", file: ".python-version" };

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    PYENV.show(&["python3", "python"], &FORM, host, found)
}
