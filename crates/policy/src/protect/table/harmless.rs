//! Settings that run nothing: what a new file may say without being suspicious.
//!
//! Lists of what is dangerous are never complete: each release of an editor, and each extension, brings settings
//! that run a program. So these are the ones that only format, display or choose a model, taken from the
//! documentation that the table of protected paths names. A setting that is missing here costs a person a look
//! at what was moved aside; a dangerous one on a list would cost more.

/// How the keys of a file are classified.
#[derive(Debug)]
pub(crate) enum Keys {
    /// Only these pass, with all that is in them. A key is written with those above it, `languages/*/tab_size`.
    /// `*` is any plain name, `editor.*` whatever begins so, `*.executor` whatever ends so, and a `=` at the end asks for a value that is one
    /// plain word, or the one that follows it. A value that a program might expand (`${…}`, `$(…)`) never passes.
    Only(&'static [&'static str]),
    /// All pass but these, at any depth and without regard to case.
    AllBut(&'static [&'static str]),
}

/// Files of which every setting counts.
pub(crate) const NOTHING: &Keys = &Keys::Only(&["$schema", "version="]);

/// Visual Studio Code, "Default settings" and the extensions that most projects name in their settings.
const EDITOR: &[&str] = &[
    "[*]/editor.*",
    "[*]/files.*",
    "breadcrumbs.*",
    "cSpell.ignorePaths",
    "cSpell.ignoreWords",
    "cSpell.language",
    "cSpell.words",
    "css.format.*",
    "css.lint.*",
    "diffEditor.*",
    "editor.*",
    "explorer.*",
    "files.associations",
    "files.autoSave",
    "files.autoSaveDelay",
    "files.encoding",
    "files.eol",
    "files.exclude",
    "files.insertFinalNewline",
    "files.readonlyInclude",
    "files.trimFinalNewlines",
    "files.trimTrailingWhitespace",
    "files.watcherExclude",
    "html.format.*",
    "javascript.format.*",
    "javascript.preferences.*",
    "json.format.*",
    "markdown.preview.breaks",
    "markdown.preview.fontSize",
    "markdown.preview.lineHeight",
    "markdown.validate.enabled",
    "outline.*",
    "prettier.printWidth",
    "prettier.semi",
    "prettier.singleQuote",
    "prettier.tabWidth",
    "prettier.trailingComma",
    "prettier.useTabs",
    "problems.*",
    "python.analysis.autoImportCompletions",
    "python.analysis.diagnosticMode",
    "python.analysis.exclude",
    "python.analysis.extraPaths",
    "python.analysis.ignore",
    "python.analysis.include",
    "python.analysis.typeCheckingMode",
    "python.testing.autoTestDiscoverOnSaveEnabled",
    "rust-analyzer.cargo.allTargets",
    "rust-analyzer.cargo.features",
    "rust-analyzer.check.allTargets",
    "rust-analyzer.inlayHints.*",
    "rust-analyzer.lens.*",
    "scss.format.*",
    "scss.lint.*",
    "search.exclude",
    "search.useIgnoreFiles",
    "typescript.format.*",
    "typescript.preferences.*",
    "workbench.colorCustomizations",
    "workbench.colorTheme",
    "workbench.editor.*",
    "workbench.iconTheme",
    "workbench.tree.*",
    "yaml.format.*",
    "zenMode.*",
];

pub(crate) const VSCODE: &Keys = &Keys::Only(EDITOR);

/// coc.nvim, "coc-configuration". Its extensions have names of VS Code's for other settings, `explorer.git.command` among them.
pub(crate) const COC: &Keys = &Keys::Only(&[
    "$schema", "coc.preferences.formatOnSave", "coc.preferences.formatOnType", "diagnostic.enable",
    "diagnostic.virtualText", "inlayHint.enable", "suggest.enablePreselect", "suggest.noselect",
]);

/// Tasks run when a person runs them, but for those that run when the folder is opened.
pub(crate) const VSCODE_TASKS: &Keys = &Keys::AllBut(&["runOn"]);

pub(crate) const VSCODE_WORKSPACE: &Keys = &Keys::Only(&[
    "extensions/recommendations", "extensions/unwantedRecommendations", "folders/name",
    // Settings of each folder count too, and other ones than this need not be searched.
    "folders/path=.", "settings/editor.*", "settings/explorer.*", "settings/files.associations",
    "settings/files.eol", "settings/files.exclude", "settings/files.insertFinalNewline",
    "settings/files.trimTrailingWhitespace", "settings/files.watcherExclude", "settings/search.exclude",
    "settings/workbench.colorCustomizations", "settings/workbench.colorTheme",
]);

/// Without `compilerPath`, which the extension runs to ask it for its directories.
pub(crate) const VSCODE_CPP: &Keys = &Keys::Only(&[
    "configurations/cStandard", "configurations/cppStandard", "configurations/defines",
    "configurations/intelliSenseMode", "configurations/name", "version",
]);

/// Development Containers: what runs runs in the container. The host runs `initializeCommand`; `mounts`,
/// `runArgs` and compose files share what is the host's, and so may images and features, which bring settings of their own.
pub(crate) const DEVCONTAINER: &Keys = &Keys::Only(&[
    "$schema", "containerEnv", "containerUser", "customizations/vscode/extensions", "forwardPorts",
    "hostRequirements", "name", "onCreateCommand", "portsAttributes", "postAttachCommand",
    "postCreateCommand", "postStartCommand", "remoteUser", "shutdownAction", "updateContentCommand",
    "waitFor",
]);

pub(crate) const ZED: &Keys = &Keys::Only(&[
    "buffer_font_size",
    "ensure_final_newline_on_save",
    "file_scan_exclusions",
    "file_types",
    "format_on_save=",
    "hard_tabs",
    "languages/*/ensure_final_newline_on_save",
    "languages/*/format_on_save=",
    "languages/*/hard_tabs",
    "languages/*/preferred_line_length",
    "languages/*/remove_trailing_whitespace_on_save",
    "languages/*/show_wrap_guides",
    "languages/*/soft_wrap",
    "languages/*/tab_size",
    "languages/*/wrap_guides",
    "preferred_line_length",
    "remove_trailing_whitespace_on_save",
    "show_wrap_guides",
    "soft_wrap",
    "tab_size",
    "wrap_guides",
]);

/// Tasks run when a person runs them, but for those that run when a worktree is made.
pub(crate) const ZED_TASKS: &Keys = &Keys::AllBut(&["hooks"]);

pub(crate) const HELIX: &Keys = &Keys::Only(&[
    "editor/auto-format", "editor/auto-pairs", "editor/auto-save", "editor/bufferline", "editor/color-modes",
    "editor/cursor-shape", "editor/cursorcolumn", "editor/cursorline", "editor/file-picker",
    "editor/indent-guides", "editor/insert-final-newline", "editor/line-number", "editor/rulers",
    "editor/scrolloff", "editor/soft-wrap", "editor/text-width", "editor/trim-trailing-whitespace",
    "editor/whitespace", "theme",
]);

pub(crate) const HELIX_LANGUAGES: &Keys = &Keys::Only(&[
    "language/auto-format", "language/comment-token", "language/comment-tokens", "language/file-types",
    "language/indent", "language/name", "language/rulers", "language/soft-wrap", "language/text-width",
]);

pub(crate) const SUBLIME: &Keys = &Keys::Only(&[
    "folders",
    "settings/default_line_ending",
    "settings/detect_indentation",
    "settings/ensure_newline_at_eof_on_save",
    "settings/rulers",
    "settings/tab_size",
    "settings/translate_tabs_to_spaces",
    "settings/trim_trailing_white_space_on_save",
    "settings/word_wrap",
    "settings/wrap_width",
]);

pub(crate) const KATE: &Keys = &Keys::Only(&["files", "name"]);

/// Jujutsu, "Settings".
pub(crate) const JJ: &Keys = &Keys::Only(&[
    "$schema", "git/auto-local-bookmark", "git/colocate", "git/fetch", "git/push", "ui/color", "user/email",
    "user/name",
]);

/// `LuaLS`, "Settings": `plugin`, `userThirdParty` and `path` lead to code.
pub(crate) const LUA: &Keys = &Keys::Only(&[
    "$schema", "Lua.completion.*", "Lua.diagnostics.*", "Lua.format.*", "Lua.hint.*", "Lua.hover.*",
    "Lua.runtime.version=", "Lua.telemetry.enable", "Lua.workspace.checkThirdParty", "Lua.workspace.library",
    "completion.*", "diagnostics.*", "diagnostics/disable", "diagnostics/globals", "diagnostics/severity",
    "format.*", "hint.*", "hover.*", "runtime.version=", "runtime/version=", "telemetry.enable",
    "workspace.checkThirdParty", "workspace.library", "workspace/checkThirdParty", "workspace/library",
]);

/// Build Server Protocol, "BSP connection details": all but what is run.
pub(crate) const BUILD_SERVER: &Keys = &Keys::Only(&["bspVersion", "languages", "name", "version"]);

/// `SourceKit`-LSP, "Configuration File".
pub(crate) const SOURCEKIT: &Keys = &Keys::Only(&[
    "$schema",
    "backgroundIndexing",
    "buildSettingsTimeout",
    "cancelTextDocumentRequestsOnEditAndClose",
    "defaultWorkspaceType=",
    "experimentalFeatures",
    "swiftPM/configuration=",
]);

/// rust-analyzer, "Configuration".
pub(crate) const RUST_ANALYZER: &Keys = &Keys::Only(&[
    "assist", "cargo/allTargets", "cargo/features", "check/allTargets", "completion", "diagnostics/disabled",
    "hover", "imports", "inlayHints", "lens",
]);

/// Of `.merlin`, what names directories, packages and endings. `FLG` hands flags to the compiler, of which `-ppx` runs a
/// program.
pub(crate) const MERLIN: &[&str] = &["b", "cmi", "cmt", "exclude_query_dir", "ext", "pkg", "s", "suffix"];

/// Solargraph, "Configuration": all but `plugins` and `formatter`.
pub(crate) const SOLARGRAPH: &Keys =
    &Keys::Only(&["domains", "exclude", "include", "max_files", "reporters", "require", "require_paths"]);

/// Components of a project of `JetBrains` that only describe it, that remember what was shown, or that say what somebody may run,
/// but for what `idea` of `classify` finds in them.
pub(crate) const IDEA: &[&str] = &[
    "AutoImportSettings",
    "Black",
    "BranchesTreeState",
    "ChangeListManager",
    "ChangesViewManager",
    "CodeStyleSettingsManager",
    "DaemonCodeAnalyzer",
    "DictionarySettings",
    "Encoding",
    "ExecutionTargetManager",
    "ExternalProjectsData",
    "FacetManager",
    "FileEditorManager",
    "FileTemplateManagerImpl",
    "FormatOnSaveOptions",
    "Git.Settings",
    "GitHubPullRequestSearchHistory",
    "GitSEFilterConfiguration",
    "HighlightingSettingsPerFile",
    "IdeDocumentHistory",
    "InspectionProjectProfileManager",
    "JavaScriptSettings",
    "MarkdownSettings",
    "MarkdownSettingsMigration",
    "ModuleRootManager",
    "NamedScopeManager",
    "NewModuleRootManager",
    "OptimizeOnSaveOptions",
    "ProblemsViewState",
    "ProjectCodeStyleConfiguration",
    "ProjectColorInfo",
    "ProjectDictionaryState",
    "ProjectFrameBounds",
    "ProjectId",
    "ProjectLevelVcsManager",
    "ProjectModuleManager",
    "ProjectRootManager",
    "ProjectView",
    "ProjectViewState",
    "PropertiesComponent",
    "RecentsManager",
    "RunManager",
    "SharedIndexes",
    "SpellCheckerSettings",
    "StructureViewState",
    "TaskManager",
    "TypeScriptGeneratedFilesManager",
    "UnknownFeatures",
    "Vcs.Log.Tabs.Properties",
    "VcsDirectoryMappings",
    "VcsManagerConfiguration",
    "WebResourcesPaths",
    "XDebuggerManager",
    "com.intellij.coverage.CoverageDataManagerImpl",
];

/// Of what `JetBrains` keeps for git, all but which git that is.
pub(crate) const GIT_IN_IDEA: &[&str] = &[
    "RECENT_BRANCH_BY_REPOSITORY", "RECENT_COMMON_BRANCH", "RECENT_GIT_ROOT_PATH", "ROOT_SYNC", "UPDATE_TYPE",
];

/// What `JetBrains` remembers of a project: what was shown, asked and found.
pub(crate) const PROPERTIES: &Keys = &Keys::Only(&[
    "keyToString/*.executor=",
    "keyToString/ASKED_*",
    "keyToString/ModuleVcsDetector.initialDetectionPerformed",
    "keyToString/RunOnceActivity.*",
    "keyToString/SHARE_PROJECT_CONFIGURATION_FILES",
    "keyToString/WebServerToolWindow*",
    "keyToString/cf.first.check.clang-format",
    "keyToString/cidr.known.project.marker",
    "keyToString/git-widget-placeholder",
    "keyToString/ignore.virus.scanning.warn.message",
    "keyToString/junie.onboarding.icon.badge.shown",
    "keyToString/kotlin-language-version-configured",
    "keyToString/last_opened_file_path",
    "keyToString/node.js.detected.package.*",
    "keyToString/node.js.selected.package.*=(autodetect)",
    "keyToString/nodejs_package_manager_path=",
    "keyToString/run.code.analysis.last.selected.profile",
    "keyToString/settings.editor.selected.configurable",
    "keyToString/settings.editor.splitter.proportion",
    "keyToString/to.speed.mode.migration.done",
    "keyToString/vue.rearranger.settings.migration",
]);

/// dprint, "Global Configuration": neither `plugins` nor `extends`.
pub(crate) const DPRINT: &Keys =
    &Keys::Only(&["$schema", "excludes", "includes", "indentWidth", "lineWidth", "newLineKind", "useTabs"]);

/// Build Server Protocol, with the program of sbt, which `build_server` of `classify` classifies.
pub(crate) const SBT: &Keys = &Keys::Only(&["argv", "bspVersion", "languages", "name", "version"]);

/// pyrefly, "Configuration": neither the interpreter nor the build system, which it runs.
pub(crate) const PYREFLY: &Keys = &Keys::Only(&[
    "disable-project-excludes-heuristics", "disable-search-path-heuristics", "enabled-ignores", "errors",
    "ignore-errors-in-generated-code", "ignore-missing-imports", "infer-with-first-use",
    "permissive-ignores", "preset=", "project-excludes", "project-includes", "python-platform=",
    "python-version=", "replace-imports-with-any", "search-path", "skip-interpreter-query",
    "strict-callable-subtyping", "sub-config/errors", "sub-config/ignore-missing-imports",
    "sub-config/matches", "sub-config/replace-imports-with-any", "sub-config/untyped-def-behavior",
    "untyped-def-behavior=", "use-ignore-files",
]);

/// Headers of prompts, rules, skills and agents: what they are called, when they are meant, and which tools they are left.
pub(crate) const PROMPT: &Keys = &Keys::Only(&[
    "agent=", "alwaysApply", "applyTo", "argument-hint", "author", "category", "color", "compatibility",
    "context=", "description", "disable-model-invocation", "disallowed-tools", "disallowedTools",
    "displayName", "effort=", "fileMatchPattern", "globs", "inclusion", "keywords", "license", "metadata",
    "mode=", "model", "name", "paths", "tags", "temperature=", "title", "tools", "trigger", "user-invocable",
    "version", "when_to_use",
]);

/// Servers that are reached over the network; whatever names a command is missing.
pub(crate) const SERVERS: &Keys = &Keys::Only(&[
    "$schema", "description", "mcpServers/*/description", "mcpServers/*/disabled", "mcpServers/*/timeout",
    "mcpServers/*/type=", "mcpServers/*/url", "permissions/deny", "servers/*/type=", "servers/*/url",
    "version=",
]);

/// Files that an agent finds somewhere in its directory: those of skills and plugins, whose data may be named
/// anything.
pub(crate) const OTHER_OF_AGENTS: &Keys = &Keys::AllBut(&[
    "allow", "approval_policy", "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "command",
    "commands", "defaultMode", "env", "headersHelper", "hooks", "lspServers", "mcp_servers", "mcpServers",
    "monitors", "notify", "otelHeadersHelper", "runOn", "sandbox_mode", "statusLine",
]);

/// Codex, "Agent Skills": how a skill looks and whether it may be chosen, without the servers that it depends on.
pub(crate) const SKILL_OF_CODEX: &Keys = &Keys::Only(&["interface", "policy"]);

/// Claude Code, "All settings".
pub(crate) const CLAUDE: &Keys = &Keys::Only(&[
    "$schema",
    "alwaysThinkingEnabled",
    "attribution",
    "includeCoAuthoredBy",
    "language",
    "model",
    "outputStyle",
    "permissions/ask",
    "permissions/deny",
    "permissions/disableBypassPermissionsMode",
    "showTurnDuration",
    "spinnerTipsEnabled",
    "terminalProgressBarEnabled",
]);

/// Codex, "Config reference".
pub(crate) const CODEX: &Keys = &Keys::Only(&[
    "hide_agent_reasoning", "model", "model_reasoning_effort", "model_reasoning_summary", "model_verbosity",
    "project_doc_fallback_filenames", "project_doc_max_bytes", "show_raw_agent_reasoning",
]);

/// Gemini CLI, "Configuration".
pub(crate) const GEMINI: &Keys = &Keys::Only(&[
    "$schema", "context/fileName", "contextFileName", "general/vimMode", "model/maxSessionTurns",
    "model/name", "theme", "ui/hideBanner", "ui/hideTips", "ui/theme",
]);

/// A command of Gemini CLI is a prompt; `!{…}` in it runs a program.
pub(crate) const GEMINI_COMMAND: &Keys = &Keys::Only(&["description", "prompt"]);

/// opencode, "Config".
pub(crate) const OPENCODE: &Keys = &Keys::Only(&[
    "$schema", "autoupdate", "disabled_providers", "model", "small_model", "theme", "username",
]);

/// pi, "Settings".
pub(crate) const PI: &Keys = &Keys::Only(&[
    "branchSummary", "collapseChangelog", "compaction", "defaultModel", "defaultProvider",
    "defaultThinkingLevel", "enabledModels", "hideThinkingBlock", "images", "markdown", "quietStartup",
    "retry", "theme=", "thinkingBudgets",
]);

/// gptme, "Project config".
pub(crate) const GPTME: &Keys = &Keys::Only(&["agent/name", "base_prompt", "files", "prompt"]);

/// aider, "Options reference".
pub(crate) const AIDER: &Keys = &Keys::Only(&[
    "architect", "attribute-author", "attribute-committer", "auto-commits", "cache-prompts", "code-theme",
    "dark-mode", "dirty-commits", "edit-format", "editor-model", "light-mode", "map-refresh", "map-tokens",
    "model", "pretty", "read", "show-diffs", "stream", "subtree-only", "vim", "weak-model",
]);

/// The Cargo Book, "Configuration".
pub(crate) const CARGO: &Keys = &Keys::Only(&[
    "build/incremental", "build/jobs", "build/target=", "build/target-dir=", "cache/auto-clean-frequency",
    "future-incompat-report/frequency", "net/offline", "net/retry", "profile/*/codegen-units",
    "profile/*/debug", "profile/*/incremental", "profile/*/lto", "profile/*/opt-level",
    "profile/*/overflow-checks", "profile/*/panic", "profile/*/strip", "term/color", "term/progress",
    "term/quiet", "term/verbose",
]);

/// The rustup book, "Overrides".
pub(crate) const RUST_TOOLCHAIN: &Keys =
    &Keys::Only(&["toolchain/channel=", "toolchain/components=", "toolchain/profile=", "toolchain/targets="]);

/// mise, "Configuration": tools by name and version.
pub(crate) const MISE: &Keys = &Keys::Only(&["min_version=", "tools/*="]);

/// npm and pnpm, "config": neither where packages come from nor what runs for them.
pub(crate) const NPM: &Keys = &Keys::Only(&[
    "audit", "auto-install-peers", "color", "dedupe-peer-dependents", "engine-strict", "fund", "hoist",
    "legacy-peer-deps", "link-workspace-packages", "loglevel", "package-lock", "prefer-workspace-packages",
    "progress", "save-exact", "save-prefix", "shamefully-hoist", "strict-peer-dependencies",
    "update-notifier",
]);

/// pnpm, "Settings (pnpm-workspace.yaml)": the workspace, and the versions of what it depends on.
pub(crate) const PNPM: &Keys = &Keys::Only(&["catalog", "catalogs", "overrides", "packages"]);

/// Yarn, "Settings (.yarnrc.yml)".
pub(crate) const YARN: &Keys = &Keys::Only(&[
    "compressionLevel", "defaultSemverRangePrefix", "enableColors", "enableGlobalCache",
    "enableProgressBars", "enableTelemetry", "enableTimers", "logFilters", "nmHoistingLimits", "nmMode",
    "nodeLinker", "pnpFallbackMode", "pnpMode", "preferInteractive", "supportedArchitectures",
]);

/// Bun, "bunfig.toml".
pub(crate) const BUN: &Keys = &Keys::Only(&[
    "install/dev", "install/exact", "install/frozenLockfile", "install/optional", "install/peer",
    "install/production", "install/saveTextLockfile", "logLevel", "smol", "telemetry", "test/coverage",
    "test/coverageThreshold",
]);

/// uv, "Settings".
pub(crate) const UV: &Keys = &Keys::Only(&[
    "compile-bytecode", "concurrent-builds", "concurrent-downloads", "exclude-newer=", "link-mode",
    "no-cache", "offline", "prerelease", "resolution",
]);

/// Tools by name and version, as `.sdkmanrc` and `.prototools` have them.
pub(crate) const VERSIONS: &Keys = &Keys::Only(&["*="]);

/// .NET, "global.json overview", without `sdk.paths`.
pub(crate) const DOTNET: &Keys = &Keys::Only(&[
    "$schema", "msbuild-sdks/*=", "sdk/allowPrerelease", "sdk/errorMessage", "sdk/rollForward=",
    "sdk/version=", "test/runner=",
]);

/// Ansible, "Configuration Settings".
pub(crate) const ANSIBLE: &Keys = &Keys::Only(&[
    "defaults/forks", "defaults/gathering", "defaults/host_key_checking", "defaults/nocows",
    "defaults/retry_files_enabled", "defaults/timeout", "diff/always",
]);

/// Of `ssh_config(5)`, what neither runs a program nor reads another file.
pub(crate) const SSH: &[&str] = &[
    "host", "hostname", "identitiesonly", "identityfile", "port", "serveralivecountmax",
    "serveraliveinterval", "user",
];
