//! Rows of what Ansible loads from the directory of a playbook.

use super::content::{ContentRule, FileFormat};
use super::harmless;
use super::row::{FileRules, ProtectRow, RUN, classified, read_only};

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

#[rustfmt::skip]
pub(super) const ROWS: &[ProtectRow] = &[
    read_only(&["action_plugins", "become_plugins", "cache_plugins", "callback_plugins", "cliconf_plugins",
        "connection_plugins", "doc_fragments", "filter_plugins", "httpapi_plugins", "inventory_plugins",
        "lookup_plugins", "module_utils", "netconf_plugins", "shell_plugins", "strategy_plugins",
        "terminal_plugins", "test_plugins", "vars_plugins"], PROGRAM,
        "loads modules of Python in it: of some kinds each one, of the others those that a playbook names",
        DOCS, &[("*.md", ContentRule::Text)]),
    read_only(&["collections/ansible_collections"], PROGRAM, "loads the plugins of collections in it",
        "Ansible, \"Using collections in a playbook\"", RUN),
    read_only(&[".ansible/collections"], LINT, "loads the plugins of collections in it", LINT_CACHE, RUN),
    read_only(&[".ansible/modules"], LINT, "loads the modules in it", LINT_CACHE, RUN),
    read_only(&[".ansible/roles"], LINT, "loads the plugins of roles in it", LINT_CACHE, RUN),
    classified(&["galaxy.yml"], LINT,
        "installs the project as a collection, whose `plugins` it then loads; it stays writable, and is \
         quarantined if it newly has a `namespace`, without which there is no collection, or a setting that \
         is not known", "Ansible Lint, \"Using\"; Ansible, \"Collection Galaxy metadata structure\"",
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::GALAXY))]),
    read_only(&[".ansible-lint", ".ansible-lint.yaml", ".ansible-lint.yml", ".config/ansible-lint.yaml",
        ".config/ansible-lint.yml"], LINT, LINT_EFFECT, LINT_DOCS, LINT_FILES),
    read_only(&["ansible-navigator.json", "ansible-navigator.yaml", "ansible-navigator.yml"],
        "ansible-navigator", NAVIGATOR_EFFECT, NAVIGATOR, RUN),
];
