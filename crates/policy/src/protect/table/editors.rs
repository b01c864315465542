//! Rows of editors.

use super::content::{ContentRule, FileFormat};
use super::harmless;
use super::row::{EXISTS, FileRules, NewFiles, ProtectRow, RUN, Treatment, classified, read_only};

const AT_HOME: &str = "runs it at its start, where this is a home directory";

const EMACS: &str = "GNU Emacs Manual, \"The Emacs Initialization File\"";

const VIM: &str = "Vim, `:help exrc`; Neovim, `:help 'exrc'`";

const CONTAINER: FileRules = &[
    ("", ContentRule::Settings(FileFormat::Json, harmless::NOTHING)),
    ("*.json", ContentRule::Settings(FileFormat::Json, harmless::NOTHING)),
    // Nothing obeys these but what such a file names.
    ("*", ContentRule::Harmless),
];

const VSCODE: FileRules = &[
    ("settings.json", ContentRule::Settings(FileFormat::Json, harmless::VSCODE)),
    ("tasks.json", ContentRule::Settings(FileFormat::Json, harmless::VSCODE_TASKS)),
    ("launch.json", ContentRule::Harmless),
    ("extensions.json", ContentRule::Settings(FileFormat::Json, harmless::VSCODE_EXTENSIONS)),
    ("*.json", ContentRule::Settings(FileFormat::Json, harmless::NOTHING)),
    ("*.code-snippets", ContentRule::Harmless),
    ("*.md", ContentRule::Text),
];

const VIM_LOCALRC: &str = "Vim, with vim-localrc";

const VIM_LOCALRC_DOCS: &str = "vim-localrc, plugin/localrc.vim";

const IDEA: &str = "IntelliJ IDEA, \"Startup tasks\", \"File watchers\" and \"Project security\"";

const LUA: FileRules = &[("", ContentRule::Settings(FileFormat::Json, harmless::LUA))];

const LUA_DOCS: &str = "LuaLS, \"Configuration File\" and \"Plugins\"";

/// A file of which every setting counts.
const NO_JSON: FileRules = &[("", ContentRule::Settings(FileFormat::Json, harmless::NOTHING))];

const CTAGS: &str = "ctags, in editors too";

const CTAGS_DOCS: &str = "ctags(1), FILES";

const CTAGS_EFFECT: &str = "takes arguments from it, which say what it writes, and where";

const GTAGS: &str = "gtags(1), gtags.conf(5)";

const GTAGS_EFFECT: &str = "loads the parsers that it names";

const EMMY: &str = "EmmyLua Analyzer, \"External formatter options\"";

const LINTR: &str = "lintr, read_settings";

const JUPYTEXT: &str = "jupytext, in JupyterLab too";

const JUPYTEXT_DOCS: &str = "Jupytext, \"Configuration\"";

const JUPYTEXT_EFFECT: &str = "runs it when a notebook is opened or converted";

const NBCONVERT: &str = "nbconvert, in JupyterLab too";

const NBCONVERT_DOCS: &str =
    "nbconvert, \"Creating Custom Templates for nbconvert\"; nbconvert/exporters/templateexporter.py";

const KLS: &str = "kotlin-language-server, ShellClassPathResolver";

const KLS_EFFECT: &str = "runs it when a file is opened";

const PHPACTOR: &str = "Phpactor, \"Configuration\"";

const BUILD_SERVER: &str = "Build Server Protocol, \"Server discovery\"";

const KDEVELOP: &str = "KDevelop, \"Project configuration\"";

const ZK: &str = "zk, \"Configuration file\" and \"Template format\"";

const LINTER: &str = "runs it, also when an editor looks at a file";

const DART_CODE: &str = "VS Code, with its extensions for Dart and Flutter";

const DART_CODE_EFFECT: &str = "takes the directory for the SDK of Flutter, before the one in `PATH`, and runs it when the folder is opened";

const DART_CODE_DOCS: &str = "Dart-Code, src/extension/sdk/utils.ts, `flutterSdkSearchPaths`";

const COMPILE_COMMANDS: FileRules = &[("", ContentRule::CompileCommands)];

/// Makes a row of a list of options.
const fn compile_flags(
    paths: &'static [&'static str],
    program: &'static str,
    source: &'static str,
) -> ProtectRow {
    classified(
        paths,
        program,
        "takes each line as an option of a compiler; it stays writable, and is quarantined if one has a compiler load or run something or \
                 write where it says",
        source,
        &[("", ContentRule::CompileFlags)],
    )
}

#[rustfmt::skip]
pub(super) const ROWS: &[ProtectRow] = &[
    read_only(&[".lite_project.lua"], "Lite XL", "runs it as Lua when it opens the directory",
        "Lite XL, data/core/init.lua, `core.load_project_module`", RUN),
    classified(&["compile_commands.json", "build/compile_commands.json", "build/Debug/compile_commands.json",
        "build/Release/compile_commands.json", "bin/compile_commands.json"],
        "ALE for Vim when a file is opened; editors that run the compiler that it names",
        "gives a compiler most of the options in it; it stays writable, and is quarantined if one has a \
         compiler load or run something or write where it says, if a shell would work something out, or if a \
         compiler lies where no system has it",
        "ALE, `:help g:ale_c_parse_compile_commands`, `g:ale_c_build_dir_names`", COMPILE_COMMANDS),
    compile_flags(&["compile_flags.txt"],
        "clangd in editors when a file is opened, clang-tidy and other tools of clang",
        "clang, \"JSON Compilation Database Format Specification\", Alternatives"),
    compile_flags(&[".ccls"], "ccls, in editors when a file is opened", "ccls, \"Project Setup\""),
    compile_flags(&[".clang_complete"], "clang_complete for Vim, irony-mode for Emacs", "clang_complete, `:help clang_complete-.clang_complete`"),
    read_only(&[".asm-lsp.toml"], "asm-lsp, in editors when a file is opened or saved", "runs the compiler that it names", "asm-lsp, README", RUN),
    read_only(&[".nixd.json"], "nixd before 2.0, in editors", "runs the formatter that it names", "nixd, docs/user-guide.md", RUN),
    classified(&[".clangd"], "clangd, in editors when a file is opened",
        "adds the options in it to those of the compiler; it stays writable, and is quarantined if one has a \
         compiler load or run something or write where it says, or if it names another compiler, directory \
         or index", "clangd, \"Configuration\"", &[("", ContentRule::Clangd)]),
    classified(&[".editorconfig"], "Kakoune, with `editorconfig-load`",
        "writes the values of eight settings into a command of its own; it stays writable, and is \
         quarantined if one is no plain word", "Kakoune, rc/detection/editorconfig.kak",
        &[("", ContentRule::EditorConfig)]),
    read_only(&[".vscode"], "VS Code, Cursor, Windsurf and others made of it",
        "runs tasks when the folder is opened, programs and servers that settings name, and what was \
         approved", "VS Code, \"Settings\", \"Tasks\" and \"Workspace Trust\"; CVE-2025-53773", VSCODE),
    read_only(&["*.code-workspace"], "VS Code, Cursor, Windsurf and others made of it",
        "the same as `.vscode`, for a workspace", "VS Code, \"Multi-root Workspaces\"",
        &[("", ContentRule::Settings(FileFormat::Json, harmless::VSCODE_WORKSPACE))]),
    read_only(
        &[".idea"],
        "IDEs of JetBrains",
        "runs what is to start with the project, watchers of files, and interpreters",
        IDEA,
        &[
            (".name", ContentRule::Harmless),
            // Changes that were put off. Their lists name files that the IDE removes.


            ("shelf/*.patch", ContentRule::Harmless),
            ("*.xml", ContentRule::Idea),
            ("*.iml", ContentRule::Idea),
        ],
    ),
    read_only(&[".run"], "IDEs of JetBrains",
        "offers what it is to run beside what `.idea` has, with what is run before that",
        "IntelliJ IDEA, \"Run/debug configurations\"", &[("*.run.xml", ContentRule::Idea)]),
    read_only(&["*.iml"], "IDEs of JetBrains", "the same as `.idea`, for a module", IDEA,
        &[("", ContentRule::Idea)]),
    read_only(&["*.ipr", "*.iws"], "IDEs of JetBrains", "opens it as the project where there is no `.idea`",
        IDEA, &[("", ContentRule::Idea)]),
    read_only(&[".zed"], "Zed", "runs language servers, formatters and MCP servers that settings name",
        "Zed, \"Zed and trusted worktrees\"",
        &[("settings.json", ContentRule::Settings(FileFormat::Json, harmless::ZED)),
        ("tasks.json", ContentRule::Settings(FileFormat::Json, harmless::ZED_TASKS)),
        ("debug.json", ContentRule::Harmless),
        ("*.json", ContentRule::Settings(FileFormat::Json, harmless::NOTHING))]),
    read_only(&[".helix"], "Helix",
        "runs language servers, formatters and shells that the configuration names",
        "Helix, \"Workspace trust\"",
        &[("config.toml", ContentRule::Settings(FileFormat::Toml, harmless::HELIX)),
        ("languages.toml", ContentRule::Settings(FileFormat::Toml, harmless::HELIX_LANGUAGES))]),
    read_only(&[".nvim.lua", ".nvimrc"], "Neovim", "runs it when started there, with `exrc` set", VIM, RUN),
    read_only(&[".nexrc"], "nvi", "runs it when started there, with `exrc` set", "nvi, vi(1), FILES", RUN),
    read_only(&[".exrc"], "vi, Vim, Neovim", "runs it when started there, with `exrc` set", VIM, RUN),
    read_only(&[".vimrc", ".gvimrc"], "Vim", "the same as `.exrc`, and at every start in a home directory",
        VIM, RUN),
    read_only(&["Session.vim"],
        "Vim, with vim-startify's `g:startify_session_autoload`, or started by tmux-resurrect",
        "runs it when it is started in this directory",
        "vim-startify, `:help g:startify_session_autoload`; tmux-resurrect, \
         docs/restoring_vim_and_neovim_sessions.md", RUN),
    read_only(&[".lvimrc"], "Vim, with localvimrc", "runs it for each file below", "localvimrc, README", RUN),
    read_only(&[".local.vimrc"], VIM_LOCALRC, "runs it for each file below", VIM_LOCALRC_DOCS, RUN),
    read_only(&[".local.*.vimrc"], VIM_LOCALRC, "the same as `.local.vimrc`, for a kind of file",
        VIM_LOCALRC_DOCS, RUN),
    read_only(&[".dir-locals.el"], "Emacs", "sets variables and evaluates forms when a file there is opened",
        "GNU Emacs Manual, \"Per-Directory Local Variables\"", RUN),
    read_only(&[".emacs", ".emacs.el", ".emacs.elc", ".emacs.d", ".config/emacs"], "Emacs", AT_HOME, EMACS,
        RUN),
    read_only(&[".config/nvim"], "Neovim", AT_HOME, "Neovim, `:help config`", RUN),
    read_only(&[".config/vim"], "Vim", AT_HOME, "Vim, `:help vimrc`", RUN),
    read_only(&[".config/helix"], "Helix", "the same as `.helix`, where this is a home directory",
        "Helix, \"Configuration\"", RUN),
    read_only(&[".config/zed"], "Zed", "the same as `.zed`, where this is a home directory",
        "Zed, \"Configuring Zed\"", RUN),
    read_only(&["$TMPDIR"], "Neovim", "listens on a socket in it where the variable of this name is not set",
        "Neovim, `:help tempfile`", &[("", ContentRule::Exists), ("*", ContentRule::Exists)]),
    read_only(&[".dir-locals-2.el"], "Emacs", "the same as `.dir-locals.el`", "GNU Emacs Manual", RUN),
    // Indexes, which editors have made when a file is opened or saved.
    read_only(&[".ctags.d", "ctags.d"], CTAGS, CTAGS_EFFECT, CTAGS_DOCS, RUN),
    read_only(&[".ctags"], "ctags of Exuberant", CTAGS_EFFECT, "ctags(1) of Exuberant Ctags, FILES", RUN),
    read_only(&[".gutctags"], "ctags, by vim-gutentags", CTAGS_EFFECT, "vim-gutentags, README", RUN),
    read_only(&["obj/gtags.conf", "gtags.conf", ".globalrc"], "gtags, in editors too", GTAGS_EFFECT, GTAGS,
        RUN),
    read_only(&["*.sublime-project"], "Sublime Text", "runs build systems and language servers that it names",
        "Sublime Text, \"Projects\"; LSP, \"Project specific configuration\"",
        &[("", ContentRule::Settings(FileFormat::Json, harmless::SUBLIME))]),
    // Sublime Text writes it beside the project, with what each view has set.
    read_only(&["*.sublime-workspace"], "Sublime Text, when the project is opened",
        "restores views with the settings in it, from which packages take commands (`terminus_view.args`), and files that are open",
        "Sublime Text, \"Projects\"; Terminus, README, `terminus_view.reactivable`",
        &[("", ContentRule::Settings(FileFormat::Json, harmless::SUBLIME_WORKSPACE))]),
    read_only(&[".kateproject", ".kateproject.local"], "Kate",
        "runs language servers and tools that it names",
        "Kate handbook, \"Project plugin\"; Kate, addons/project/kateproject.cpp",
        &[("", ContentRule::Settings(FileFormat::Json, harmless::KATE))]),
    read_only(&[".devcontainer", ".devcontainer.json"],
        "VS Code and others, to open the folder in a container",
        "runs `initializeCommand` on the host, and the rest in a container that gets your keys and what \
         images and features ask for", "Development Containers, \"devcontainer.json reference\"", CONTAINER),
    read_only(&[".theia"], "Theia IDE", "the same as `.vscode`", "Theia, \"Preferences\" and \"Tasks\"",
        VSCODE),
    read_only(&[".fleet"], "Fleet", "runs programs that settings name",
        "Fleet, \"Settings\" and \"Run configurations\"",
        &[("*.json", ContentRule::Settings(FileFormat::Json, harmless::NOTHING))]),
    read_only(&[".nova/Configuration.json"], "Nova",
        "runs language servers and tools that settings of extensions name",
        "Nova, \"Extension configuration\"",
        &[("", ContentRule::Settings(FileFormat::Json, harmless::NOTHING))]),
    read_only(&[".factorypath"], "Eclipse, and VS Code with its Java extension",
        "loads the annotation processors that it names, when the project is opened",
        "Eclipse, org.eclipse.jdt.apt.core, \"Factory path\"", RUN),
    read_only(&[".settings"], "Eclipse, and VS Code with its Java extension",
        "takes settings from it, of which some turn on annotation processors, and some name programs",
        "Eclipse, \"Project-scoped preferences\"; org.eclipse.jdt.apt.core",
        &[("org.eclipse.core.resources.prefs", ContentRule::Harmless),
        ("org.eclipse.m2e.core.prefs", ContentRule::Harmless)]),
    read_only(&["*.kdev4", ".kdev4"], "KDevelop", "runs the tools that it names when the project is opened",
        KDEVELOP, RUN),
    read_only(&[".obsidian"], "Obsidian", "loads the plugins in it when the vault is opened",
        "Obsidian, \"Community plugins\" and \"Configuration folder\"", &[("app.json", ContentRule::Harmless),
        ("appearance.json", ContentRule::Harmless), ("graph.json", ContentRule::Harmless),
        ("workspace.json", ContentRule::Harmless), ("*.css", ContentRule::Harmless)]),
    read_only(&["logseq/custom.js"], "Logseq", "runs it when the graph is opened, once that was allowed",
        "Logseq, \"custom.js\"", RUN),
    read_only(&[".zk/config.toml"], "zk, in editors too",
        "runs the editor, finder, aliases and other programs that it names", ZK,
        &[("", ContentRule::Settings(FileFormat::Toml, harmless::NOTHING))]),
    read_only(&[".zk/templates"], "zk, in editors too", "runs the commands that templates hold (`{{sh}}`)",
        ZK, RUN),
    read_only(&["_vimrc_local.vim"], "Vim, with local_vimrc", "runs it for each file below",
        "local_vimrc, README", RUN),
    read_only(&[".project"], "Eclipse",
        "runs the builders that it names at each automatic build: programs, by a `*.launch` anywhere in the \
         project", "Eclipse, \"Project description file\" and \"External tool builders\"", RUN),
    read_only(&[".cproject"], "Eclipse, with CDT",
        "runs the compilers that it names, to ask them for their settings, and the commands of a build",
        "Eclipse CDT, \"Discovery Options properties\"", RUN),
    read_only(&[".classpath"], "Eclipse, and VS Code with its Java extension",
        "takes libraries from it, and directories that a build clears",
        "Eclipse, \"Java Build Path\"; org.eclipse.jdt.core, IClasspathEntry", RUN),
    read_only(&[".externalToolBuilders"], "Eclipse", "runs them at each automatic build",
        "Eclipse, \"External tool builders\"", RUN),
    read_only(&[".lazy.lua"], "Neovim, with lazy.nvim", "runs it when started there", "lazy.nvim, local_spec",
        RUN),
    read_only(&[".vim"], "Vim, also with coc.nvim",
        "runs it at its start, where this is a home directory; runs language servers and formatters that \
         `coc-settings.json` names", "Vim, `:help vimfiles`; coc.nvim, `:help coc-configuration`",
        &[("coc-settings.json", ContentRule::Settings(FileFormat::Json, harmless::COC)),
        ("*", ContentRule::Run)]),
    read_only(&[".joyride/scripts"], "VS Code, with Joyride",
        "runs `workspace_activate` when the folder is opened", "Joyride, \"Activation scripts\"", RUN),
    read_only(&[".lapce/settings.toml"], "Lapce",
        "takes settings of plugins from it, of which some run programs", "Lapce, \"Settings\"",
        &[("", ContentRule::Settings(FileFormat::Toml, harmless::NOTHING))]),
    read_only(&[".nlsp-settings"], "Neovim, with nlsp-settings", "the same as `.neoconf.json`",
        "nlsp-settings.nvim, README", RUN),
    read_only(&[".neoconf.json"], "Neovim, with neoconf",
        "takes settings of language servers from it, of which some run programs", "neoconf.nvim, README",
        &[("", ContentRule::Settings(FileFormat::Json, harmless::NOTHING))]),
    read_only(&[".vim-lsp-settings/settings.json"], "Vim, with vim-lsp-settings",
        "runs the language servers that it names when a file is opened", "vim-lsp-settings, README", NO_JSON),
    read_only(&[".calva/config.edn"], "VS Code, with Calva",
        "evaluates the snippets in it, also for what the mouse is over", "Calva, \"Custom REPL Commands\"",
        RUN),
    read_only(&[".crossnote"], "VS Code, with Markdown Preview Enhanced",
        "runs `config.js` and `parser.js`, before they had a sandbox, loads the plugins that `style.less` \
         names, and puts `head.html` into previews",
        "crossnote, README and CHANGELOG; Less, \"Plugin At-Rules\"",
        &[("*.css", ContentRule::Harmless), ("*.less", ContentRule::Less)]),
    // Eclipse has a directory of this name where Flutter has a file.
    read_only(&[".metadata/.plugins"], "Eclipse, where this is a workspace",
        "takes settings from it, of which some name programs, and what it starts when it opens",
        "Eclipse, \"Workspace\" and \"Preferences\"", RUN),
    // Where an SDK is, the rest of it is data that it writes itself.
    read_only(&["bin/flutter", ".flutter/bin/flutter", ".flutter/flutter", "vendor/flutter/bin/flutter", "vendor/flutter/flutter"],
        DART_CODE, DART_CODE_EFFECT, DART_CODE_DOCS, RUN),
    // A directory of this name is a project's own: only a symlink leads to an SDK.
    ProtectRow {
        paths: &["flutter"],
        program: DART_CODE,
        effect: "takes where it leads, as a symlink, for the SDK of Flutter, before the one in `PATH`, and runs it when the folder is opened",
        source: DART_CODE_DOCS,
        treatment: Treatment::ReadOnlyFile(NewFiles(&[("", ContentRule::Run), ("*", ContentRule::Harmless)])),
    },
    read_only(&[".jiri_root"], DART_CODE, "runs SDKs in the tree, as that of Fuchsia has them, when the folder is opened",
        "Dart-Code, src/extension/sdk/utils.ts, `findFuchsiaRoot`", EXISTS),
    read_only(&["dart/config/ide/flutter.json"], DART_CODE, "runs the SDK and the scripts that it names, where there is a `WORKSPACE`",
        "Dart-Code, src/shared/utils/workspace.ts, `tryProcessBazelFlutterConfig`", NO_JSON),
    // Language servers that editors start.
    classified(&[".metals/metals.mv.db"], "Metals",
        "opens it as a database of H2, whose triggers run Java; Metals writes it, so it stays writable, and \
         is quarantined if it is new or has changed",
        "Metals, \"Files and Directories\"; H2, \"CREATE TRIGGER\"", RUN),
    read_only(&[".ycm_extra_conf.py"], "Vim, with YouCompleteMe", "runs it when a file below is opened",
        "YouCompleteMe, README", RUN),
    read_only(&[".emmyrc.json"], "emmylua_ls", "runs the formatter that it names", EMMY, NO_JSON),
    read_only(&[".emmyrc.lua"], "emmylua_ls", "runs it when it starts", EMMY, RUN),
    read_only(&[".lsp/config.edn"], "clojure-lsp", "runs `classpath-cmd` when it starts",
        "clojure-lsp, \"Settings\"", RUN),
    read_only(&[".luacheckrc"], "luacheck", LINTER, "luacheck, \"Configuration file\"", RUN),
    read_only(&[".ocp-indent"], "ocp-indent", "loads the libraries that it names", "ocp-indent(1)", RUN),
    read_only(&[".hlint.yaml"], "hlint", "runs the program that `--with-refactor` names in it",
        "hlint, README", RUN),
    read_only(&[".perltidyrc"], "perltidy", "writes to the file that it names", "perltidy(1)", RUN),
    read_only(&[".luarc.json", ".luarc.jsonc"], "lua-language-server", "loads the plugin that it names",
        LUA_DOCS, LUA),
    read_only(&["hie.yaml"], "haskell-language-server",
        "runs the program or shell command that it names when a file is opened", "hie-bios, README", RUN),
    read_only(&[".hie-bios"], "haskell-language-server",
        "runs it when a file is opened, where there is no `hie.yaml`", "hie-bios, HIE.Bios.Cradle", RUN),
    read_only(&[".bsp"], "Metals, IntelliJ IDEA, sourcekit-lsp",
        "starts the build server that it names when the folder is opened", BUILD_SERVER,
        &[("*.json", ContentRule::BuildServer)]),
    read_only(&["buildServer.json"], "sourcekit-lsp", "the same as `.bsp`",
        "SourceKit-LSP, ExternalBuildServerAdapter", NO_JSON),
    read_only(&[".sourcekit-lsp/config.json"], "sourcekit-lsp",
        "takes arguments of compilers, of clangd and of `swift build` from it",
        "SourceKit-LSP, \"Configuration File\"", NO_JSON),
    read_only(&[".jedi"], "jedi, as editors use it", "runs the interpreter that it names",
        "jedi, \"Projects\"", &[("*", ContentRule::Run)]),
    read_only(&["pyrefly.toml", ".pyrefly.toml"], "pyrefly",
        "runs the interpreter and the build system that it names", "pyrefly, \"Configuration\"",
        &[("", ContentRule::Settings(FileFormat::Toml, harmless::PYREFLY))]),
    read_only(&["jupytext.py", ".jupytext.py"], JUPYTEXT, JUPYTEXT_EFFECT, JUPYTEXT_DOCS, RUN),
    classified(&["conf.json", "asciidoc/conf.json", "base/conf.json", "basic/conf.json", "classic/conf.json",
        "lab/conf.json", "latex/conf.json", "markdown/conf.json", "python/conf.json", "reveal/conf.json",
        "rst/conf.json", "script/conf.json", "webpdf/conf.json"], NBCONVERT,
        "calls the classes that it names (`preprocessors`) when it starts in this directory, and when a \
         notebook is opened; other programs have files of this name, so it stays writable, and is \
         quarantined if it newly names any, or a template to look in next (`base_template`)", NBCONVERT_DOCS,
        &[("", ContentRule::Settings(FileFormat::Json, harmless::tools::NBCONVERT))]),
    // Those that its own templates load, and no others: projects have directories of such names with templates of theirs.
    read_only(&["asciidoc/index.*.j2", "asciidoc/display_priority.j2", "asciidoc/base/null.j2",
        "base/base/display_priority.j2", "base/base/null.j2", "base/cell_id_anchor.j2", "base/celltags.j2",
        "base/classic/base.html.j2", "base/display_priority.j2", "base/jupyter_widgets.html.j2",
        "base/lab/base.html.j2", "base/mathjax.html.j2", "base/null.j2",
        "basic/base/null.j2", "basic/cell_id_anchor.j2", "basic/celltags.j2", "basic/classic/base.html.j2",
        "basic/display_priority.j2", "basic/index.*.j2",
        "classic/base.html.j2", "classic/base/null.j2", "classic/cell_id_anchor.j2", "classic/celltags.j2",
        "classic/classic/base.html.j2", "classic/display_priority.j2", "classic/index.*.j2",
        "classic/jupyter_widgets.html.j2", "classic/mathjax.html.j2",
        "lab/base.html.j2", "lab/base/null.j2", "lab/cell_id_anchor.j2", "lab/celltags.j2",
        "lab/display_priority.j2", "lab/index.*.j2", "lab/jupyter_widgets.html.j2", "lab/lab/base.html.j2",
        "lab/mathjax.html.j2", "lab/mermaidjs.html.j2",
        "latex/base.tex.j2", "latex/display_priority.j2", "latex/document_contents.tex.j2",
        "latex/index.*.j2", "latex/null.j2", "latex/style_jupyter.tex.j2",
        "markdown/base/display_priority.j2", "markdown/base/null.j2", "markdown/index.*.j2",
        "python/index.*.j2", "python/null.j2",
        "reveal/base.html.j2", "reveal/base/null.j2", "reveal/cell_id_anchor.j2", "reveal/cellslidedata.j2",
        "reveal/celltags.j2", "reveal/display_priority.j2", "reveal/index.*.j2",
        "reveal/jupyter_widgets.html.j2", "reveal/lab/base.html.j2", "reveal/mathjax.html.j2",
        "rst/base/null.j2", "rst/display_priority.j2", "rst/index.*.j2",
        "script/null.j2", "script/script.j2",
        "webpdf/base.html.j2", "webpdf/base/null.j2", "webpdf/cell_id_anchor.j2", "webpdf/celltags.j2",
        "webpdf/display_priority.j2", "webpdf/index.*.j2", "webpdf/jupyter_widgets.html.j2",
        "webpdf/mathjax.html.j2", "webpdf/mermaidjs.html.j2"], NBCONVERT,
        "takes it for its own template of that name when it converts a notebook in this directory, and \
         evaluates what is in it", NBCONVERT_DOCS, RUN),
    read_only(&[".lintr", ".lintr.R", ".github/linters/.lintr", ".github/linters/.lintr.R"],
        "lintr, in editors when a file is opened", "evaluates it as R", LINTR, RUN),
    read_only(&[".tern-project"], "tern, in editors when a file is opened", "loads the plugins that it names",
        "Tern, \"Project configuration\"", NO_JSON),
    read_only(&["erlang_ls.config", "erlang_ls.yaml"], "erlang_ls", "runs the commands of its `runtime`",
        "Erlang LS, \"Configuration\"", RUN),
    read_only(&["kls-classpath", "kls-classpath.*"], "kotlin-language-server", KLS_EFFECT, KLS, RUN),
    read_only(&["omnisharp.json"], "OmniSharp", "loads analyzers from where `LocationPaths` says",
        "OmniSharp, \"Configuration Options\"", NO_JSON),
    read_only(&["ols.json"], "ols of Odin", "runs the compiler that it names", "ols, README", NO_JSON),
    read_only(&["latexmkrc", ".latexmkrc"], "latexmk, in editors when a file is saved", "runs it as Perl",
        "latexmk(1)", RUN),
    read_only(&["rust-project.json"], "rust-analyzer",
        "takes it before `Cargo.toml`, loads the macros and runs the compiler that it names",
        "rust-analyzer, \"Non-Cargo Based Projects\"", NO_JSON),
    read_only(&[".rust-project.json"], "rust-analyzer", "the same as `rust-project.json`",
        "rust-analyzer, \"Non-Cargo Based Projects\"; project-model, ProjectManifest", NO_JSON),
    read_only(&["rust-analyzer.toml"], "rust-analyzer", "runs checkers and formatters that it names",
        "rust-analyzer, \"Configuration\"",
        &[("", ContentRule::Settings(FileFormat::Toml, harmless::RUST_ANALYZER))]),
    read_only(&[".merlin"], "merlin, ocaml-lsp", "runs preprocessors that its flags name",
        "Merlin, dot-merlin-reader(1)", RUN),
    read_only(&[".solargraph.yml"], "solargraph", "loads the plugins that it names",
        "Solargraph, \"Configuration\"", RUN),
    read_only(&[".phpactor.json"], "phpactor", "runs linters, fixers and PHP as it says", PHPACTOR,
        &[("", ContentRule::Settings(FileFormat::Json, harmless::NOTHING))]),
    read_only(&[".phpactor.yml"], "phpactor", "the same as `.phpactor.json`", PHPACTOR,
        &[("", ContentRule::Settings(FileFormat::Yaml, harmless::NOTHING))]),
    read_only(&[".ropeproject"], "rope, for pylsp and Emacs",
        "runs `config.py` when the project is opened, and loads objects of Python", "rope, \"Configuration\"",
        &[("autoimport.db", ContentRule::Harmless)]),
];
