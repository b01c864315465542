//! Variables by which a program takes any of its settings, as their names begin.

use super::kind::VariableKind::{self, Address, Plain, Runs, Setting, Version};

/// Whether a variable is of a family.
pub(super) enum Membership {
    Of(VariableKind),
    /// It is, and only changes what is shown, or how fast.
    Harmless,
    None,
}

/// A family: how its names begin, of which kind they are, and those that are harmless, which one that ends so is if it is a version.
/// `NAME*` is whatever begins so.
type Family = (&'static str, VariableKind, &'static [&'static str]);

const FAMILIES: &[Family] = &[
    ("ANSIBLE_", Setting, &[]),
    ("ASDF_", Setting, &["ASDF_*_VERSION"]),
    ("AWS_ENDPOINT_URL", Address, &[]),
    ("BASH_FUNC_", Runs, &[]),
    // `BUNDLE_HOST__COM` is a password for gems.
    (
        "BUNDLE_",
        Setting,
        &[
            "BUNDLE_JOBS", "BUNDLE_ONLY", "BUNDLE_RETRY", "BUNDLE_WITH", "BUNDLE_WITHOUT", "BUNDLE_*__COM",
            "BUNDLE_*__IO", "BUNDLE_*__NET", "BUNDLE_*__ORG",
        ],
    ),
    ("BUN_CONFIG_", Setting, &["BUN_CONFIG_TOKEN"]),
    // Of a profile, the rest names flags or a library for the compiler.
    (
        "CARGO_PROFILE_",
        Runs,
        &[
            "CARGO_PROFILE_*_CODEGEN_UNITS", "CARGO_PROFILE_*_DEBUG", "CARGO_PROFILE_*_DEBUG_ASSERTIONS",
            "CARGO_PROFILE_*_INCREMENTAL", "CARGO_PROFILE_*_INHERITS", "CARGO_PROFILE_*_LTO",
            "CARGO_PROFILE_*_OPT_LEVEL", "CARGO_PROFILE_*_OVERFLOW_CHECKS", "CARGO_PROFILE_*_PANIC",
            "CARGO_PROFILE_*_RPATH", "CARGO_PROFILE_*_SPLIT_DEBUGINFO", "CARGO_PROFILE_*_STRIP",
        ],
    ),
    ("CARGO_UNSTABLE_", Runs, &["CARGO_UNSTABLE_SPARSE_REGISTRY"]),
    (
        "CARGO_",
        Setting,
        &["CARGO_LOG", "CARGO_PKG_*", "CARGO_REGISTRY_TOKEN", "CARGO_TERM_*", "CARGO_VERSION"],
    ),
    // Nested settings of fast-agent and mcp-agent.
    ("CARDS__", Setting, &[]),
    ("CCACHE_", Setting, &["CCACHE_MAXSIZE"]),
    ("CGO_", Setting, &[]),
    ("CMAKE_", Setting, &["CMAKE_BUILD_TYPE"]),
    ("COMMANDS__", Setting, &[]),
    ("COMPLUS_", Setting, &[]),
    ("CONDA_", Setting, &[]),
    ("COREPACK_", Setting, &[]),
    ("CORECLR_", Setting, &[]),
    ("COR_PROFILER", Runs, &[]),
    ("COURSIER_", Setting, &[]),
    ("DYLD_", Runs, &[]),
    ("ENVIRONMENTS__", Setting, &[]),
    ("FZF_", Runs, &[]),
    ("GIT_CONFIG", Runs, &[]),
    // Any but a switch is a file to which git writes.
    ("GIT_TRACE", Setting, &[]),
    ("HARNESS_APP__", Setting, &[]),
    ("HOMEBREW_", Setting, &[]),
    // Where it writes, or sends what it logs.
    ("LOGGER__", Plain, &[]),
    ("LUA_CPATH_", Runs, &[]),
    ("LUA_INIT_", Runs, &[]),
    ("LUA_PATH_", Runs, &[]),
    ("MCP__", Setting, &[]),
    ("MISE_", Setting, &["MISE_*_VERSION", "MISE_LOG_LEVEL"]),
    ("NPM_CONFIG_", Runs, &["NPM_CONFIG_AUDIT", "NPM_CONFIG_FUND", "NPM_CONFIG_LOGLEVEL"]),
    ("OMPI_MCA_", Setting, &[]),
    ("OTEL__", Plain, &[]),
    ("PASSWORD_STORE_", Setting, &[]),
    ("PIPENV_", Setting, &["PIPENV_VERBOSITY"]),
    ("PIPX_", Setting, &[]),
    ("PIP_", Setting, &["PIP_PROGRESS_BAR", "PIP_VERSION"]),
    ("PDM_", Setting, &["PDM_VERSION"]),
    ("PLUGINS__", Setting, &[]),
    ("PNPM_CONFIG_", Runs, &[]),
    ("POETRY_", Setting, &["POETRY_HTTP_BASIC_*", "POETRY_PYPI_TOKEN_*", "POETRY_VERSION"]),
    ("QT_PLUGIN_PATH", Runs, &[]),
    ("RENV_", Setting, &["RENV_VERSION"]),
    ("RUSTUP_", Setting, &[]),
    // Of sentry-cli, which loads the file by itself. Most are those of a project that only reports to Sentry.
    (
        "SENTRY_",
        Setting,
        &[
            "SENTRY_API_KEY", "SENTRY_AUTH_TOKEN", "SENTRY_DSN", "SENTRY_DSN_*", "SENTRY_*_DSN",
            "SENTRY_ENVIRONMENT", "SENTRY_*_ENVIRONMENT", "SENTRY_IMAGE", "SENTRY_LOG_LEVEL", "SENTRY_ORG",
            "SENTRY_PROJECT", "SENTRY_*_RATE", "SENTRY_RELEASE", "SENTRY_SERVER_NAME",
        ],
    ),
    ("SHELL_EXECUTION__", Setting, &[]),
    ("SKILLS__", Setting, &[]),
    ("TF_CLI_ARGS", Runs, &[]),
    ("TRIVY_", Setting, &["TRIVY_SEVERITY", "TRIVY_USERNAME", "TRIVY_PASSWORD", "TRIVY_VERSION"]),
    (
        "UV_",
        Setting,
        &["UV_HTTP_TIMEOUT", "UV_INDEX_*_PASSWORD", "UV_INDEX_*_USERNAME", "UV_LINK_MODE", "UV_VERSION"],
    ),
    ("YARN_", Setting, &["YARN_NPM_AUTH_TOKEN", "YARN_VERSION"]),
];

/// Returns whether a variable is of a family.
pub(super) fn kind(name: &str) -> Membership {
    let Some((_, kind, harmless)) = FAMILIES.iter().find(|(beginning, ..)| name.starts_with(beginning))
    else {
        return Membership::None;
    };
    let is_one = |pattern: &&&str| match pattern.split_once('*') {
        Some((beginning, end)) => {
            name.len() >= beginning.len() + end.len() && name.starts_with(beginning) && name.ends_with(end)
        }
        None => name == **pattern,
    };
    match harmless.iter().find(is_one) {
        // mise and asdf take a path for a version, too.
        Some(pattern) if pattern.ends_with("_VERSION") => Membership::Of(Version),
        Some(_) => Membership::Harmless,
        None => Membership::Of(*kind),
    }
}
