//! Settings that run nothing, of linters, formatters, scanners and other tools that hooks and editors start.

use super::Keys;
use super::ValueType::{Begins, Is, Lines, Pattern, Text, Without, Word, Words};

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

/// `DataLad`, "Configuration": neither the commands of procedures nor other files.
pub(crate) const DATALAD: &Keys = &Keys::AllBut(&["call-format", "path"]);

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
    (Pattern, &["footer-from", "header-from"]),
    (Is(""), &["content"]),
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

/// Import Linter, "Custom contract types": classes that it loads.
pub(crate) const IMPORT_LINTER: &Keys = &Keys::AllBut(&["contract_types"]);

/// perlcritic, "CONFIGURATION": the pager and the spelling checker that it runs, and the settings of perltidy, which writes to a file
/// that they name.
pub(crate) const PERLCRITIC: &Keys = &Keys::AllBut(&["pager", "perltidyrc", "spell_command"]);

/// Vale, "Configuration": `Transform` is a program for XSLT, which reads and writes other files.
pub(crate) const VALE: &Keys = &Keys::AllBut(&["Transform"]);

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

/// Sentry CLI, "Configuration": neither the server nor the proxy.
pub(crate) const SENTRY: &Keys = &Keys::Only(&[(Word, &["defaults/org", "defaults/project"])]);

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

/// WP-CLI, "Config": neither what it loads nor where else it runs, and of its server no `config`, which names the settings of PHP.
pub(crate) const WP_CLI: &Keys = &Keys::Only(&[
    (Word, &["apache_modules", "color", "debug", "quiet"]),
    (Pattern, &["path"]),
    (Without("config"), &["server"]),
]);
