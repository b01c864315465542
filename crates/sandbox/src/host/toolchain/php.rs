//! The preset `php`: PHP, from phpenv or an archive, and what Composer installed globally.

use super::error::ToolchainError;
use super::prefix::Form;
use super::search::{HostContext, Toolchains};
use super::version_manager::VersionManager;

const NAME: &str = "php";

const FORM: Form = Form {
    preset: NAME,
    is_program: |name| name.starts_with(NAME),
    is_prefix: |prefix| prefix.join("lib/php").is_dir(),
    expected: "`bin/php` and `lib/php`",
    more: &[],
};

const PHPENV: VersionManager =
    VersionManager { preset: NAME, root: "PHPENV_ROOT", version: "PHPENV_VERSION", file: ".php-version" };

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    PHPENV.show(&[NAME], &FORM, host, found)?;
    // Beside it lies `auth.json`, with the tokens of private repositories.
    let config = host.directory("XDG_CONFIG_HOME", ".config").join("composer");
    let homes = [host.var("COMPOSER_HOME").map(Into::into), Some(config), Some(host.home.join(".composer"))];
    let mut vendors = homes.into_iter().flatten().map(|home| home.join("vendor"));
    if let Some(vendor) = vendors.find(|vendor| vendor.join("bin").is_dir()) {
        host.refuse_agent_writable(NAME, &vendor)?;
        found.show(NAME, &vendor, host)?;
        found.path.push(vendor.join("bin"));
    }
    Ok(())
}
