//! Why a toolchain is not shown.

use std::io;
use std::path::PathBuf;

use policy::rules::shared_dir::ShareRefusal;
use policy::text::escape;

/// Why a toolchain is not shown.
#[derive(Debug, thiserror::Error)]
pub enum ToolchainError {
    #[error(
        "preset `{preset}`: {looked_for} was not found; install it, or take `{preset}` off `native.expose`{left_out}"
    )]
    NotFound {
        preset: &'static str,
        /// What was looked for, and where.
        looked_for: String,
        /// Where nothing was looked for, in words.
        left_out: String,
    },
    #[error(
        "preset `{preset}`: `{}` does not lie in a toolchain, which has {expected}; name the directory it is installed in \
         as a path in `native.expose`", escape::path(.found)
    )]
    Form {
        preset: &'static str,
        found: PathBuf,
        /// What lies in every toolchain of this kind.
        expected: &'static str,
    },
    /// An agent could have made or chosen it, or has it already.
    #[error(
        "`{name}`: `{}` is not shown, because sandboxes may write to `{}`; keep toolchains outside of shared directories",
        escape::path(.path), escape::path(.writable)
    )]
    Writable {
        name: String,
        /// What would be shown.
        path: PathBuf,
        /// The directory that lies in it, or in which it lies.
        writable: PathBuf,
    },
    /// A version manager that is not known stands in front of the tool.
    #[error(
        "preset `{preset}`: `{}` is not the tool itself, and what it starts is not known; name the directory it is \
         installed in as a path in `native.expose`", escape::path(.found)
    )]
    Shim { preset: &'static str, found: PathBuf },
    #[error("`{name}`: {refusal}; it would be shown read-only, and still is not")]
    Refused { name: String, refusal: Box<ShareRefusal> },
    #[error("`{name}`: cannot examine `{}`: {source}", escape::path(.path))]
    File { name: String, path: PathBuf, source: io::Error },
}
