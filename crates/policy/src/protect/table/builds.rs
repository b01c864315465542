//! Rows of what chooses the programs that tools for building, packages and versions run.

use super::content::{ContentRule, FileFormat};
use super::harmless;
use super::row::{FileRules, ProtectRow, RUN, classified, read_only};

const CARGO: FileRules = &[("", ContentRule::Settings(FileFormat::Toml, harmless::CARGO))];

const MISE_TOML: FileRules = &[("", ContentRule::Settings(FileFormat::Toml, harmless::MISE))];

const MISE_DIRECTORY: FileRules =
    &[("*.toml", ContentRule::Settings(FileFormat::Toml, harmless::MISE)), ("*", ContentRule::Run)];

const MISE_TASKS: &str = "mise, \"File Tasks\"";

const MISE_TASKS_EFFECT: &str = "evaluates the headers of all tasks in it when it runs or lists any";

const MISE: &str = "mise, \"Configuration\" and \"Hooks\"";

const MISE_ENVIRONMENTS: &str = "mise, \"Config Environments\"";

const MISE_EFFECT: &str = "runs hooks, sets variables and chooses programs when the directory is entered";

const MISE_LOCK: &str = "mise, \"mise.lock Lockfile\"";

const MISE_LOCK_EFFECT: &str = "says where the programs that it installs come from, and their checksums";

const YARN: &str = "Yarn, \"Settings (.yarnrc.yml)\"";

const PNPM: &str = "pnpm, \".pnpmfile.cjs\"";

/// Names of versions, and nothing else.
const VERSION: FileRules = &[("", ContentRule::Versions(&[]))];

const PYTHON_VERSIONS: FileRules = &[("", ContentRule::PythonVersions)];

const MISE_IDIOMATIC: &str = "mise, \"Idiomatic version files\"";

const VFOX: &str = "vfox, by its shell hook";

const VFOX_DOCS: &str = "vfox, \"Quick Start\"";

const VFOX_EFFECT: &str = "chooses programs when the directory is entered";

const VFOX_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Toml, harmless::tools::VFOX))];

const CHEF: &str = "knife, chef and other tools of Chef";

const CHEF_DOCS: &str = "Chef, chef-config/lib/chef-config/workstation_config_loader.rb";

const JAVAC: &str = "javac, in editors too";

const JAVAC_EFFECT: &str = "loads the classes that it names when it compiles without a class path in this directory; processors up to Java 22";

const GRADLE: &str = "Gradle, \"Initialization Scripts\"";

const GRADLE_EFFECT: &str = "runs it at each build, where this is a home directory";

const MAVEN_HOME: &str = "Maven, \"Settings Reference\" and \"Guide to Using Extensions\"";

const PKGX: &str = "pkgx, \"dev\"";

const PKGX_EFFECT: &str =
    "puts programs and variables that it names into the shell when the directory is entered";

const PLEASE: &str = "Please, \"Config file reference\"";

const PLEASE_EFFECT: &str = "says where it takes itself, its plugins and tools from";

const ARDUINO: &str = "arduino-cli, in editors too";

const ARDUINO_EFFECT: &str = "runs tools from the directories and the servers that it names";

const ARDUINO_DOCS: &str = "Arduino CLI, \"Configuration\"";

const WP_CLI: &str = "WP-CLI, \"Config\"";

const WP_CLI_EFFECT: &str = "loads the PHP that it names, or runs on the machine that it names";

const PACKER: &str = "Packer before 1.11";

const PACKER_DOCS: &str = "Packer, \"Installing Plugins\"";

const PACKER_EFFECT: &str = "runs it in the place of its own part of that name, or beside them; what is there stays writable, because checkouts of plugins have such names";

/// Checkouts of plugins are directories of such names.
const PACKER_FILES: FileRules = &[("", ContentRule::Run), ("*", ContentRule::Harmless)];

const BAZEL: &str = "Bazel, \"Write bazelrc configuration files\"";

#[rustfmt::skip]
pub(super) const ROWS: &[ProtectRow] = &[
    // What runs on entering the directory, or in place of the command that was typed.
    read_only(&["mise.toml"], "mise", MISE_EFFECT, MISE, MISE_TOML),
    // `local`, and the environments and platforms that are chosen.
    read_only(&["mise.*.toml", ".mise.*.toml"], "mise", "the same as `mise.toml`", MISE_ENVIRONMENTS,
        MISE_TOML),
    read_only(&[".mise.toml", "mise/config.toml", ".config/mise.toml"], "mise", "the same as `mise.toml`",
        MISE, MISE_TOML),
    read_only(&[".miserc.toml", ".miserc.*.toml", ".config/miserc.toml", ".config/miserc.*.toml"], "mise",
        "chooses which of its files are read", MISE, MISE_TOML),
    read_only(&[".rtx.local.toml", ".rtx.toml"], "mise, once rtx", "the same as `mise.toml`", MISE,
        MISE_TOML),
    read_only(&["mise.lock", "mise.*.lock", ".mise.lock", ".mise.*.lock", "mise/*.lock", ".config/mise.lock",
        ".config/mise.*.lock"], "mise", MISE_LOCK_EFFECT, MISE_LOCK, RUN),
    read_only(&[".mise", "mise/conf.d", ".config/mise"], "mise", "the same as `mise.toml`", MISE,
        MISE_DIRECTORY),
    read_only(&["mise/config.*.toml", ".config/mise.*.toml"], "mise", "the same as `mise.toml`",
        MISE_ENVIRONMENTS, MISE_TOML),
    read_only(&["mise/tasks", "mise-tasks", ".mise-tasks"], "mise", MISE_TASKS_EFFECT, MISE_TASKS, RUN),
    read_only(&[".tool-versions"], "asdf, mise", "chooses programs; `path:` may name one in the project",
        "asdf, \"Configuration\"", VERSION),
    read_only(&[".python-version"], "pyenv, uv",
        "chooses the interpreter, which for uv may be a path in the project", "uv, \"Python versions\"",
        PYTHON_VERSIONS),
    read_only(&[".python-versions"], "uv, mise", "the same as `.python-version`", MISE_IDIOMATIC,
        PYTHON_VERSIONS),
    read_only(&[".nvmrc"], "nvm, fnm, mise", "chooses Node.js, which for mise may be a path in the project",
        "nvm, README; mise, \"Idiomatic version files\"", &[("", ContentRule::Versions(&["lts/", "lts/*"]))]),
    read_only(&[".node-version"], "fnm, nodenv, mise", "the same as `.nvmrc`", MISE_IDIOMATIC, VERSION),
    read_only(&[".java-version"], "jenv, mise", "the same for Java", MISE_IDIOMATIC, VERSION),
    read_only(&[".ruby-version"], "rbenv, RVM, mise", "the same for Ruby", MISE_IDIOMATIC, VERSION),
    read_only(&[".ruby-gemset"], "rbenv-gemset, RVM",
        "puts the programs of the gems that it names first, which may be in the project",
        "rbenv-gemset, README; RVM, \"Project files\"", VERSION),
    read_only(&[".rbenv-gemsets"], "rbenv-gemset", "the same as `.ruby-gemset`, and comes before it", "rbenv-gemset, README", VERSION),
    read_only(&[".rbenv-version", ".rbfu-version"], "RVM", "the same as `.ruby-version`", "RVM, scripts/functions/rvmrc_project", VERSION),
    read_only(&[".lua-version", ".luaenv-version"], "luaenv", "chooses Lua, which may be a directory in the project",
        "luaenv, libexec/luaenv-version-file-read", VERSION),
    read_only(&[".scala-version"], "scalaenv", "chooses Scala, which may be a directory in the project", "scalaenv, README", VERSION),
    read_only(&[".go-version"], "goenv, mise", "the same for Go", MISE_IDIOMATIC, VERSION),
    read_only(&[".bun-version"], "mise", "the same for Bun", MISE_IDIOMATIC, VERSION),
    read_only(&[".deno-version"], "mise", "the same for Deno", MISE_IDIOMATIC, VERSION),
    read_only(&[".swift-version"], "swiftly, mise", "the same for Swift", MISE_IDIOMATIC, VERSION),
    read_only(&[".zig-version"], "mise", "the same for Zig", MISE_IDIOMATIC, VERSION),
    read_only(&[".terraform-version"], "tfenv, mise", "the same for Terraform", MISE_IDIOMATIC, VERSION),
    read_only(&[".atmos-version"], "mise", "the same for Atmos", MISE_IDIOMATIC, VERSION),
    read_only(&[".crystal-version"], "crenv, mise", "the same for Crystal", MISE_IDIOMATIC, VERSION),
    read_only(&[".exenv-version"], "exenv, mise", "the same for Elixir", MISE_IDIOMATIC, VERSION),
    read_only(&[".opentofu-version"], "tofuenv, mise", "the same for OpenTofu", MISE_IDIOMATIC, VERSION),
    read_only(&[".packer-version"], "mise", "the same for Packer", MISE_IDIOMATIC, VERSION),
    read_only(&[".perl-version"], "plenv, mise", "the same for Perl", MISE_IDIOMATIC, VERSION),
    read_only(&[".terragrunt-version"], "tgenv, mise", "the same for Terragrunt", MISE_IDIOMATIC, VERSION),
    read_only(&[".terramate-version"], "mise", "the same for Terramate", MISE_IDIOMATIC, VERSION),
    read_only(&[".yvmrc"], "yvm, mise", "the same for Yarn", MISE_IDIOMATIC, VERSION),
    read_only(&[".sdkmanrc"], "SDKMAN!, mise", "chooses Java and its tools; a version may be a path",
        "SDKMAN!, \"Env command\"", &[("", ContentRule::Settings(FileFormat::Ini, harmless::VERSIONS))]),
    read_only(&[".prototools"], "proto, moon", "chooses programs, and loads plugins that it names",
        "proto, \"Configuration\"", &[("", ContentRule::Settings(FileFormat::Toml, harmless::VERSIONS))]),
    read_only(&[".prototools.*"], "proto, moon", "the same as `.prototools`, for an environment",
        "proto, \"Configuration\"", &[("", ContentRule::Settings(FileFormat::Toml, harmless::VERSIONS))]),
    read_only(&[".vfox.toml", "vfox.toml"], VFOX, VFOX_EFFECT, VFOX_DOCS, VFOX_FILES),
    read_only(&[".vfox/sdks"], VFOX,
        "finds the programs in it before all others when the directory is entered", VFOX_DOCS, RUN),
    read_only(&[".asdfrc"], "asdf", "runs hooks that it names, where this is a home directory",
        "asdf, \"Configuration\"", RUN),
    read_only(&["global.json"], "dotnet, and editors that open a project of it",
        "chooses the SDK; `paths` may name one in the project", ".NET, \"global.json overview\"",
        &[("", ContentRule::Settings(FileFormat::Json, harmless::DOTNET))]),
    read_only(&["lean-toolchain"], "elan, for lean and lake, and editors that open the project",
        "chooses the toolchain, which may be anybody's on GitHub", "elan, README",
        &[("", ContentRule::Versions(&["leanprover/lean4:", "leanprover/lean4-nightly:"]))]),
    read_only(&["leanpkg.toml"], "elan, where there is no `lean-toolchain`", "the same as `lean-toolchain`",
        "elan, src/elan/config.rs", RUN),
    read_only(&[".pdm-python"], "pdm", "runs the interpreter that it names",
        "PDM, \"Working with Virtual Environments\"", RUN),
    read_only(&["rust-toolchain.toml"], "rustup, for cargo and rustc",
        "chooses the toolchain; `path` may name one in the project", "The rustup book, \"Overrides\"",
        &[("", ContentRule::Settings(FileFormat::Toml, harmless::RUST_TOOLCHAIN))]),
    read_only(&["rust-toolchain"], "rustup, for cargo and rustc", "the same as `rust-toolchain.toml`",
        "The rustup book, \"Overrides\"", VERSION),
    read_only(&[".cargo/config.toml", ".cargo/config"], "cargo",
        "runs wrappers, linkers, runners, credential helpers and aliases that it names",
        "The Cargo Book, \"Configuration\"", CARGO),
    classified(&["dagger.json"], "mise, where it takes versions from it",
        "chooses dagger, which may be a path in the project; it stays writable, and is quarantined if \
         `engineVersion` is no version", MISE_IDIOMATIC, &[("", ContentRule::Dagger)]),
    read_only(&[".fvm"], "FVM, and editors that open the project", "runs the Flutter to which its link leads",
        "FVM, \"Configuration\"",
        &[("fvm_config.json", ContentRule::Settings(FileFormat::Json, harmless::tools::FVM)),
        ("release", ContentRule::Versions(&[])), ("version", ContentRule::Versions(&[]))]),
    read_only(&[".fvmrc"], "FVM, and editors that open the project",
        "runs the Flutter that it names, from the cache that it names", "FVM, \"Configuration\"",
        &[("", ContentRule::Settings(FileFormat::Json, harmless::tools::FVM))]),
    read_only(&[".volta/hooks.json"], "Volta", "runs what says where Node.js and packages come from",
        "Volta, \"Hooks\"", RUN),
    read_only(&["pkgx.yaml", "pkgx.yml", ".pkgx.yaml", ".pkgx.yml"], "pkgx, once its `dev` is on",
        PKGX_EFFECT, PKGX, RUN),
    // Packages.
    read_only(&[".poetry/plugins"], "poetry, at every command", "loads the plugins in it",
        "Poetry, \"Project plugins\"", RUN),
    read_only(&[".pdm-plugins"], "pdm, at every command", "loads the plugins in it",
        "PDM, \"Specify the plugins in project\"", RUN),
    read_only(&[".npmrc"], "npm, pnpm",
        "runs `script-shell`, `git` and `node-options`, and chooses where packages come from",
        "npm, \"config\"", &[("", ContentRule::Settings(FileFormat::Ini, harmless::NPM))]),
    read_only(&[".yarnrc.yml"], "yarn", "runs `yarnPath` and `plugins` in place of yarn itself", YARN,
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::YARN))]),
    read_only(&[".corepack.env"], "corepack, as `yarn`, `pnpm` and `npm`",
        "names the directory of the programs that it runs in place of them",
        "corepack, \"Environment Variables\"", RUN),
    classified(&[".env.schema"], "varlock, with every other file of variables beside it",
        "runs what `exec(…)` names in any of them, and loads what their comments name (`@plugin`, `@import`)",
        "varlock, \"Functions\" and \"Root decorators\"", &[("", ContentRule::DotEnv), ("*", ContentRule::Harmless)]),
    // Behind those of other programs that have such names.
    classified(&[".env.*", ".*.env"], "Nx, when it runs a task or configuration of that name",
        "takes variables from it, as agents do from `.env`; it stays writable, and is quarantined if it \
         newly has one that counts there, unless it is called as an example, a copy or a file in another format \
         (`.env.example`, `.env.bak`, `.env.json`)", "Nx, \"Define Environment Variables\"",
        &[("", ContentRule::DotEnv), ("*", ContentRule::Harmless)]),
    read_only(&[".yarnrc"], "yarn 1", "runs `yarn-path` in place of yarn itself", "Yarn 1, \".yarnrc\"", RUN),
    read_only(&[".yarn/releases"], "yarn", "runs the one that `yarnPath` names", YARN, RUN),
    read_only(&[".yarn/sdks"], "editors", "run the compilers and linters in it, where settings name them",
        "Yarn, \"Editor SDKs\"", RUN),
    read_only(&[".yarn/plugins"], "yarn", "loads those that `plugins` names", YARN, RUN),
    read_only(&[".pnpmfile.cjs", ".pnpmfile.mjs", "pnpmfile.js"], "pnpm", "runs it when it installs", PNPM,
        RUN),
    read_only(&[".npm-extension.cjs", ".npm-extension.mjs"], "npm 12",
        "runs it whenever it looks at the packages of the project, as `npm ls` and `npx` do", "npm, \".npm-extension\"",
        RUN),
    read_only(&["pnpm-workspace.yaml"], "pnpm",
        "runs `scriptShell` and takes `nodeOptions`, as from `.npmrc`, and chooses what may build",
        "pnpm, \"Settings (pnpm-workspace.yaml)\"",
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::PNPM))]),
    read_only(&["bunfig.toml"], "bun", "loads what `preload` names, and chooses where packages come from",
        "Bun, \"bunfig.toml\"", &[("", ContentRule::Settings(FileFormat::Toml, harmless::BUN))]),
    read_only(&["pdm.toml", ".pdm.toml"], "pdm",
        "chooses where packages come from, which Python it runs, and what is done when it installs",
        "PDM, \"Configure the project\"",
        &[("", ContentRule::Settings(FileFormat::Toml, harmless::NOTHING))]),
    read_only(&["bin/activate-hermit"], "a shell, by Hermit's hook, when the directory is entered", "runs it",
        "Hermit, \"Shell Integration\"", RUN),
    read_only(&["bin/activate-hermit.*"], "a shell, by Hermit's hook, when the directory is entered",
        "the same as `bin/activate-hermit`, for other shells", "Hermit, \"Shell Integration\"", RUN),
    read_only(&["bin/hermit"], "a shell, by the prompt of an environment of Hermit's",
        "runs it whenever `bin` has changed", "Hermit, \"Shell Integration\"", RUN),
    read_only(&["bin/hermit.hcl"], "Hermit, when the directory is entered",
        "sets the variables in it, and takes packages from the sources that it names",
        "Hermit, \"Environment Variables\" and \"Configuration\"", RUN),
    read_only(&["uv.toml"], "uv", "chooses where packages and Python itself come from", "uv, \"Settings\"",
        &[("", ContentRule::Settings(FileFormat::Toml, harmless::UV))]),
    read_only(&[".conanrc"], "conan", "names the directory of the commands that it loads",
        "Conan, \".conanrc\"", RUN),
    read_only(&["conanws.py"], "conan", "runs it at any command", "Conan, \"Workspace files\"", RUN),
    read_only(&["conanws.yml"], "conan", "names packages whose `conanfile.py` it runs",
        "Conan, \"Workspace files\"", RUN),
    // Builds and operations.
    read_only(&["PklProject"], "pkl, and hk with it",
        "runs the readers that it names, and says where modules and packages come from",
        "Pkl, \"Projects\" and \"External readers\"", RUN),
    read_only(&["PklProject.deps.json"], "pkl, and hk with it", "says where packages lie",
        "Pkl, \"Projects\"", RUN),
    read_only(&[".plzconfig", ".plzconfig.*"], "Please", PLEASE_EFFECT, PLEASE, RUN),
    // One for each system and processor.
    read_only(&[".plzconfig_darwin_amd64", ".plzconfig_darwin_arm64", ".plzconfig_freebsd_amd64",
        ".plzconfig_linux_amd64", ".plzconfig_linux_arm64"], "Please", PLEASE_EFFECT, PLEASE, RUN),
    read_only(&["idf_ext.py"], "idf.py, in editors too", "runs it at every command",
        "ESP-IDF, \"Extending idf.py\"", RUN),
    read_only(&["arduino-cli.json", "arduino-cli.toml", "arduino-cli.yaml", "arduino-cli.yml"], ARDUINO,
        ARDUINO_EFFECT, ARDUINO_DOCS, RUN),
    classified(&["sketch.yaml"], ARDUINO,
        "runs tools of the platforms that it names, from the servers that it names; it stays writable, and \
         is quarantined if it newly names a server", "Arduino CLI, \"Sketch project file\"",
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::ARDUINO_SKETCH))]),
    read_only(&["php.ini"], "the Symfony CLI, when it runs PHP or its server",
        "loads the PHP and the extensions that it names",
        "Symfony Local Web Server, \"Overriding PHP Config Options Per Project\"",
        &[("", ContentRule::Settings(FileFormat::Ini, harmless::tools::PHP))]),
    classified(&["rush.json"], "rush, at every command",
        "chooses the version of itself and of the package manager, which may be a package of anybody's, runs \
         hooks, and hands over a remote and a branch to git; it stays writable, and is quarantined if it \
         newly names such a package, hooks, or a remote or branch that is no plain name",
        "Rush, \"rush.json\"", &[("", ContentRule::Settings(FileFormat::Json, harmless::tools::RUSH))]),
    read_only(&["common/config/rush/.npmrc"], "rush, at every command",
        "chooses where it takes itself and all packages from", "Rush, \".npmrc\"",
        &[("", ContentRule::Settings(FileFormat::Ini, harmless::NPM))]),
    read_only(&["common/config/rush/.npmrc-publish"], "rush, when it publishes",
        "chooses where packages and keys go", "Rush, \".npmrc-publish\"",
        &[("", ContentRule::Settings(FileFormat::Ini, harmless::NPM))]),
    read_only(&["common/config/rush/rush-plugins.json"], "rush, at every command",
        "installs and loads the plugins that it names", "Rush, \"Using Rush plugins\"",
        &[("", ContentRule::Settings(FileFormat::Json, harmless::tools::RUSH_PLUGINS))]),
    read_only(&["common/config/rush/.pnpmfile.cjs", "common/config/rush/pnpmfile.js"], "pnpm, by rush",
        "runs it when it installs", "Rush, \".pnpmfile.cjs\"", RUN),
    read_only(&["common/git-hooks"], "rush, when it installs", "makes hooks of git from what is in it",
        "Rush, \"Installing Git hooks\"", &[("*.sample", ContentRule::Harmless)]),
    read_only(&["wp-cli.yml", "wp-cli.local.yml"], "WP-CLI, at every command", WP_CLI_EFFECT, WP_CLI,
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::WP_CLI))]),
    read_only(&[".mvn"], "Maven, and IDEs that open the project",
        "loads extensions, takes arguments and those of Java, and in IDEs the address of Maven itself",
        "Maven, \"Configuring Apache Maven\"", RUN),
    read_only(&[".mavenrc"], "Maven", "runs it as a script of the shell, where this is a home directory",
        "Maven, \"Configuring Apache Maven\"", RUN),
    read_only(&[".m2/settings.xml"], "Maven, and IDEs that open the project",
        "says where plugins come from, where this is a home directory", MAVEN_HOME, RUN),
    read_only(&[".m2/extensions.xml"], "Maven, and IDEs that open the project",
        "loads the extensions that it names, where this is a home directory", MAVEN_HOME, RUN),
    read_only(&[".m2/toolchains.xml"], "Maven", "runs the Java that it names, where this is a home directory",
        "Maven, \"Guide to Using Toolchains\"", RUN),
    read_only(&[".gradle/init.gradle", ".gradle/init.gradle.kts", ".gradle/init.d"],
        "Gradle, and editors that import a project", GRADLE_EFFECT, GRADLE, RUN),
    read_only(&["META-INF/services/javax.annotation.processing.Processor"], JAVAC, JAVAC_EFFECT,
        "Java, javac(1), \"Annotation Processing\"", RUN),
    read_only(&["META-INF/services/com.sun.source.util.Plugin"], JAVAC, JAVAC_EFFECT,
        "Java, jdk.compiler, com.sun.source.util.Plugin, `autoStart`", RUN),
    read_only(&[".bazelrc"], "bazel", "takes arguments from it, of which some run programs", BAZEL, RUN),
    read_only(&[".bazelrc.*", "*.bazelrc"], "bazel", "the same as `.bazelrc`, where that imports it", BAZEL,
        RUN),
    read_only(&[".bazelversion"], "bazelisk", "chooses bazel, which may be anybody's fork",
        "Bazelisk, README", VERSION),
    read_only(&[".bazeliskrc"], "bazelisk", "chooses where bazel itself comes from", "Bazelisk, README", RUN),
    read_only(&["tools/bazel"], "bazelisk, bazel", "runs it in place of bazel", "Bazelisk, README", RUN),
    read_only(&["tools/bazel.*"], "bazelisk", "the same as `tools/bazel`, for a platform", "Bazelisk, README",
        RUN),
    read_only(&["ansible.cfg"], "ansible", "loads plugins from where it says",
        "Ansible, \"Configuration Settings\"",
        &[("", ContentRule::Settings(FileFormat::Ini, harmless::ANSIBLE))]),
    read_only(&[".chef/config.rb", ".chef/knife.rb"], CHEF, "runs it as Ruby, here and below", CHEF_DOCS,
        RUN),
    read_only(&["knife.rb"], CHEF, "runs it as Ruby", CHEF_DOCS, RUN),
    read_only(&[".actrc"], "act",
        "takes arguments from it, of which some run workflows on the host, or give containers more rights",
        "act, \"Configuration file\"", RUN),
    read_only(&[".terraformrc"], "terraform, tofu",
        "runs providers and credential helpers that it names, where this is a home directory",
        "Terraform, \"CLI Configuration\"", RUN),
    read_only(&[".turbo/config.json"], "turbo", "sends its token to the server that it names",
        "Turborepo, \"Remote Caching\"", &[("", ContentRule::Settings(FileFormat::Json, harmless::NOTHING))]),
    classified(&["packer-builder-*", "packer-plugin-*", "packer-post-processor-*", "packer-provisioner-*"],
        PACKER, PACKER_EFFECT, PACKER_DOCS, PACKER_FILES),
    read_only(&[".tofurc"], "tofu", "the same as `.terraformrc`, and is taken before it",
        "OpenTofu, \"CLI Configuration\"", RUN),
];
