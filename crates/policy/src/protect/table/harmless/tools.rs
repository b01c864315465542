//! Settings that run nothing, of linters, formatters, scanners and other tools that hooks and editors start.

use super::Keys;
use super::ValueType::{Begins, Is, Lines, Model, Pattern, Text, Without, Word, Words};

/// Ansible Lint, "Configuration": neither rules nor variables, which may be templates, no file that it writes, and no names of modules
/// and roles, for which it makes files.
pub(crate) const ANSIBLE_LINT: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "display_relative_path", "max_block_depth", "max_tasks", "offline", "parseable", "profile",
            "quiet", "strict", "use_default_rules", "verbosity",
        ],
    ),
    (Pattern, &["exclude_paths"]),
    (
        Text,
        &[
            "enable_list", "loop_var_prefix", "only_builtins_allow_collections",
            "only_builtins_allow_modules", "skip_list", "tags", "task_name_prefix", "var_naming_pattern",
            "warn_list", "write_list",
        ],
    ),
]);

/// clang-tidy, "Configuration files": neither arguments of the compiler nor, as options of a check, those of the analyzer, which reads
/// other files.
pub(crate) const CLANG_TIDY: &Keys = &Keys::Only(&[
    (
        Word,
        &["AnalyzeTemporaryDtors", "InheritParentConfig", "SystemHeaders", "UseColor", "User", "FormatStyle"],
    ),
    (
        Text,
        &[
            "Checks", "ExcludeHeaderFilterRegex", "HeaderFileExtensions", "HeaderFilterRegex",
            "ImplementationFileExtensions", "WarningsAsErrors",
        ],
    ),
    (Without("clang-analyzer-"), &["CheckOptions"]),
]);

/// cmake-format, "Configuration": no `include`, which names more files, also such as are run.
pub(crate) const CMAKE_FORMAT: &Keys = &Keys::Only(&[
    (Word, CMAKE_FORMAT_WORDS),
    (
        Text,
        &[
            "additional_commands/**", "encode/**", "format/**", "lint/**", "markup/**", "parse/**",
            "per_command/**", "additional_commands", "encode", "format", "lint", "markup", "parse",
            "per_command",
        ],
    ),
]);

/// The same in a file that cmake-format runs as Python where it has no reader of YAML: nothing in it may be a call.
pub(crate) const CMAKE_FORMAT_OR_PYTHON: &Keys = &Keys::Only(&[
    (Word, CMAKE_FORMAT_WORDS),
    (Words, &["additional_commands", "encode", "format", "lint", "markup", "parse", "per_command"]),
]);

const CMAKE_FORMAT_WORDS: &[&str] = &[
    "always_wrap", "autosort", "bullet_char", "command_case", "dangle_align", "dangle_parens",
    "enable_markup", "enable_sort", "enum_char", "first_comment_is_literal", "keyword_case", "line_ending",
    "line_width", "max_pargs_hwrap", "max_subgroups_hwrap", "min_prefix_chars",
    "separate_ctrl_name_with_space", "separate_fn_name_with_space", "tab_size", "use_tabchars",
];

/// gersemi, "Configuration": no `extensions`, which are loaded.
pub(crate) const GERSEMI: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "cache", "color", "disable_formatting", "indent", "line_length", "list_expansion", "quiet",
            "respect_ignore_files", "sort_order", "warn_about_unknown_commands", "warnings_as_errors",
            "workers",
        ],
    ),
    (Pattern, &["definitions"]),
]);

/// detect-secrets, "Baseline": modules of its own, and what was found.
pub(crate) const DETECT_SECRETS: &Keys = &Keys::Only(&[
    (Word, &["plugins_used/name"]),
    (
        Text,
        &[
            "exclude/**", "filters_used/pattern", "generated_at", "plugins_used/keyword_exclude",
            "results/**", "version",
        ],
    ),
    (
        Word,
        &[
            "filters_used/file_hash", "filters_used/limit", "filters_used/min_length",
            "filters_used/min_level", "filters_used/model", "plugins_used/base64_limit",
            "plugins_used/hex_limit", "plugins_used/limit", "word_list/hash",
        ],
    ),
    // The baseline itself, and a list of words.
    (Pattern, &["filters_used/file_name", "filters_used/filename"]),
    (Begins("detect_secrets.filters."), &["filters_used/path"]),
    // There if they are empty.
    (Is(""), &["custom_plugin_paths", "word_list/file"]),
]);

/// `DataLad`, "Configuration": neither procedures nor where they are, and no other files.
pub(crate) const DATALAD: &Keys = &Keys::Only(&[(
    Word,
    &["datalad/dataset/id", "datalad/metadata/maxfieldsize", "datalad/metadata/nativetype"],
)]);

/// DVC, "Configuration": neither where it keeps its databases nor where data come from.
pub(crate) const DVC: &Keys = &Keys::Only(&[(
    Word,
    &[
        "core/analytics", "core/autostage", "core/check_update", "core/hardlink_lock", "core/remote",
        "cache/type", "remote/*/jobs", "remote/*/region", "remote/*/verify", "remote/*/version_aware",
        "remote/*/worktree",
    ],
)]);

/// Grype, "Configuration": neither an output nor a template, nor where its database comes from.
pub(crate) const GRYPE: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "add-cpes-if-none", "by-cve", "check-for-app-update", "fail-on-severity", "only-fixed",
            "only-notfixed", "quiet",
        ],
    ),
    (Pattern, &["exclude"]),
    (Text, &["ignore"]),
]);

/// Syft, "Configuration": neither an output nor a template.
pub(crate) const SYFT: &Keys = &Keys::Only(&[
    (Word, &["check-for-app-update", "parallelism", "quiet", "scope"]),
    (Pattern, &["exclude"]),
]);

/// terraform-docs, "Configuration": no output and no template but those that it writes there itself, and no `content`, which may hold
/// other files.
pub(crate) const TERRAFORM_DOCS: &Keys = &Keys::Only(&[
    (Text, &["formatter", "sections", "settings", "sort", "version"]),
    // Of others it would show the content.
    (Is("main.tf"), &["header-from"]),
    (Is(""), &["content", "footer-from"]),
    (
        Lines(&[
            "file: README.md", "file: \"README.md\"", "file: ./README.md", "file: \"\"", "mode: inject",
            "mode: replace", "template: |", "template: |-", "template: \"\"", "<!-- BEGIN_TF_DOCS -->",
            "<!-- END_TF_DOCS -->", "{{ .Content }}",
        ]),
        &["output"],
    ),
    (Lines(&["enabled: false", "enabled: true", "path: modules"]), &["recursive"]),
    (Lines(&["enabled: false", "from: \"\""]), &["output-values"]),
]);

/// Trivy, "Configuration file": neither an output nor a template, nor modules, policies and servers.
pub(crate) const TRIVY: &Keys =
    // Without an output, what is written in a format is shown.
    &Keys::Only(&[(
        Word,
        &["debug", "exit-code", "format", "ignore-unfixed", "list-all-pkgs", "quiet", "severity", "timeout"],
    )]);

/// gdtoolkit, `gdtoolkit/linter/__main__.py`: every setting, if it has no tag, of which some make anything in Python.
pub(crate) const GDTOOLKIT: &Keys = &Keys::AllBut(&[], &[]);

/// cfn-lint, "Config file": neither the rules nor the files that it loads, and no file that it writes.
pub(crate) const CFN_LINT: &Keys =
    &Keys::AllBut(&["append_rules", "custom_rules", "output_file", "override_spec", "registry_schemas"], &[]);

/// `PyMarkdown`, "Plugins" and "Logging": no plugins of the project, and no file that it writes.
pub(crate) const PYMARKDOWN: &Keys = &Keys::AllBut(&["additional_paths", "log"], &[]);

/// Fixit, "Configuration": without the rules that it loads.
pub(crate) const FIXIT: &Keys = &Keys::AllBut(&["disable", "enable", "enable-root-import", "overrides"], &[]);

/// latexindent.pl, "The replacements field": substitutions in Perl.
pub(crate) const LATEXINDENT: &Keys = &Keys::AllBut(&["replacements"], &[]);

/// lychee, "Preprocessing": without the program that it runs, and the files that it writes.
pub(crate) const LYCHEE: &Keys = &Keys::AllBut(&["cookie_jar", "output", "preprocess"], &[]);

/// Git Town, "browser" and "origin-hostname": the program that opens a page, and the server that gets the token.
pub(crate) const GIT_TOWN: &Keys =
    &Keys::AllBut(&["browser", "forge-type", "origin-hostname", "platform"], &[]);

/// Backlog.md, "Configuration": without what it runs.
pub(crate) const BACKLOG: &Keys =
    &Keys::AllBut(&["defaultEditor", "default_editor", "onStatusChange", "on_status_change"], &[]);

/// Serena, project.template.yml: neither what it runs nor the programs of language servers. A mode that is no name is a file, with a
/// template.
pub(crate) const SERENA: &Keys = &Keys::AllBut(
    &[],
    &[
        // There without a value.
        (Lines(&["{}"]), &["activation_command", "ls_specific_settings"]),
        (Word, &["added_modes", "base_modes", "default_modes"]),
    ],
);

/// Task Master, "Configuration": no server but those that it names itself, which a location is a part of, and none of the agents that it
/// starts.
pub(crate) const TASK_MASTER: &Keys = &Keys::AllBut(
    &["apiEndpoint", "azureBaseURL", "baseURL", "claudeCode", "codexCli", "endpoint", "grokCli"],
    &[
        (Lines(&["https://bedrock.us-east-1.amazonaws.com"]), &["bedrockBaseURL"]),
        (Lines(&["http://localhost:11434/api"]), &["ollamaBaseURL"]),
        (Word, &["vertexLocation", "vertexProjectId"]),
    ],
);

/// perlcritic, "CONFIGURATION": policies that may run what they look at, the pager and the spelling checker that it runs, and the settings
/// of perltidy, which writes to a file that they name. Case does not count; `tests/style` looks for the small letters.
pub(crate) const PERLCRITIC: &Keys =
    &Keys::AllBut(&["allow-Unsafe", "pager", "perltidyrc", "spell_command"], &[]);

/// Vale, "Configuration": `Transform` is a program for XSLT, which reads and writes other files; the others are a server, and a command.
pub(crate) const VALE: &Keys = &Keys::AllBut(&["NLPEndpoint", "SphinxAutoBuild", "Transform"], &[]);

/// Checkov, "CLI Command Reference": neither checks of the project's nor servers, keys and files.
pub(crate) const CHECKOV: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "check", "compact", "evaluate-variables", "framework", "output", "quiet", "skip-check",
            "skip-framework", "soft-fail",
        ],
    ),
    (Pattern, &["skip-path"]),
]);

/// vfox, "Quick Start": versions, which may be directories otherwise.
pub(crate) const VFOX: &Keys = &Keys::Only(&[(Word, &["tools/*", "tools/*/vendor", "tools/*/version"])]);

/// gmt.conf(5): all but the libraries that it loads, options that a shell gets, and a theme, which is a file of such settings.
pub(crate) const GMT: &Keys = &Keys::AllBut(
    &[],
    &[
        (Is(""), &["GMT_CUSTOM_LIBS"]),
        // Files of other names are taken from the directory in which it is started.
        (Lines(&["classic", "modern"]), &["GMT_THEME"]),
        (Is("A"), &["PS_CONVERT"]),
    ],
);

/// neocmakelsp, README: without the formatter that it runs.
pub(crate) const NEOCMAKE: &Keys = &Keys::Only(&[(
    Word,
    &[
        "command_case", "command_upcase", "enable_external_cmake_lint", "format/enable", "line_max_words",
        "lint/enable",
    ],
)]);

/// ast-grep, "sgconfig.yml": no `customLanguages`, whose libraries it loads.
pub(crate) const SGCONFIG: &Keys =
    &Keys::Only(&[(Pattern, &["ruleDirs", "utilDirs"]), (Text, &["languageGlobs", "testConfigs"])]);

/// `SonarScanner`, "Analysis parameters": neither the server and how it is reached, nor programs, nor where the scanner works.
pub(crate) const SONAR: &Keys = &Keys::Only(&[
    (
        Text,
        &[
            "sonar.organization", "sonar.projectDescription", "sonar.projectKey", "sonar.projectName",
            "sonar.projectVersion", "sonar.sourceEncoding",
        ],
    ),
    (
        Pattern,
        &[
            "sonar.coverage.*", "sonar.cpd.*", "sonar.exclusions", "sonar.go.*", "sonar.inclusions",
            "sonar.java.binaries", "sonar.java.libraries", "sonar.java.source", "sonar.java.target",
            "sonar.java.test.*", "sonar.javascript.lcov.reportPaths", "sonar.language", "sonar.modules",
            "sonar.php.*", "sonar.python.coverage.reportPaths", "sonar.python.version",
            "sonar.python.xunit.reportPath", "sonar.qualitygate.wait", "sonar.sources", "sonar.test.*",
            "sonar.tests", "sonar.typescript.lcov.reportPaths",
        ],
    ),
]);

/// gcovr, "Configuration File": neither programs nor what it writes, and no template.
pub(crate) const GCOVR: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "calls", "decisions", "exclude-function-lines", "exclude-internal-functions",
            "exclude-noncode-lines", "exclude-throw-branches", "exclude-unreachable-branches",
            "fail-under-branch", "fail-under-condition", "fail-under-decision", "fail-under-function",
            "fail-under-line", "gcov-ignore-errors", "gcov-ignore-parse-errors", "gcov-parallel",
            "high-threshold", "html-high-threshold", "html-medium-threshold", "html-self-contained",
            "html-tab-size", "html-theme", "json-pretty", "medium-threshold", "merge-mode-functions",
            "print-summary", "sort", "sort-branches", "sort-percentage", "sort-uncovered", "source-encoding",
            "txt-branches", "txt-summary", "verbose", "xml-pretty",
        ],
    ),
    (
        Pattern,
        &["exclude", "exclude-directories", "filter", "gcov-exclude", "gcov-filter", "root", "search-path"],
    ),
    (Text, &["html-title"]),
]);

/// Comet, "Configure the SDK": no server.
pub(crate) const COMET: &Keys = &Keys::Only(&[(Word, &["comet/project_name", "comet/workspace"])]);

/// Matplotlib, "The matplotlibrc file": neither the programs of animations nor their arguments, which say what is written, and no backend but
/// its own.
pub(crate) const MATPLOTLIB: &Keys = &Keys::AllBut(
    &[
        "animation.avconv_args", "animation.avconv_path", "animation.convert_args", "animation.convert_path",
        "animation.ffmpeg_args", "animation.ffmpeg_path", "animation.mencoder_args",
        "animation.mencoder_path",
    ],
    &[(Without("module:"), &["backend"])],
);

/// `JMeter`, "Properties Reference": neither scripts, nor where programs are loaded from, nor the directory of `keytool`.
pub(crate) const JMETER: &Keys = &Keys::AllBut(
    &[
        "beanshell.assertion.init", "beanshell.function.init", "beanshell.init.file",
        "beanshell.listener.init", "beanshell.postprocessor.init", "beanshell.preprocessor.init",
        "beanshell.sampler.init", "beanshell.server.file", "beanshell.server.port", "beanshell.timer.init",
        "groovy.utilities", "jsr223.init.file", "keytool.directory", "plugin_dependency_paths",
        "search_paths", "template.files", "user.classpath",
    ],
    &[],
);

/// Infisical CLI, "infisical init": no `domain`.
pub(crate) const INFISICAL: &Keys = &Keys::Only(&[
    (Word, &["defaultEnvironment", "workspaceId"]),
    (Text, &["defaultSecretPath", "gitBranchToEnvironmentMapping/**"]),
]);

/// Lando, "Landofile": no plugins, and no commands on the host, as which `:host` counts.
pub(crate) const LANDO: &Keys = &Keys::Only(&[
    (Word, &["name", "recipe", "version"]),
    (Pattern, &["compose", "env_file", "excludes"]),
    (Text, &["config", "proxy", "services"]),
    (Without("host"), &["events", "tooling"]),
]);

/// DDEV, "Config Options": no hooks on the host, and no arguments of other programs.
pub(crate) const DDEV: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "additional_fqdns", "additional_hostnames", "composer_version", "corepack_enable",
            "dbimage_extra_packages", "ddev_version_constraint", "disable_settings_management",
            "fail_on_hook_fail", "mailpit_http_port", "mailpit_https_port", "name", "nodejs_version",
            "omit_containers", "performance_mode", "php_version", "project_tld", "router_http_port",
            "router_https_port", "type", "use_dns_when_possible", "webimage_extra_packages",
            "webserver_type", "xdebug_enabled", "xhgui_http_port", "xhgui_https_port", "xhprof_mode",
        ],
    ),
    (Words, &["database"]),
    (Pattern, &["composer_root", "docroot", "upload_dirs", "working_dir"]),
    (Model, &["timezone"]),
    (Text, &["web_environment", "web_extra_daemons"]),
    (Without("host"), &["hooks"]),
]);

/// `ModelSim` User's Manual, "modelsim.ini Variables": neither commands at the start nor libraries and compilers of C.
pub(crate) const MODELSIM: &Keys = &Keys::AllBut(
    &[
        "CppOptions", "CppPath", "DpiCppInstall", "DpiCppPath", "GlobalSharedObjectList",
        "GlobalSharedObjectsList", "Startup", "Veriuser",
    ],
    &[],
);

/// Rush, "rush-plugins.json": no plugin.
pub(crate) const RUSH_PLUGINS: &Keys = &Keys::Only(&[
    (Is("https://developer.microsoft.com/json-schemas/rush/v5/rush-plugins.schema.json"), &["$schema"]),
    (Is(""), &["plugins"]),
]);

/// Sentry CLI, "Configuration": neither the server nor the proxy.
pub(crate) const SENTRY: &Keys = &Keys::Only(&[(Word, &["defaults/org", "defaults/project"])]);

/// Weights & Biases, "Settings": no server, and no directory.
pub(crate) const WANDB: &Keys =
    &Keys::Only(&[(Word, &["default/disabled", "default/entity", "default/mode", "default/project"])]);

/// P4 Command-Line Reference, "Environment and registry variables": neither the server nor a program or another file of variables.
pub(crate) const PERFORCE: &Keys = &Keys::Only(&[
    (Word, &["P4CHARSET", "P4CLIENT", "P4COMMANDCHARSET", "P4HOST", "P4LANGUAGE", "P4USER"]),
    (Pattern, &["P4IGNORE"]),
]);

/// git-buildpackage, gbp.conf(5): no hook, builder, cleaner, editor, or option of another program, and no directory.
pub(crate) const GBP: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "*/compression", "*/compression-level", "*/component", "*/dist", "*/filter-pristine-tar",
            "*/full", "*/id-length", "*/ignore-branch", "*/ignore-new", "*/merge", "*/merge-mode",
            "*/multimaint-merge", "*/no-create-orig", "*/patch-num-format", "*/patch-numbers",
            "*/pristine-tar", "*/pristine-tar-commit", "*/purge", "*/rollback", "*/sign-tags",
            "*/submodules", "*/track", "*/urgency",
        ],
    ),
    (Pattern, &["*/debian-branch", "*/pq-from", "*/upstream-branch", "*/upstream-tree"]),
    (Text, &["*/debian-tag", "*/debian-tag-msg", "*/upstream-tag", "*/upstream-vcs-tag"]),
]);

/// Breezy, "Configuration Settings": where branches are, and no command, hook or option of another program.
pub(crate) const BREEZY: &Keys = &Keys::Only(&[
    (Word, &["append_revisions_only", "bound", "create_signatures"]),
    (
        Text,
        &["bound_location", "nickname", "parent_location", "public_branch", "push_location", "submit_branch"],
    ),
]);

/// west, "Configuration": no alias, and neither an option nor the program of a command.
pub(crate) const WEST: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "build/board", "build/board_warn", "build/generator", "build/guess-dir", "build/pristine",
            "build/sysbuild", "color/ui", "flash/rebuild", "manifest/group-filter",
            "manifest/project-filter", "update/fetch", "update/narrow", "update/sync-submodules",
            "zephyr/base-prefer",
        ],
    ),
    (Pattern, &["manifest/file", "manifest/path", "zephyr/base"]),
]);

/// FVM, "Configuration": no `cachePath`, from which it runs Flutter.
pub(crate) const FVM: &Keys = &Keys::Only(&[(
    Word,
    &[
        "flavors/**", "flutter", "flutterSdkVersion", "runPubGetOnSdkChanges", "updateGitIgnore",
        "updateVscodeSettings",
    ],
)]);

/// Dagger, "Module configuration": which engine it is must be a version, which it is to mise.
pub(crate) const DAGGER: &Keys = &Keys::Only(&[
    (Word, &["disableDefaultFunctionCaching", "engineVersion"]),
    (
        Text,
        &[
            "$schema", "blueprint/**", "clients/**", "codegen/**", "dependencies/**", "description",
            "exclude", "include", "name", "sdk", "sdk/**", "source", "toolchains/**", "views/**",
        ],
    ),
]);

/// pyOCD, "Configuration" and "Options": neither scripts nor what is below `probes`.
pub(crate) const PYOCD: &Keys = &Keys::Only(&[(
    Word,
    &[
        "auto_unlock", "chip_erase", "connect_mode", "fast_program", "frequency", "gdbserver_port",
        "hide_programming_progress", "keep_unwritten", "reset_type", "resume_on_disconnect", "smart_flash",
        "target_override", "telnet_port", "vector_catch",
    ],
)]);

/// Arduino CLI, "Sketch project file": no server.
pub(crate) const ARDUINO_SKETCH: &Keys = &Keys::Only(&[
    (Text, &["default_fqbn", "default_port", "default_profile", "default_programmer", "default_protocol"]),
    (Without("platform_index_url"), &["profiles"]),
]);

/// PHP, "List of php.ini directives": limits and how errors are shown, in any section.
pub(crate) const PHP: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "display_errors", "display_startup_errors", "log_errors", "max_execution_time",
            "max_file_uploads", "max_input_time", "max_input_vars", "memory_limit", "opcache.enable",
            "opcache.enable_cli", "post_max_size", "realpath_cache_size", "realpath_cache_ttl",
            "short_open_tag", "upload_max_filesize", "zend.assertions", "*/display_errors",
            "*/display_startup_errors", "*/log_errors", "*/max_execution_time", "*/max_file_uploads",
            "*/max_input_time", "*/max_input_vars", "*/memory_limit", "*/opcache.enable",
            "*/opcache.enable_cli", "*/post_max_size", "*/realpath_cache_size", "*/realpath_cache_ttl",
            "*/short_open_tag", "*/upload_max_filesize", "*/zend.assertions",
        ],
    ),
    (Model, &["*/date.timezone", "date.timezone"]),
]);

/// Rush, "rush.json": versions that are no package of another name, and no hooks. Some versions hand over a remote and a branch to git,
/// so that one may be an option.
pub(crate) const RUSH: &Keys = &Keys::Only(&[
    (Word, &["npmVersion", "pnpmVersion", "rushVersion", "yarnVersion"]),
    (
        Text,
        &[
            "$schema", "allowMostlyStandardPackageNames", "allowedProjectTags", "approvedPackagesPolicy/**",
            "ensureConsistentVersions", "gitPolicy/**", "hotfixChangeEnabled",
            "nodeSupportedVersionInstructions", "nodeSupportedVersionRange", "projectFolderMaxDepth",
            "projectFolderMinDepth", "projects/**", "repository/url", "repository/urls",
            "suppressNodeLtsWarning", "suppressRushIsPublicVersionCheck", "telemetryEnabled", "variants/**",
        ],
    ),
    (Model, &["repository/defaultBranch", "repository/defaultRemote"]),
]);

/// Ansible, "Collection Galaxy metadata structure": without the key that makes a project a collection.
pub(crate) const GALAXY: &Keys = &Keys::Only(&[(
    Text,
    &[
        "authors", "build_ignore", "dependencies", "description", "documentation", "homepage", "issues",
        "license", "license_file", "manifest", "name", "readme", "repository", "tags", "version",
    ],
)]);

/// WP-CLI, "Config": neither what it loads nor where else it runs, and of its server no `config`, which names the settings of PHP.
pub(crate) const WP_CLI: &Keys = &Keys::Only(&[
    (Word, &["apache_modules", "color", "debug", "quiet"]),
    (Pattern, &["path"]),
    (Without("config"), &["server"]),
]);

/// Graphite: what it gives to git as a word, and asks its server about. The rest are numbers, and what it remembers of its own.
pub(crate) const GRAPHITE: &Keys = &Keys::AllBut(
    &[],
    &[
        (Word, &["host", "owner", "remote"]),
        // A branch, too.
        (Model, &["name", "trunk"]),
        (Pattern, &["userSelectedTemplatePath"]),
    ],
);

/// `GitButler`, `Target` of its virtual branches: what it gives to git as the name of a remote. The rest are branches, and what it remembers.
pub(crate) const GITBUTLER: &Keys = &Keys::AllBut(&[], &[(Word, &["pushRemoteName", "remoteName"])]);

/// beads, internal/config: no database, file or repository elsewhere, no remote, and no server. What a key holds may be indented below it.
pub(crate) const BEADS: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "actor",
            "auto-start-daemon",
            "backup.enabled",
            "backup.git-push",
            "backup.interval",
            "create.require-description",
            "dolt.auto-commit",
            "dolt.auto-start",
            "dolt.debug",
            "dolt.max-conns",
            "events-export",
            "export.auto",
            "export.git-add",
            "export.interval",
            "flush-debounce",
            "git.no-gpg-sign",
            "hierarchy.max-depth",
            "import.auto",
            "issue-prefix",
            "json",
            "no-auto-flush",
            "no-auto-import",
            "no-daemon",
            "no-db",
            "no-git-ops",
            "no-hooks",
            "no-push",
            "output.title-length",
            "prefix",
            "routing.mode",
            "sync.require_confirmation_on_mass_delete",
            "validation.metadata.mode",
            "validation.on-close",
            "validation.on-create",
            "validation.on-sync",
        ],
    ),
    (Model, &["ai.model", "sync-branch", "sync.branch"]),
    (Is("issues.jsonl"), &["export.path", "import.path"]),
    (Text, &["create", "directory", "git.author", "hierarchy", "identity", "output", "validation"]),
    (
        Lines(&[
            "auto: false", "auto: true", "git-add: false", "git-add: true", "interval: 60s",
            "path: \"issues.jsonl\"", "path: issues.jsonl",
        ]),
        &["export", "import"],
    ),
    (
        Lines(&[
            "enabled: false", "enabled: true", "git-push: false", "git-push: true", "git-repo: \"\"",
            "interval: 15m",
        ]),
        &["backup"],
    ),
]);

/// beads, internal/configfile: neither the socket of a server nor a directory of data, and no server but one of this machine.
pub(crate) const BEADS_METADATA: &Keys = &Keys::Only(&[
    (
        Word,
        &[
            "backend", "database", "deletions_retention_days", "dolt_database", "dolt_mode",
            "dolt_remotesapi_port", "dolt_server_port", "dolt_server_tls", "dolt_server_user",
            "global_dolt_database", "global_project_id", "last_bd_version", "project_id",
            "stale_closed_issues_days",
        ],
    ),
    (Is("127.0.0.1"), &["dolt_server_host"]),
    (Is("issues.jsonl"), &["jsonl_export"]),
]);

/// git-ai, `RepoHookState`: no directory of hooks but its own.
pub(crate) const GIT_AI: &Keys = &Keys::AllBut(
    &[],
    &[(Is(""), &["forward_hooks_path", "original_local_hooks_path", "previous_hooks_path"])],
);

/// Sapling, `translate_git_config`: no remotes, which are sent to.
pub(crate) const SAPLING_OF_GIT: &Keys =
    &Keys::Only(&[(Text, &["ui/username"]), (Word, &["submodule/active", "submodule/*"])]);

/// TAKT, docs/configuration.md: no permissions, and nothing that lets workflows run more.
pub(crate) const TAKT: &Keys = &Keys::Only(&[
    (Word, &["auto_pr", "base_branch", "concurrency", "language", "provider"]),
    (Model, &["model"]),
]);

/// AWS CLI, "Configuration and credential file settings": no program, no server, and no file.
pub(crate) const AWS: &Keys = &Keys::Only(&[(Word, &["default/output", "default/region"])]);

/// Docker, "Configuration files": neither plugins nor the programs that keep credentials, and no proxies.
pub(crate) const DOCKER: &Keys =
    &Keys::Only(&[(Word, &["experimental"]), (Text, &["auths/**", "imagesFormat", "psFormat"])]);

/// Voilà, "Customizing": how notebooks look.
pub(crate) const VOILA: &Keys = &Keys::Only(&[(
    Word,
    &["VoilaConfiguration/strip_sources", "VoilaConfiguration/template", "VoilaConfiguration/theme"],
)]);

/// nbconvert, "Creating Custom Templates for nbconvert": no classes that it calls, and no template to look in after this one. One of its own
/// is none the better: the rows of templates list what is looked for where each is followed by those that nbconvert has after it.
pub(crate) const NBCONVERT: &Keys = &Keys::AllBut(&["base_template", "preprocessors"], &[]);
