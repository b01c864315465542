//! Rows of what Ansible loads from the directory of a playbook.

use super::content::{ContentRule, FileFormat};
use super::harmless;
use super::row::{FileRules, NewFiles, ProtectRow, RUN, Treatment, classified, read_only};

const PROGRAM: &str = "ansible, and ansible-lint in editors when a playbook is opened";

const DOCS: &str = "Ansible, \"Adding modules and plugins locally\"";

const LINT: &str = "ansible-lint, in hooks, and in editors when a playbook is opened";

const LINT_DOCS: &str = "Ansible Lint, \"Configuration\"";

const LINT_CACHE: &str = "Ansible Lint, \"Using\", \"Cache\"";

const LINT_EFFECT: &str = "loads modules of Python as rules from the directories that it names";

const LINT_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::ANSIBLE_LINT))];

const NAVIGATOR: &str = "ansible-navigator, \"Settings\"";

const NAVIGATOR_EFFECT: &str =
    "runs the editor that it names, and shares the directories that it names with containers";

/// Makes a row of a directory of plugins beside a playbook.
const fn plugins(path: &'static str) -> ProtectRow {
    let files = NewFiles(&[("*.md", ContentRule::Harmless)]);
    ProtectRow {
        path,
        program: PROGRAM,
        effect: "loads modules of Python in it: of some kinds each one, of the others those that a playbook names",
        source: DOCS,
        treatment: Treatment::ReadOnly(files),
    }
}

pub(super) const ROWS: &[ProtectRow] = &[
    plugins("action_plugins"),
    plugins("become_plugins"),
    plugins("cache_plugins"),
    plugins("callback_plugins"),
    plugins("cliconf_plugins"),
    plugins("connection_plugins"),
    plugins("doc_fragments"),
    plugins("filter_plugins"),
    plugins("httpapi_plugins"),
    plugins("inventory_plugins"),
    plugins("lookup_plugins"),
    plugins("module_utils"),
    plugins("netconf_plugins"),
    plugins("shell_plugins"),
    plugins("strategy_plugins"),
    plugins("terminal_plugins"),
    plugins("test_plugins"),
    plugins("vars_plugins"),
    read_only(
        "collections/ansible_collections",
        PROGRAM,
        "loads the plugins of collections in it",
        "Ansible, \"Using collections in a playbook\"",
        RUN,
    ),
    read_only(".ansible/collections", LINT, "loads the plugins of collections in it", LINT_CACHE, RUN),
    read_only(".ansible/modules", LINT, "loads the modules in it", LINT_CACHE, RUN),
    read_only(".ansible/roles", LINT, "loads the plugins of roles in it", LINT_CACHE, RUN),
    classified(
        "galaxy.yml",
        LINT,
        "installs the project as a collection, whose `plugins` it then loads; it stays writable, and is moved aside if it newly has a `namespace`, \
                 without which there is no collection, or a setting that is not known",
        "Ansible Lint, \"Using\"; Ansible, \"Collection Galaxy metadata structure\"",
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::GALAXY))],
    ),
    read_only(".ansible-lint", LINT, LINT_EFFECT, LINT_DOCS, LINT_FILES),
    read_only(".ansible-lint.yaml", LINT, "the same as `.ansible-lint`", LINT_DOCS, LINT_FILES),
    read_only(".ansible-lint.yml", LINT, "the same as `.ansible-lint`", LINT_DOCS, LINT_FILES),
    read_only(".config/ansible-lint.yaml", LINT, "the same as `.ansible-lint`", LINT_DOCS, LINT_FILES),
    read_only(".config/ansible-lint.yml", LINT, "the same as `.ansible-lint`", LINT_DOCS, LINT_FILES),
    read_only("ansible-navigator.json", "ansible-navigator", NAVIGATOR_EFFECT, NAVIGATOR, RUN),
    read_only("ansible-navigator.yaml", "ansible-navigator", NAVIGATOR_EFFECT, NAVIGATOR, RUN),
    read_only("ansible-navigator.yml", "ansible-navigator", NAVIGATOR_EFFECT, NAVIGATOR, RUN),
];
