//! Settings that run nothing: what a new file may say without being suspicious.
//!
//! Lists of what is dangerous are never complete: each release of an editor, and each extension, brings settings
//! that run a program. So these are the ones that only format, display or choose a model, taken from the
//! documentation that the table of protected paths names, and each with a type of value that cannot carry a command, an address or the
//! path of what is read. A setting that is missing here costs a person a look at what was quarantined; a dangerous one on a list would
//! cost more.

pub(crate) mod tools;

/// How the keys of a file are classified.
#[derive(Debug)]
pub(crate) enum Keys {
    /// Only these pass, with values of these types. A key is written with those above it, `languages/*/tab_size`. `*` is any plain
    /// name, `editor.*` whatever begins so, `[*]` a language of Visual Studio Code, and `/**` at the end all keys within, which are of
    /// the type of their values.
    Only(TypedKeys),
    /// All pass but these, at any depth and without regard to case: what is in the file runs when a person says so. Of YAML, only what has
    /// no other keys within passes. Of the second list, values of these types pass.
    AllBut(&'static [&'static str], TypedKeys),
}

/// Keys, with the type of their values.
pub(crate) type TypedKeys = &'static [(ValueType, &'static [&'static str])];

/// What a value may be, beside truth and number. A list may hold several. What a program might expand (`${…}`, `$(…)`) never passes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValueType {
    /// One plain word: no path, address or command.
    Word,
    /// The name of a model, which may have one slash, after its provider.
    Model,
    /// A path or pattern within the directory, by which the program only leaves out, sorts or colours files.
    Pattern,
    /// Text that is only shown to people and models, or that only withholds something.
    Text,
    Is(&'static str),
    /// A plain word that begins so.
    Begins(&'static str),
    /// Text, in which this is not written in any way.
    Without(&'static str),
    /// Words with punctuation in between, from which no language makes a call.
    Words,
    /// Text of lines that are each one of these.
    Lines(&'static [&'static str]),
}

use ValueType::{Is, Model, Pattern, Text, Without, Word};

/// Files of which every setting counts.
pub(crate) const NOTHING: &Keys = &Keys::Only(&[(Word, &["version"])]);

/// Files of any program, which start servers where they have this key.
pub(crate) const MCP_SERVERS: &Keys = &Keys::AllBut(&["mcpServers"], &[]);

/// Visual Studio Code, "Default settings" and the extensions that most projects name in their settings.
pub(crate) const VSCODE: &Keys = &Keys::Only(&[
    (Word, EDITOR),
    (Pattern, FILES),
    (Text, SHOWN),
    (
        Word,
        &[
            "[*]/editor.*", "[*]/editor.codeActionsOnSave/**", "[*]/editor.quickSuggestions/**",
            "[*]/files.insertFinalNewline", "[*]/files.trimFinalNewlines",
            "[*]/files.trimTrailingWhitespace",
        ],
    ),
]);

const EDITOR: &[&str] = &[
    "cSpell.language", "css.format.*", "css.lint.*", "diffEditor.*", "editor.*",
    "editor.codeActionsOnSave/**", "editor.quickSuggestions/**", "explorer.*", "files.autoSave",
    "files.autoSaveDelay", "files.encoding", "files.insertFinalNewline", "files.trimFinalNewlines",
    "files.trimTrailingWhitespace", "html.format.*", "javascript.format.*", "javascript.preferences.*",
    "json.format.*", "markdown.preview.breaks", "markdown.preview.fontSize", "markdown.preview.lineHeight",
    "markdown.validate.enabled", "prettier.printWidth", "prettier.semi", "prettier.singleQuote",
    "prettier.tabWidth", "prettier.trailingComma", "prettier.useTabs",
    "python.analysis.autoImportCompletions", "python.analysis.diagnosticMode",
    "python.analysis.typeCheckingMode", "rust-analyzer.cargo.allTargets", "rust-analyzer.cargo.features",
    "rust-analyzer.check.allTargets", "rust-analyzer.inlayHints.*", "rust-analyzer.lens.*", "scss.format.*",
    "scss.lint.*", "search.useIgnoreFiles", "typescript.format.*", "typescript.preferences.*",
    "workbench.editor.*", "workbench.tree.*", "yaml.format.*",
];

const FILES: &[&str] = &[
    "cSpell.ignorePaths", "files.associations/**", "files.exclude/**", "files.readonlyInclude/**",
    "files.watcherExclude/**", "python.analysis.exclude", "python.analysis.ignore", "search.exclude/**",
];

const SHOWN: &[&str] = &[
    "cSpell.ignoreWords", "cSpell.words", "editor.fontFamily", "files.eol",
    "workbench.colorCustomizations/**", "workbench.colorTheme", "workbench.iconTheme",
];

/// Which extensions are offered, by their names.
pub(crate) const VSCODE_EXTENSIONS: &Keys =
    &Keys::Only(&[(Word, &["recommendations", "unwantedRecommendations"])]);

/// coc.nvim, "coc-configuration". Its extensions have names of VS Code's for other settings, `explorer.git.command` among them.
pub(crate) const COC: &Keys = &Keys::Only(&[(
    Word,
    &[
        "coc.preferences.formatOnSave", "coc.preferences.formatOnType", "diagnostic.enable",
        "diagnostic.virtualText", "inlayHint.enable", "suggest.enablePreselect", "suggest.noselect",
    ],
)]);

/// Tasks run when a person runs them, but for those that run when the folder is opened.
pub(crate) const VSCODE_TASKS: &Keys = &Keys::AllBut(&["runOn"], &[]);

pub(crate) const VSCODE_WORKSPACE: &Keys = &Keys::Only(&[
    // Settings of each folder count too, and other ones than this need not be searched.
    (Is("."), &["folders/path"]),
    (
        Word,
        &[
            "extensions/recommendations", "extensions/unwantedRecommendations", "settings/editor.*",
            "settings/explorer.*", "settings/files.insertFinalNewline",
            "settings/files.trimTrailingWhitespace",
        ],
    ),
    (
        Pattern,
        &[
            "settings/files.associations/**", "settings/files.exclude/**",
            "settings/files.watcherExclude/**", "settings/search.exclude/**",
        ],
    ),
    (
        Text,
        &[
            "folders/name",
            "settings/files.eol",
            "settings/workbench.colorCustomizations/**",
            "settings/workbench.colorTheme",
        ],
    ),
]);

pub(crate) const ZED: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "buffer_font_size",
            "ensure_final_newline_on_save",
            "format_on_save",
            "hard_tabs",
            "languages/*/ensure_final_newline_on_save",
            "languages/*/format_on_save",
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
        ],
    ),
    (Pattern, &["file_scan_exclusions", "file_types/**"]),
]);

/// Tasks run when a person runs them, but for those that run when a worktree is made.
pub(crate) const ZED_TASKS: &Keys = &Keys::AllBut(&["hooks"], &[]);

pub(crate) const HELIX: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "editor/auto-format", "editor/auto-pairs", "editor/auto-save/**", "editor/auto-save",
            "editor/bufferline", "editor/color-modes", "editor/cursor-shape/**", "editor/cursorcolumn",
            "editor/cursorline", "editor/file-picker/**", "editor/indent-guides/render",
            "editor/indent-guides/skip-levels", "editor/insert-final-newline", "editor/line-number",
            "editor/rulers", "editor/scrolloff", "editor/soft-wrap/enable", "editor/text-width",
            "editor/trim-trailing-whitespace", "editor/whitespace/render", "editor/whitespace/render/**",
            "theme",
        ],
    ),
    (Text, &["editor/indent-guides/character", "editor/whitespace/characters/**"]),
]);

pub(crate) const HELIX_LANGUAGES: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "language/auto-format", "language/indent/tab-width", "language/file-types", "language/name",
            "language/rulers", "language/soft-wrap/enable", "language/text-width",
        ],
    ),
    (Text, &["language/comment-token", "language/comment-tokens", "language/indent/unit"]),
]);

pub(crate) const SUBLIME: &Keys = &Keys::Only(&[
    (Is("."), &["folders/path"]),
    (Text, &["folders/name"]),
    (Pattern, &["folders/file_exclude_patterns", "folders/folder_exclude_patterns"]),
    (
        Word,
        &[
            "settings/default_line_ending",
            "settings/detect_indentation",
            "settings/ensure_newline_at_eof_on_save",
            "settings/rulers",
            "settings/tab_size",
            "settings/translate_tabs_to_spaces",
            "settings/trim_trailing_white_space_on_save",
            "settings/word_wrap",
            "settings/wrap_width",
        ],
    ),
]);

/// What Sublime Text keeps of its windows. Of the settings of a view, one that is more than a word may be what a package runs.
pub(crate) const SUBLIME_WORKSPACE: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "buffers/settings/*", "groups/sheets/settings/settings/*", "project", "settings",
            "template_settings",
        ],
    ),
    (Pattern, &["groups/sheets/settings/settings/syntax"]),
    (
        Text,
        &[
            "auto_complete/**", "buffers/contents", "buffers/file", "buffers/settings/name",
            "buffers/undo_stack/**", "build_system", "build_system_choices", "build_varint",
            "command_palette/**", "console/**", "distraction_free/**", "expanded_folders", "file_history",
            "find/**", "find_in_files/**", "find_state/**", "groups/selected", "groups/sheets/buffer",
            "groups/sheets/file", "groups/sheets/selected", "groups/sheets/selection/**",
            "groups/sheets/semi_transient", "groups/sheets/settings/buffer_size",
            "groups/sheets/settings/regions/**", "groups/sheets/settings/selection",
            "groups/sheets/settings/translation.x", "groups/sheets/settings/translation.y",
            "groups/sheets/settings/zoom_level", "groups/sheets/stack_index",
            "groups/sheets/stack_multiselect", "groups/sheets/type", "incremental_find/**", "input/**",
            "layout/**", "menu_visible", "output.exec/**", "output.find_results/**", "pinned_build_system",
            "replace/**", "save_all_on_build", "select_file/**", "select_project/**", "select_symbol/**",
            "selected_group", "show_minimap", "show_open_files", "show_tabs", "side_bar_visible",
            "side_bar_width", "status_bar_visible",
        ],
    ),
]);

pub(crate) const KATE: &Keys = &Keys::Only(&[(Word, &["files/git"]), (Text, &["name"])]);

/// Jujutsu, "Settings".
pub(crate) const JJ: &Keys = &Keys::Only(&[
    (Word, &["git/auto-local-bookmark", "git/colocate", "ui/color"]),
    (Text, &["user/email", "user/name"]),
]);

/// `LuaLS`, "Settings": `plugin`, `userThirdParty`, `library` and `path` lead to code.
pub(crate) const LUA: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "Lua.completion.*", "Lua.diagnostics.*", "Lua.diagnostics.severity/**", "Lua.format.enable",
            "Lua.hint.*", "Lua.hover.*", "Lua.telemetry.enable", "Lua.workspace.checkThirdParty",
            "completion.*", "diagnostics.*", "diagnostics.severity/**", "diagnostics/disable",
            "diagnostics/globals", "diagnostics/severity/**", "format.enable", "hint.*", "hover.*",
            "telemetry.enable", "workspace.checkThirdParty", "workspace/checkThirdParty",
        ],
    ),
    (Text, &["Lua.runtime.version", "runtime.version", "runtime/version"]),
]);

/// rust-analyzer, "Configuration".
pub(crate) const RUST_ANALYZER: &Keys = &Keys::Only(&[(
    Word,
    &[
        "assist/**", "cargo/allTargets", "cargo/features", "check/allTargets", "diagnostics/disabled",
        "hover/**", "imports/**", "inlayHints/**", "lens/**",
    ],
)]);

/// Components of a project of `JetBrains` that only describe it, each with the elements that may be in it. What their attributes may
/// hold, `idea` of `classify` says. Of git and of linters, whose programs they may name, there is none.
pub(crate) const IDEA: &[(&str, &[&str])] = &[
    // Of a formatter, its interpreter is one of the IDE's own. Its program is not.
    ("Black", &["option"]),
    ("Encoding", &["file"]),
    // No `inspection_tool`: some hold a script, or start a linter of the project's.
    ("InspectionProjectProfileManager", &["option", "profile", "settings", "version"]),
    ("JavaScriptSettings", &["option"]),
    // No `output`, which is cleared at a build, and no libraries.
    (
        "NewModuleRootManager",
        &["content", "excludeFolder", "excludePattern", "exclude-output", "orderEntry", "sourceFolder"],
    ),
    (
        "ProjectCodeStyleConfiguration",
        &["code_scheme", "codeStyleSettings", "indentOptions", "option", "settings", "state"],
    ),
    ("ProjectModuleManager", &["module", "modules"]),
    ("ProjectRootManager", &[]),
    ("VcsDirectoryMappings", &["mapping"]),
];

/// dprint, "Global Configuration": neither `plugins` nor `extends`.
pub(crate) const DPRINT: &Keys = &Keys::Only(&[
    (Is("https://dprint.dev/schemas/v0.json"), &["$schema"]),
    (Word, &["indentWidth", "lineWidth", "newLineKind", "useTabs"]),
    (Pattern, &["excludes"]),
]);

/// Build Server Protocol, with the program of sbt, which `build_server` of `classify` classifies.
pub(crate) const SBT: &Keys =
    &Keys::Only(&[(Word, &["bspVersion", "languages", "name", "version"]), (Text, &["argv"])]);

/// pyrefly, "Configuration": neither the interpreter nor the build system, which it runs.
pub(crate) const PYREFLY: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "disable-project-excludes-heuristics", "disable-search-path-heuristics", "enabled-ignores",
            "errors/**", "ignore-errors-in-generated-code", "infer-with-first-use", "permissive-ignores",
            "preset", "python-platform", "python-version", "skip-interpreter-query",
            "strict-callable-subtyping", "sub-config/errors/**", "sub-config/untyped-def-behavior",
            "untyped-def-behavior", "use-ignore-files",
        ],
    ),
    (Pattern, &["project-excludes", "sub-config/matches"]),
]);

/// Headers of prompts, rules, skills and agents: what they are called, when they are meant, and which tools they are left.
pub(crate) const PROMPT: &Keys = &Keys::Only(&[
    OF_ANY_PROMPT[0],
    OF_ANY_PROMPT[1],
    OF_ANY_PROMPT[2],
    (Model, &["model"]),
    (Text, &["tools"]),
]);

/// The same for Continue, to which a name with a slash is one of its hub, where anybody may publish, or a file of settings: of a tool, it is the
/// server, and of a model it says where the server is.
pub(crate) const PROMPT_OF_CONTINUE: &Keys = &Keys::Only(&[
    OF_ANY_PROMPT[0],
    OF_ANY_PROMPT[1],
    OF_ANY_PROMPT[2],
    (Word, &["model"]),
    (Without("/"), &["tools"]),
]);

/// What is the same for all agents.
const OF_ANY_PROMPT: [(ValueType, &[&str]); 3] = [
    (
        Word,
        &[
            "agent", "alwaysApply", "context", "disable-model-invocation", "effort", "inclusion", "mode",
            "temperature", "trigger", "user-invocable", "version",
        ],
    ),
    (Pattern, &["applyTo", "fileMatchPattern", "globs", "paths"]),
    (
        Text,
        &[
            "argument-hint", "author", "category", "color", "compatibility", "description",
            "disallowed-tools", "disallowedTools", "displayName", "keywords", "license", "metadata", "name",
            "tags", "title", "when_to_use",
        ],
    ),
];

/// Codex, "Agent Skills": how a skill looks.
pub(crate) const SKILL_OF_CODEX: &Keys = &Keys::Only(&[(Text, &["interface"])]);

/// Claude Code, "All settings".
pub(crate) const CLAUDE: &Keys = &Keys::Only(&[
    (Is("https://json.schemastore.org/claude-code-settings.json"), &["$schema"]),
    (
        Word,
        &[
            "alwaysThinkingEnabled",
            "includeCoAuthoredBy",
            "language",
            "permissions/disableBypassPermissionsMode",
            "showTurnDuration",
            "spinnerTipsEnabled",
            "terminalProgressBarEnabled",
        ],
    ),
    (Model, &["model"]),
    (Text, &["attribution/commit", "attribution/pr", "outputStyle", "permissions/ask", "permissions/deny"]),
]);

/// Codex, "Config reference".
pub(crate) const CODEX: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "hide_agent_reasoning", "model_reasoning_effort", "model_reasoning_summary", "model_verbosity",
            "project_doc_max_bytes", "show_raw_agent_reasoning",
        ],
    ),
    (Model, &["model"]),
]);

/// Gemini CLI, "Configuration".
pub(crate) const GEMINI: &Keys = &Keys::Only(&[
    (
        Word,
        &["general/vimMode", "model/maxSessionTurns", "theme", "ui/hideBanner", "ui/hideTips", "ui/theme"],
    ),
    (Model, &["model/name"]),
]);

/// A command of Gemini CLI is a prompt; `!{…}` in it runs a program, and `@{…}` reads a file.
pub(crate) const GEMINI_COMMAND: &Keys = &Keys::Only(&[(Text, &["description", "prompt"])]);

/// opencode, "Config".
pub(crate) const OPENCODE: &Keys = &Keys::Only(&[
    (Is("https://opencode.ai/config.json"), &["$schema"]),
    (Word, &["autoupdate", "disabled_providers", "theme"]),
    (Model, &["model", "small_model"]),
    (Text, &["username"]),
]);

/// pi, "Settings".
pub(crate) const PI: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "branchSummary/**", "collapseChangelog", "compaction/**", "defaultProvider",
            "defaultThinkingLevel", "hideThinkingBlock", "images/**", "quietStartup", "retry/**", "theme",
            "thinkingBudgets/**",
        ],
    ),
    (Model, &["defaultModel"]),
]);

/// aider, "Options reference". Of a model with a slash the first half says where everything is sent.
pub(crate) const AIDER: &Keys = &Keys::Only(&[(
    Word,
    &[
        "architect", "attribute-author", "attribute-committer", "auto-commits", "cache-prompts",
        "code-theme", "dark-mode", "dirty-commits", "edit-format", "editor-model", "light-mode",
        "map-refresh", "map-tokens", "model", "pretty", "show-diffs", "stream", "subtree-only", "vim",
        "weak-model",
    ],
)]);

/// The Cargo Book, "Configuration": neither `target`, which may be a file that names a linker, nor `target-dir`, which is cleaned.
pub(crate) const CARGO: &Keys = &Keys::Only(&[(
    Word,
    &[
        "build/incremental", "build/jobs", "net/offline", "net/retry", "profile/*/codegen-units",
        "profile/*/debug", "profile/*/incremental", "profile/*/lto", "profile/*/opt-level",
        "profile/*/overflow-checks", "profile/*/panic", "profile/*/strip", "term/color", "term/quiet",
        "term/verbose",
    ],
)]);

/// The rustup book, "Overrides".
pub(crate) const RUST_TOOLCHAIN: &Keys = &Keys::Only(&[(
    Word,
    &["toolchain/channel", "toolchain/components", "toolchain/profile", "toolchain/targets"],
)]);

/// mise, "Configuration": tools by name and version.
pub(crate) const MISE: &Keys = &Keys::Only(&[(Word, &["min_version", "tools/*"])]);

/// npm and pnpm, "config": neither where packages come from nor what runs for them.
pub(crate) const NPM: &Keys = &Keys::Only(&[(
    Word,
    &[
        "audit", "auto-install-peers", "color", "dedupe-peer-dependents", "engine-strict", "fund", "hoist",
        "legacy-peer-deps", "link-workspace-packages", "loglevel", "package-lock",
        "prefer-workspace-packages", "progress", "save-exact", "shamefully-hoist",
        "strict-peer-dependencies", "update-notifier",
    ],
)]);

/// pnpm, "Settings (pnpm-workspace.yaml)": the workspace, and nothing of where packages come from.
pub(crate) const PNPM: &Keys = &Keys::Only(&[(Pattern, &["packages"])]);

/// Yarn, "Settings (.yarnrc.yml)".
pub(crate) const YARN: &Keys = &Keys::Only(&[(
    Word,
    &[
        "compressionLevel", "enableColors", "enableGlobalCache", "enableProgressBars", "enableTelemetry",
        "enableTimers", "nmHoistingLimits", "nmMode", "nodeLinker", "pnpFallbackMode", "pnpMode",
        "preferInteractive",
    ],
)]);

/// Bun, "bunfig.toml".
pub(crate) const BUN: &Keys = &Keys::Only(&[(
    Word,
    &[
        "install/dev", "install/exact", "install/frozenLockfile", "install/optional", "install/peer",
        "install/production", "install/saveTextLockfile", "logLevel", "smol", "telemetry", "test/coverage",
        "test/coverageThreshold",
    ],
)]);

/// uv, "Settings".
pub(crate) const UV: &Keys = &Keys::Only(&[(
    Word,
    &[
        "compile-bytecode", "concurrent-builds", "concurrent-downloads", "exclude-newer", "link-mode",
        "no-cache", "offline", "prerelease", "resolution",
    ],
)]);

/// Tools by name and version, as `.sdkmanrc` and `.prototools` have them.
pub(crate) const VERSIONS: &Keys = &Keys::Only(&[(Word, &["*"])]);

/// .NET, "global.json overview", without `sdk.paths` and the packages of `msbuild-sdks`.
pub(crate) const DOTNET: &Keys = &Keys::Only(&[
    (Word, &["sdk/allowPrerelease", "sdk/rollForward", "sdk/version", "test/runner"]),
    (Text, &["sdk/errorMessage"]),
]);

/// Ansible, "Configuration Settings".
pub(crate) const ANSIBLE: &Keys = &Keys::Only(&[(
    Word,
    &[
        "defaults/forks", "defaults/gathering", "defaults/nocows", "defaults/retry_files_enabled",
        "defaults/timeout", "diff/always",
    ],
)]);
