//! Rows of what stays writable: people let agents edit it all day, and run it themselves.

use super::{Row, Treatment};

const fn writable(path: &'static str, program: &'static str, effect: &'static str) -> Row {
    Row { path, program, effect, source: "", treatment: Treatment::Writable }
}

pub(super) const ROWS: &[Row] = &[
    writable("package.json", "npm, yarn, pnpm, bun", "scripts, also those of an installation, and hooks"),
    writable("Makefile", "make", "everything; so do `justfile`, `Taskfile.yml`, `CMakeLists.txt`"),
    writable("build.rs", "cargo", "at each build, and when rust-analyzer opens the project"),
    writable(
        "build.gradle",
        "gradle",
        "at each build; so do `settings.gradle`, `gradle.properties`, `gradlew`",
    ),
    writable(
        "pyproject.toml",
        "pip, uv, poetry",
        "the build system; so do `setup.py`, `conftest.py`, `noxfile.py`",
    ),
    writable("flake.nix", "nix", "when you enter its shell, also by an `.envrc` with `use flake`"),
    writable(".venv", "editors, activation", "the interpreter and what it loads; not searched at all"),
    writable("node_modules", "editors, package managers", "programs and plugins; not searched at all"),
    writable(
        ".env",
        "whatever loads it",
        "variables, of which some run programs (`NODE_OPTIONS`, `LD_PRELOAD`)",
    ),
    writable("Dockerfile", "docker, compose", "in containers, with what `compose.yaml` shares"),
    writable(".github/workflows", "the forge", "on its machines, once pushed"),
    writable("AGENTS.md", "agents", "nothing by itself; text persuades, as `CLAUDE.md` and rules do"),
    writable(".editorconfig", "editors", "nothing: indentation and line ends"),
];
