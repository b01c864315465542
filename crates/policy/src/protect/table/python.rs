//! Rows of modules that Python looks for in the directory that it is started in, before it looks where they are or where there are none.
//! Each is one that no project has for itself, because it belongs to Python, to another system, or to the program that imports it.

use super::row::{EXISTS, ProtectRow, RUN, read_only};

const PROMPT: &str = "imports it when its prompt is started in this directory";

const MODULE: &str =
    "imports it when a module is run in this directory (`python -m`), such as a kernel of Jupyter";

const PROGRAM: &str = "takes it for the program itself where that is run as a module in this directory (`python -m pip`, `python -m venv .venv`)";

const KERNEL: &str =
    "takes it for the kernel itself where one is started in this directory (`python -m ipykernel_launcher`)";

const KERNELS: &str = "Jupyter Client, \"Kernel specs\"; the `kernel.json` of each kernel";

const PROGRAM_OF_EDITOR: &str = "take it for the program itself, which they run as a module in this directory (`python -m debugpy.adapter`)";

const PROGRAMS_OF_EDITORS: &str =
    "nvim-dap, \"Debug Adapter installation\"; jupyterlab-lsp, jupyter_lsp/specs/utils.py, PythonModuleSpec";

const TOOLS: &str =
    "extensions of VS Code for Black, isort, Pylint, Flake8, autopep8, mypy and other tools; pylsp";

const TOOL: &str =
    "run it in the place of the tool, or of what that imports, when a file of Python is opened or saved";

const TOOL_PATH: &str =
    "vscode-common-python-lsp, and lsp_runner.py of each extension, `sys.path`; pylsp/plugins/pylint_lint.py";

const PLUGIN: &str = "imports it at every command (`tox --version`, `tox list`)";

const SITE: &str = "runs it at its start, in every program, where `PYTHONPATH` has an empty part";

const PATH: &str = "Python library reference, sys.path";

const IPYTHON: &str = "runs this module when it starts, when it shows an error, or at `%load_ext autoreload`";

const IPYTHON_PATH: &str =
    "IPython, IPython/core/shellapp.py, `sys.path`; IPython/core/extensions.py, `BUILTINS_EXTS`";

/// Lists the files that a module may be: source, compiled, or a library, alone or as that of a package
/// (`importlib.machinery.all_suffixes()`).
macro_rules! modules {
    ($($program:expr, $effect:expr, $source:expr, [$($module:literal),* $(,)?];)*) => {
        &[$(
            read_only(
                &[$(concat!($module, ".py"), concat!($module, "/__init__.*")),*],
                $program, $effect, $source, EXISTS,
            ),
            read_only(
                &[$(concat!($module, ".pyc"), concat!($module, ".so"), concat!($module, ".*.so")),*],
                $program, $effect, $source, RUN,
            ),
        )*]
    };
}

/// The same of modules whose names no project has for another kind of file either.
macro_rules! certain_modules {
    ($($program:expr, $effect:expr, $source:expr, [$($module:literal),* $(,)?];)*) => {
        &[$(read_only(
            &[$(concat!($module, ".*"), concat!($module, "/__init__.*")),*],
            $program, $effect, $source, EXISTS,
        )),*]
    };
}

/// Those of Python's own library, of 3.6 to 3.15, that some Python does not have built in (`sys.stdlib_module_names`).
pub(super) const PRIVATE_ROWS: &[ProtectRow] = certain_modules! {
    "python", MODULE, PATH, [
    "_aix_support", "_android_support", "_apple_support", "_asyncio", "_bisect", "_blake2", "_bootlocale",
    "_bootsubprocess", "_bz2", "_codecs_cn", "_codecs_hk", "_codecs_iso2022", "_codecs_jp", "_codecs_kr",
    "_codecs_tw", "_compat_pickle", "_compression", "_contextvars", "_crypt", "_csv", "_ctypes",
    "_curses_panel", "_datetime", "_dbm", "_decimal", "_dummy_thread", "_elementtree", "_gdbm", "_hashlib",
    "_heapq", "_hmac", "_interpchannels", "_interpqueues", "_interpreters", "_ios_support", "_json",
    "_lsprof", "_lzma", "_markupbase", "_md5", "_multibytecodec", "_multiprocessing", "_opcode",
    "_opcode_metadata", "_osx_support", "_pickle", "_posixshmem", "_py_abc", "_py_warnings", "_pydatetime",
    "_pydecimal", "_pyio", "_pylong", "_remote_debugging", "_scproxy", "_sha1", "_sha2",
    "_sha256", "_sha3", "_sha512", "_sitebuiltins", "_socket", "_sqlite3", "_strptime",
    "_suggestions", "_sysconfig", "_threading_local", "_tkinter", "_xxsubinterpreters",
    "_xxinterpchannels", "_zoneinfo", "_zstd",
    ];
};

/// How Python was built, for `sysconfig`: one for each platform, of Python itself and of Debian.
#[rustfmt::skip]
pub(super) const BUILD_ROWS: &[ProtectRow] = &[read_only(
    &["_sysconfigdata__darwin_darwin.*", "_sysconfigdata__linux_aarch64-*", "_sysconfigdata__linux_x86_64-*",
        "_sysconfigdata__aarch64-*", "_sysconfigdata__x86_64-*", "_sysconfigdata_t_darwin_darwin.*",
        "_sysconfigdata_t_linux_aarch64-*", "_sysconfigdata_t_linux_x86_64-*", "_sysconfigdata_t_aarch64-*",
        "_sysconfigdata_t_x86_64-*"],
    "python", MODULE, "Python, Lib/sysconfig, `_get_sysconfigdata_name`", EXISTS,
)];

/// Programs that are run as modules, and what such programs import.
pub(super) const CERTAIN_ROWS: &[ProtectRow] = certain_modules! {
    "Jupyter, in editors too", KERNEL, KERNELS, [
        "allthekernels", "bash_kernel", "calysto_scheme", "clang_repl_kernel", "gnuplot_kernel", "ilua",
        "ipykernel_launcher", "jupyter_matlab_kernel", "matlab_kernel", "metakernel_python", "nbstata",
        "octave_kernel", "powershell_kernel", "pystata-kernel", "sos_notebook", "sparkmagic",
        "stata_kernel", "xpython_launcher", "zsh_jupyter_kernel",
    ];
    TOOLS, TOOL, TOOL_PATH, [
        "_black_version", "ast_serialize", "blib2to3", "hyperscan", "librt", "mypy_extensions", "pathspec",
        "platformdirs", "pyflakes", "pytokens", "tomli", "tomlkit", "yapf_third_party",
    ];
    "tox", PLUGIN, "tox, \"Your first plugin\"; tox/plugin/inline.py", ["toxfile", "\u{2623}"];
    "python", MODULE, PATH, [
        "_pydevd_bundle_ext", "_pydevd_frame_eval_ext", "colorama", "dateutil", "docstring_to_markdown",
        "jupyter_client", "jupyter_core", "matplotlib_inline", "nest_asyncio", "orjson", "parso", "pexpect",
        "prompt_toolkit", "ptyprocess", "pylsp_jsonrpc", "traitlets", "typing_extensions", "ujson",
        "wcwidth", "zmq",
    ];
};

/// What `copy` and debuggers look for where they are Jython's. A package of that name is a project's own, mostly.
#[rustfmt::skip]
pub(super) const JYTHON_ROWS: &[ProtectRow] = &[
    read_only(&["org.py", "java.py"], "python", MODULE, PATH, EXISTS),
    read_only(&["org.pyc", "org.so", "java.pyc", "java.so"], "python", MODULE, PATH, RUN),
];

pub(super) const ROWS: &[ProtectRow] = modules! {
    "python", PROMPT, PATH, [
        "readline", "rlcompleter", "_pyrepl", "_colorize", "_wmi", "_curses", "_struct",
    ];
    // What is another system's, or is compiled into some Pythons and not into others.
    "python", MODULE, PATH, [
        "nt", "_winapi", "msvcrt", "winreg", "_weakrefset", "_typing", "_ssl", "_posixsubprocess",
        "unicodedata", "binascii", "fcntl", "termios", "pyexpat", "_queue", "_random", "_statistics", "_uuid",
    ];
    // What is run so where a project begins. A directory of that name without `__init__` is none of these: it may be an environment.
    "python", PROGRAM, "Python, \"-m\"", ["ensurepip", "pip", "pipx", "twine", "venv", "virtualenv"];
    "Jupyter, in editors too", KERNEL, KERNELS, ["ipykernel", "jupyter"];
    "debuggers in editors, and Jupyter, for its language servers", PROGRAM_OF_EDITOR, PROGRAMS_OF_EDITORS, [
        "debugpy", "pyls", "pylsp",
    ];
    TOOLS, TOOL, TOOL_PATH, [
        "autopep8", "black", "docformatter", "flake8", "isort", "mccabe", "mypy", "pycodestyle", "pydocstyle",
        "pylint", "re2", "yapf",
    ];
    "python", MODULE, PATH, ["IPython", "argcomplete", "jedi", "msgpack", "psutil", "pygments", "tornado"];
    // An empty part of a search path, as of `PYTHONPATH=$PYTHONPATH:DIR`, is the directory that it is started in.
    "python", SITE, "Python library reference, site", ["sitecustomize", "usercustomize"];
    // IPython looks in the directory that it is started in before it looks among its own packages.
    "IPython", IPYTHON, IPYTHON_PATH, [
        "storemagic", "autoreload", "astroid", "ctags", "stack_data", "executing", "pure_eval", "asttokens",
    ];
};
