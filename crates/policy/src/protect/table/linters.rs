//! Rows of linters, formatters and scanners that hooks of git and editors start, and that load or write what their settings name.

use super::content::{ContentRule, FileFormat};
use super::harmless;
use super::row::{FileRules, NewFiles, ProtectRow, RUN, Treatment, classified, read_only};

const CMAKE_FORMAT: &str = "cmake-format and cmake-lint, in hooks and editors";

const CMAKE_FORMAT_DOCS: &str = "cmakelang, \"Configuration\"; cmakelang/format/__main__.py";

const CMAKE_FORMAT_INCLUDES: &str = "loads the files that it includes, also those that are Python";

const SYFT: &str = "Syft, \"Configuration\"";

const GRYPE: &str = "Grype, \"Configuration\"";

const WRITES: &str = "writes to the file that it names, by the template that it names";

const TERRAFORM_DOCS: &str = "terraform-docs, in its hook too";

const TERRAFORM_DOCS_CONFIG: &str = "terraform-docs, \"Configuration\"";

const TERRAFORM_DOCS_FILES: FileRules =
    &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::TERRAFORM_DOCS))];

const VALE: &str = "Vale, in editors when a file is saved";

const VALE_DOCS: &str = "Vale, \".vale.ini\"";

const VALE_EFFECT: &str = "transforms files by the style sheet that it names, which may read and write others, and sends text to the server that it \
                            names";

const VALE_PACKAGES_DOCS: &str = "Vale, \"Packages\" and \"StylesPath\"";

const VALE_PACKAGES_EFFECT: &str = "the same as `.vale.ini`, of the packages that it has loaded";

const VALE_PACKAGES: FileRules = &[("*.ini", ContentRule::Settings(FileFormat::Ini, harmless::tools::VALE))];

const VALE_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Ini, harmless::tools::VALE))];

const TRIVY: &str = "Trivy, \"Configuration file\"";

const NEOCMAKE: &str = "neocmakelsp, README";

const NEOCMAKE_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Toml, harmless::tools::NEOCMAKE))];

const GDTOOLKIT: &str = "gdlint and gdformat, in hooks too";

const GDTOOLKIT_EFFECT: &str = "makes the objects of Python that tags in it name";

const GDTOOLKIT_DOCS: &str = "gdtoolkit, gdtoolkit/linter/__main__.py; PyYAML, \"yaml.Loader\"";

const GDTOOLKIT_FILES: FileRules =
    &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::GDTOOLKIT))];

const LOADS_RULES: &str = "loads the rules that it names";

const CFN_LINT: &str = "cfn-lint, \"Config File\"";

const CFN_LINT_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::CFN_LINT))];

const CHECKOV: &str = "checkov, in its hook and in editors";

const CHECKOV_DOCS: &str = "Checkov, \"CLI Command Reference\" and \"Configuration\"";

const CHECKOV_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::CHECKOV))];

const REMARK: &str = "remark, in hooks and editors";

const REMARK_DOCS: &str = "unified-engine, \"Config files\"";

const PYMARKDOWN: &str = "PyMarkdown, \"Plugins\"";

const FIXIT: &str = "Fixit, \"Configuration\"";

const FIXIT_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Toml, harmless::tools::FIXIT))];

const LATEXINDENT: &str = "latexindent with `-l -r`, as editors may call it";

const LATEXINDENT_EFFECT: &str = "runs substitutions as Perl";

const LATEXINDENT_DOCS: &str = "latexindent.pl, \"The replacements field\"";

const LATEXINDENT_FILES: FileRules =
    &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::LATEXINDENT))];

#[rustfmt::skip]
pub(super) const ROWS: &[ProtectRow] = &[
    classified(&[".secrets.baseline"], "detect-secrets, in its hook too",
        "loads the Python that its plugins and filters name; the hook writes it, so it stays writable, and \
         is quarantined if it names any but those of detect-secrets",
        "detect-secrets, detect_secrets/settings.py",
        &[("", ContentRule::Settings(FileFormat::Json, harmless::tools::DETECT_SECRETS))]),
    read_only(&[".clang-tidy"], "clang-tidy and clangd, in hooks and editors",
        "gives a compiler the arguments in it, of which some write where they say, or load a library",
        "clang-tidy, \"Configuration files\"",
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::CLANG_TIDY))]),
    read_only(&[".cmake-format"], CMAKE_FORMAT, "runs it as Python, if it is no JSON and no YAML",
        CMAKE_FORMAT_DOCS,
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::CMAKE_FORMAT_OR_PYTHON))]),
    read_only(&[".cmake-format.json", "cmake-format.json"], CMAKE_FORMAT, CMAKE_FORMAT_INCLUDES,
        CMAKE_FORMAT_DOCS, &[("", ContentRule::Settings(FileFormat::Json, harmless::tools::CMAKE_FORMAT))]),
    read_only(&[".cmake-format.yaml", "cmake-format.yaml"], CMAKE_FORMAT, CMAKE_FORMAT_INCLUDES,
        CMAKE_FORMAT_DOCS, &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::CMAKE_FORMAT))]),
    read_only(&[".cmake-format.py", "cmake-format.py"], CMAKE_FORMAT, "runs it as Python", CMAKE_FORMAT_DOCS,
        RUN),
    read_only(&[".gersemirc"], "gersemi, in hooks and editors", "loads the extensions that it names",
        "gersemi, \"Configuration\"; gersemi/extensions.py",
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::GERSEMI))]),
    read_only(&[".syft.yaml"], "Syft", WRITES, SYFT,
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::SYFT))]),
    read_only(&[".syft.*", ".syft/config.*"], "Syft", "the same as `.syft.yaml`", SYFT, RUN),
    read_only(&[".grype.yaml"], "Grype", WRITES, GRYPE,
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::GRYPE))]),
    read_only(&[".grype.*", ".grype/config.*"], "Grype", "the same as `.grype.yaml`", GRYPE, RUN),
    read_only(&["trivy.yaml"], "Trivy, in editors too",
        "writes to the file that it names, by the template in it, loads modules, and sends what it finds to \
         the server that it names", TRIVY,
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::TRIVY))]),
    read_only(&[".terraform-docs.yml", ".terraform-docs.yaml", ".config/.terraform-docs.yml",
        ".config/.terraform-docs.yaml"], TERRAFORM_DOCS, WRITES, TERRAFORM_DOCS_CONFIG, TERRAFORM_DOCS_FILES),
    read_only(&[".tfdocs.d"], TERRAFORM_DOCS, "runs the plugins in it", "terraform-docs, \"Plugins\"", RUN),
    read_only(&[".tflint.hcl", ".tflint.json"], "tflint, in hooks and editors",
        "runs the plugins that it names", "TFLint, \"Configuring TFLint\"", RUN),
    read_only(&[".tflint.d"], "tflint, in hooks and editors", "runs the plugins in it",
        "TFLint, \"Configuring Plugins\"", RUN),
    read_only(&[".vale.ini", "_vale.ini", "vale.ini", "_vale"], VALE, VALE_EFFECT, VALE_DOCS, VALE_FILES),
    // Some projects have their styles in a directory of this name.
    ProtectRow {
        paths: &[".vale"],
        program: VALE,
        effect: VALE_EFFECT,
        source: VALE_DOCS,
        treatment: Treatment::ReadOnlyFile(NewFiles(&[
            ("", ContentRule::Settings(FileFormat::Ini, harmless::tools::VALE)),
            ("*", ContentRule::Harmless),
        ])),
    },
    read_only(&[".github/styles/.vale-config", "styles/.vale-config"], VALE, VALE_PACKAGES_EFFECT,
        VALE_PACKAGES_DOCS, VALE_PACKAGES),
    read_only(&[".yardoc"], "yard, and solargraph", "loads the objects of Ruby in it, which may run anything",
        "YARD, YARD::Serializers::YardocSerializer; Ruby, Marshal.load", RUN),
    read_only(&[".importlinter"], "lint-imports, in its hook too",
        "imports the packages that it names, and the types of contracts",
        "Import Linter, \"Top level configuration\" and \"Custom contract types\"", RUN),
    read_only(&["gdlintrc", ".gdlintrc", "gdformatrc", ".gdformatrc"], GDTOOLKIT, GDTOOLKIT_EFFECT,
        GDTOOLKIT_DOCS, GDTOOLKIT_FILES),
    read_only(&[".cfnlintrc", ".cfnlintrc.yaml", ".cfnlintrc.yml"], "cfn-lint, in its hook too", LOADS_RULES,
        CFN_LINT, CFN_LINT_FILES),
    read_only(&[".pymarkdown"], "PyMarkdown, in its hook too", "loads the plugins that it names", PYMARKDOWN,
        &[("", ContentRule::Settings(FileFormat::Json, harmless::tools::PYMARKDOWN))]),
    read_only(&[".pymarkdown.yaml", ".pymarkdown.yml"], "PyMarkdown, in its hook too",
        "the same as `.pymarkdown`", PYMARKDOWN, RUN),
    read_only(&["robocop.toml", ".robocop"], "robocop, in its hook and in editors",
        "loads the rules, reports and languages that it names", "Robocop, \"Configuration\"", RUN),
    read_only(&["robot.toml"], "robocop, and RobotCode in editors",
        "loads the rules, listeners and modifiers that it names",
        "Robocop, \"Configuration\"; RobotCode, \"Configuration\"", RUN),
    read_only(&["fixit.toml", ".fixit.toml"], "fixit, in its hook and in editors", LOADS_RULES, FIXIT,
        FIXIT_FILES),
    read_only(&[".mdlrc"], "mdl, in its hook too", "runs it, and the style that it names, as Ruby",
        "markdownlint (mdl), \"Configuration\"", RUN),
    read_only(&[".puppet-lint.rc"], "puppet-lint, in editors too",
        "takes arguments from it, of which `--load` runs Ruby", "puppet-lint, README", RUN),
    read_only(&[".pyre_configuration", ".pyre_configuration.local"], "pyre, in editors too",
        "runs the `binary` that it names", "Pyre, \"Configuration\"", RUN),
    read_only(&[".yardopts"], "yard",
        "takes arguments from it, of which `-e` loads a file of Ruby, also where it only counts",
        "YARD, \"Getting Started\", .yardopts", RUN),
    read_only(&["latexindent.yaml", ".latexindent.yaml", "localSettings.yaml", ".localSettings.yaml"],
        LATEXINDENT, LATEXINDENT_EFFECT, LATEXINDENT_DOCS, LATEXINDENT_FILES),
    read_only(&["lychee.toml"], "lychee, in its hook too", "runs the preprocessor that it names",
        "lychee, \"Preprocessing\"",
        &[("", ContentRule::Settings(FileFormat::Toml, harmless::tools::LYCHEE))]),
    read_only(&[".erb_linters"], "erb_lint, in editors too", "loads each `.rb` in it", "erb_lint, README",
        RUN),
    read_only(&[".perlcriticrc"], "perlcritic, in hooks and editors",
        "runs the pager and the spelling checker that it names, and perltidy with the settings that it names",
        "perlcritic(1); Perl::Critic::Policy::CodeLayout::RequireTidyCode and ::Documentation::PodSpelling",
        &[("", ContentRule::Settings(FileFormat::Ini, harmless::tools::PERLCRITIC))]),
    read_only(&[".checkov.yaml", ".checkov.yml"], CHECKOV, LOADS_RULES, CHECKOV_DOCS, CHECKOV_FILES),
    read_only(&[".remarkrc"], REMARK, "loads the plugins that it names", REMARK_DOCS, RUN),
    read_only(&[".remarkrc.*"], REMARK, "loads it, and the plugins that it names", REMARK_DOCS, RUN),
    read_only(&[".phan/config.php"], "phan, in editors too",
        "runs it as PHP, and loads the plugins that it names", "Phan, \"Phan Config Settings\"", RUN),
    read_only(&[".streerc"], "stree of syntax_tree, in editors too",
        "takes arguments from it, of which `--plugins` loads Ruby", "syntax_tree, README", RUN),
    classified(&[".dmypy.json"], "dmypy of mypy, in editors too",
        "ends the process with the number in it, or talks to the socket that it names; dmypy writes it, so \
         it stays writable, and is quarantined if it is new or has changed",
        "mypy, \"Mypy daemon\"; mypy/dmypy/client.py", RUN),
    read_only(&["sgconfig.yml"], "ast-grep, in editors too", "loads the libraries of languages that it names",
        "ast-grep, \"sgconfig.yml reference\"",
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::SGCONFIG))]),
    read_only(&[".topiary"], "topiary, in hooks and editors",
        "loads the grammars that its configuration names", "Topiary, \"Configuration\"", RUN),
    read_only(&[".trunk"], "Trunk Check, in its hooks and in editors",
        "runs linters, actions and plugins that `trunk.yaml` names",
        "Trunk, \"Configuration\" and \"Actions\"", RUN),
    read_only(&[".qlty/qlty.toml"], "qlty, in its hooks too", "runs the scripts of plugins that it names",
        "Qlty, \"qlty.toml\" and \"Git hooks\"", RUN),
    read_only(&[".neocmake.toml", ".neocmakelint.toml"], "neocmakelsp", "runs the formatter that it names",
        NEOCMAKE, NEOCMAKE_FILES),
    read_only(&["PSScriptAnalyzerSettings.psd1"], "PSScriptAnalyzer, in editors when a file is opened",
        "loads the rules that it names", "PSScriptAnalyzer, \"Using PSScriptAnalyzer\", `CustomRulePath`",
        RUN),
    read_only(&["treefmt.toml", ".treefmt.toml"], "treefmt, in hooks and editors",
        "runs the formatters that it names", "treefmt, \"Configure\"", RUN),
    read_only(&["gcovr.cfg"], "gcovr",
        "runs the `gcov-executable` that it names, and writes where it says", "gcovr, \"Configuration File\"",
        &[("", ContentRule::Settings(FileFormat::Ini, harmless::tools::GCOVR))]),
    read_only(&["sorbet/config"], "srb, in editors when the project is opened",
        "takes arguments from it, of which some name files that it writes",
        "Sorbet, \"Command Line Options\"", RUN),
    read_only(&["sonar-project.properties"], "SonarScanner",
        "sends its token and the code to the server that it names, and runs what that server sends",
        "SonarScanner, \"Analysis parameters\"",
        &[("", ContentRule::Settings(FileFormat::Ini, harmless::tools::SONAR))]),
    read_only(&[".sentryclirc"], "sentry-cli", "sends its token to the server that it names",
        "Sentry CLI, \"Configuration and Authentication\"",
        &[("", ContentRule::Settings(FileFormat::Ini, harmless::tools::SENTRY))]),
    read_only(&[".wandb/settings", "wandb/settings"], "wandb", "sends its key and what is recorded to the server that it names",
        "Weights & Biases, \"Settings\"",
        &[("", ContentRule::Settings(FileFormat::Ini, harmless::tools::WANDB))]),
];
