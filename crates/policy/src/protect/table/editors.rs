//! Rows of editors.

use super::{Files, Row, read_only};
use crate::judge::harmless;
use crate::judge::{Content, Format};

const RUN: Files = &[("*", Content::Run)];

const VIM: &str = "Vim, `:help exrc`; Neovim, `:help 'exrc'`";

const CONTAINER: Files = &[
    ("", Content::Settings(Format::Json, harmless::DEVCONTAINER)),
    ("*.json", Content::Settings(Format::Json, harmless::DEVCONTAINER)),
];

pub(super) const ROWS: &[Row] = &[
    read_only(
        ".vscode",
        "VS Code, Cursor, Windsurf and others made of it",
        "runs tasks when the folder is opened, programs and servers that settings name, and what was approved",
        "VS Code, \"Settings\", \"Tasks\" and \"Workspace Trust\"; CVE-2025-53773",
        &[
            ("settings.json", Content::Settings(Format::Json, harmless::VSCODE)),
            ("tasks.json", Content::Settings(Format::Json, harmless::VSCODE_TASKS)),
            ("c_cpp_properties.json", Content::Settings(Format::Json, harmless::VSCODE_CPP)),
            ("launch.json", Content::Harmless),
            ("extensions.json", Content::Harmless),
            ("mcp.json", Content::Settings(Format::Json, harmless::SERVERS)),
            ("*.json", Content::Settings(Format::Json, harmless::NOTHING)),
        ],
    ),
    read_only(
        "*.code-workspace",
        "VS Code, Cursor, Windsurf and others made of it",
        "the same as `.vscode`, for a workspace",
        "VS Code, \"Multi-root Workspaces\"",
        &[("", Content::Settings(Format::Json, harmless::VSCODE_WORKSPACE))],
    ),
    read_only(
        ".idea",
        "IDEs of JetBrains",
        "runs what is to start with the project, watchers of files, and interpreters",
        "IntelliJ IDEA, \"Startup tasks\", \"File watchers\" and \"Project security\"",
        &[("*.xml", Content::Idea), ("*.iml", Content::Idea)],
    ),
    read_only(
        ".zed",
        "Zed",
        "runs language servers, formatters and MCP servers that settings name",
        "Zed, \"Zed and trusted worktrees\"",
        &[
            ("settings.json", Content::Settings(Format::Json, harmless::ZED)),
            ("tasks.json", Content::Settings(Format::Json, harmless::ZED_TASKS)),
            ("debug.json", Content::Harmless),
            ("*.json", Content::Settings(Format::Json, harmless::NOTHING)),
        ],
    ),
    read_only(
        ".helix",
        "Helix",
        "runs language servers, formatters and shells that the configuration names",
        "Helix, \"Workspace trust\"",
        &[
            ("config.toml", Content::Settings(Format::Toml, harmless::HELIX)),
            ("languages.toml", Content::Settings(Format::Toml, harmless::HELIX_LANGUAGES)),
            ("*.scm", Content::Run),
        ],
    ),
    read_only(".nvim.lua", "Neovim", "runs it when started there, with `exrc` set", VIM, RUN),
    read_only(".nvimrc", "Neovim", "the same as `.nvim.lua`", VIM, RUN),
    read_only(".exrc", "vi, Vim, Neovim", "runs it when started there, with `exrc` set", VIM, RUN),
    read_only(".vimrc", "Vim", "the same as `.exrc`, and at every start in somebody's home", VIM, RUN),
    read_only(".gvimrc", "Vim", "the same as `.vimrc`", VIM, RUN),
    read_only(".lvimrc", "Vim, with localvimrc", "runs it for each file below", "localvimrc, README", RUN),
    read_only(
        ".dir-locals.el",
        "Emacs",
        "sets variables and evaluates forms when a file there is opened",
        "GNU Emacs Manual, \"Per-Directory Local Variables\"",
        RUN,
    ),
    read_only(".dir-locals-2.el", "Emacs", "the same as `.dir-locals.el`", "GNU Emacs Manual", RUN),
    read_only(
        "*.sublime-project",
        "Sublime Text",
        "runs build systems and language servers that it names",
        "Sublime Text, \"Projects\"; LSP, \"Project specific configuration\"",
        &[("", Content::Settings(Format::Json, harmless::SUBLIME))],
    ),
    read_only(
        ".kateproject",
        "Kate",
        "runs language servers and tools that it names",
        "Kate handbook, \"Project plugin\"",
        &[("", Content::Settings(Format::Json, harmless::KATE))],
    ),
    read_only(
        ".devcontainer",
        "VS Code and others, to open the folder in a container",
        "runs `initializeCommand` on the host, and shares directories of it",
        "Development Containers, \"devcontainer.json reference\"",
        CONTAINER,
    ),
    read_only(
        ".devcontainer.json",
        "VS Code and others, to open the folder in a container",
        "the same as `.devcontainer`",
        "Development Containers, \"devcontainer.json reference\"",
        CONTAINER,
    ),
];
