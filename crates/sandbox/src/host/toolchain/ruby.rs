//! The preset `ruby`: Ruby with its gems, from rbenv, from chruby or RVM, or from an archive.

use super::error::ToolchainError;
use super::prefix::Form;
use super::search::{HostContext, Toolchains};
use super::version_manager::VersionManager;

const NAME: &str = "ruby";

const FORM: Form = Form {
    preset: NAME,
    is_program: |name| name.starts_with(NAME),
    is_prefix: |prefix| prefix.join("lib/ruby").is_dir(),
    expected: "`bin/ruby` and `lib/ruby`",
    more: &[],
};

const RBENV: VersionManager =
    VersionManager { preset: NAME, root: "RBENV_ROOT", version: "RBENV_VERSION", file: ".ruby-version" };

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    RBENV.show(&[NAME], &FORM, host, found)
}
