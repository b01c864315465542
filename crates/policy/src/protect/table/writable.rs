//! Rows of what stays writable: people let agents edit it all day, and run it themselves.

use super::row::{ProtectRow, Treatment};

const fn writable(paths: &'static [&'static str], program: &'static str, effect: &'static str) -> ProtectRow {
    ProtectRow { paths, program, effect, source: "", treatment: Treatment::Writable }
}

#[rustfmt::skip]
pub(super) const ROWS: &[ProtectRow] = &[
    writable(&["package.json"], "npm, yarn, pnpm, bun; commitlint, lint-staged and commitizen at a commit",
        "scripts, also those of an installation, and hooks; what it says to programs that run at a commit \
         comes before their own files; so do `package.yaml` and `package.yml`. Where mise takes versions from it, one in \
         `devEngines` or `packageManager` may be a path in the project (`path:`)"),
    writable(&["Makefile"], "make, and bash and fish when they complete a target (TAB)",
        "everything; so do `justfile`, `Taskfile.yml`, `Tiltfile`, `Vagrantfile`, `Doxyfile` (filters), `atmos.yaml` \
         (`!exec`), `cliff.toml` for git-cliff, `.symfony.local.yaml` (`workers`), and a `*.Rproj` when RStudio builds the project. Makefile \
         Tools of VS Code runs `make --dry-run` when a folder is opened, and Flymake of Emacs `make check-syntax` when a file is"),
    writable(&["composer.json"], "composer, at every command, `show` and `validate` included",
        "the plugins that it allows and that lie in `vendor`"),
    writable(&["turbo.json"], "turbo",
        "commands, when they are run; and `remoteCache` says to which server its token goes; so does `.moon` of moon"),
    writable(&["Pulumi.yaml"], "pulumi",
        "the program of the project, plugins that it names, and `backend` says to which server its token goes"),
    writable(&["databricks.yml"], "databricks",
        "Python and builds of artifacts, when it is validated or deployed; it, and each file that it includes, says to which server the token goes \
         (`workspace.host`), at every command in this directory"),
    writable(&["scrapy.cfg"], "scrapy, at every command", "the Python module that it names, as each project of Scrapy does"),
    writable(&["build.rs"], "cargo",
        "at each build, and when rust-analyzer opens the project; so does what is built into `target`, such \
         as procedural macros"),
    writable(&["CMakeLists.txt"], "cmake, and editors that configure when a folder is opened",
        "everything; so do `CMakePresets.json`, `meson.build`, `build.zig`, `Package.swift`, \
         `platformio.ini`, `MODULE.bazel`, `build.mill`, `pants.toml` and `pants`"),
    writable(&["eslint.config.js"], "eslint, and editors when a file is opened",
        "all of it; so do `.eslintrc.js`, `.eslintrc.json` (plugins), `prettier.config.js`, `.prettierrc` \
         (plugins), `stylelint.config.js`, `.textlintrc`, `cspell.config.js`, `.cspell.json` (`import`), \
         `.markdownlint-cli2.jsonc` (rules), `vite.config.ts` and their like, and plugins that `nx.json` \
         names and `.nx` holds; `.graphqlrc.ts`, `graphql.config.js`, `.secretlintrc.js`, `.alexrc.js`, \
         `.htmlvalidate.js`, `.theme-check.yml` (`require`), `slither.config.json` and `tlconfig.lua`"),
    writable(&["tsconfig.json"], "tsserver, in editors when a file is opened",
        "plugins that it names, from `node_modules`"),
    writable(&[".pnp.cjs"], "yarn, node, editors", "all of it, where yarn installs without `node_modules`"),
    writable(&["build.gradle"],
        "gradle, and the prompts spaceship (by default) and oh-my-posh, which run `gradlew` to show a \
         version",
        "at each build, and when an editor imports the project; so do `settings.gradle`, \
         `gradle.properties`, `gradlew`, `gradle/wrapper` and `.gradle`"),
    writable(&["pom.xml"],
        "mvn, editors that import the project, and the prompts spaceship (by default) and oh-my-posh, which \
         run `mvnw`", "plugins and extensions that it names; so do `.mvn` and all of `mvnw`"),
    writable(&["stack.yaml"],
        "stack, editors that open the project, and the prompts starship (by default), spaceship (by default, where cabal is not \
         installed) and powerlevel10k with its segment `haskell_stack`",
        "programs that it names (`with-gcc`, `with-hpack`), and those of the packages; so does `package.yaml`"),
    writable(&["cabal.project"], "cabal, editors that open the project, and the prompt starship (by default)",
        "the compiler that it names (`with-compiler`), and programs of the packages; so do \
         `cabal.project.local` and a `*.cabal`"),
    writable(&["foundry.toml"], "forge", "the compiler that it names (`solc`, `vyper`); and `ffi` and `fs_permissions` let tests run programs and write files"),
    writable(&["nextflow.config"], "nextflow, also for pipelines of others that are started in this directory", "all of it"),
    writable(&["backlog"], "Backlog.md, when the status of a task changes",
        "the `onStatusChange` of a task, in `backlog/tasks` and beside"),
    writable(&["Rakefile"], "rake, and zsh when it completes a task (TAB)", "all of it"),
    writable(&["json.py"],
        "fish when it completes `npm run` (TAB), and programs of Python that are started in this directory \
         with `-c` or `-m`", "all of it"),
    writable(&["build.sbt"], "sbt, and editors that import the project",
        "all of it; so do `project`, `.sbtopts`, `.jvmopts`, `.scalafix.conf`, `.bloop`"),
    writable(&["mix.exs"], "mix, and elixir-ls when a file is opened",
        "all of it; so do `.formatter.exs`, `rebar.config`, and what is built into `.elixir_ls`, `.lexical`, \
         `.expert` and `_build`"),
    writable(&["analysis_options.yaml"], "the analysis server of Dart, in editors when the project is opened",
        "plugins that it names; and to IDEs of JetBrains, `.dart_tool/package_config.json` says where the SDK of Flutter is, which of one \
         in the project (`.flutter`, `vendor/flutter`) is writable but for `bin/flutter`"),
    writable(&["*.csproj"], "dotnet, and editors that open the project",
        "all of it; so do `*.sln`, `Directory.Build.props`, `Directory.Build.targets`, `Directory.Build.rsp`, `nuget.config`"),
    writable(&["project.clj"], "lein, and clojure-lsp when a file is opened",
        "all of it; so do `profiles.clj`, `deps.edn`, `dune`, `_CoqProject`, `dub.json`, `dub.sdl`, `dub.settings.json`, `Project.toml` \
         (of Julia), `lakefile.lean` and `config.nims` for the tools of their languages, and what is built into `.stack-work`, `dist-newstyle`, `.lake` and, by clj, `.cpcache`"),
    writable(&["Gemfile"], "bundler, and ruby-lsp when a file is opened",
        "all of it; so do `*.gemspec`, `Rakefile`, `Steepfile`, `.bundle/config`, `.ruby-lsp`, and what \
         `.rubocop.yml`, `.erb-lint.yml`, `.haml-lint.yml` and `.standard.yml` require"),
    writable(&["pyproject.toml"], "pip, uv, poetry",
        "the build system, and for poetry and hatch environments, which editors ask about when they open the \
         project; so do `setup.py`, `conftest.py`, `conf.py` (of Sphinx), `noxfile.py`, `poetry.toml`, \
         `hatch.toml`"),
    writable(&[".pylintrc"], "pylint, flake8, phpstan and other linters, in editors too",
        "`init-hook` and plugins; so do `.bandit`, `.php-cs-fixer.php`, `phpcs.xml`, `setup.cfg`, `.flake8`, \
         `.sqlfluff`, `mypy.ini`, `.golangci.yml`, `buf.yaml`, `pyproject.toml`, `phpstan.neon`, \
         `deno.json`, and what `Cargo.toml`, `package.json` and `pyproject.toml` say to lychee (`preprocess`)"),
    writable(&["flake.nix"], "nix",
        "when you enter its shell, also by an `.envrc` with `use flake`; so do `shell.nix` and `default.nix` (`use nix`), \
         `devbox.json`, `devenv.nix`, `devenv.local.nix`, `devenv.yaml`, `pixi.toml`, `.pixi` and `.flox`, and `guix.scm` and `manifest.scm` for guix"),
    writable(&[".terraform"], "terraform, and terraform-ls when a file is opened",
        "providers that `init` has put there; so do those in `terraform.d`"),
    writable(&[".venv"], "editors, activation",
        "the interpreter and what it loads; not searched at all; so do `_opam/bin`, `_esy` and `renv/library`"),
    writable(&[".direnv"],
        "direnv, with `layout python`, `layout ruby` and their like in an `.envrc` that was allowed",
        "programs, found before all others once the directory is entered"),
    writable(&["project.godot"], "Godot, when its editor opens the project",
        "plugins and extensions that it names, and what `.godot` holds"),
    writable(&["vendor"], "php, bundler, go",
        "all of it, when the project runs: Composer's `vendor/autoload.php` first. The extension of VS Code for Laravel runs \
         `vendor/bin/sail` when a folder is opened"),
    writable(&["artisan"],
        "php, and the prompt powerlevel10k with its segment `laravel_version` in this directory and below",
        "all of it, and what it loads of `vendor` and `bootstrap`"),
    writable(&["library"], "ansible, beside a playbook",
        "the modules in it, when a playbook uses them; so do those of `roles`"),
    writable(&["node_modules"], "editors, package managers", "programs and plugins; not searched at all"),
    writable(&["Dockerfile"], "docker, compose",
        "in containers, with what `compose.yaml` shares; a `provider` in that is a program of the host's"),
    writable(&[".github/workflows"], "the forge", "on its machines, once pushed"),
    writable(&["AGENTS.md"], "agents", "nothing by itself; text persuades, as `CLAUDE.md` and rules do"),
    writable(&["pyrightconfig.json"], "pyright and others",
        "nothing; so do `biome.json`, `.ocamlformat`, `.watchmanconfig`"),
];
