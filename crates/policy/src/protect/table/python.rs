//! Rows of modules that Python looks for in the directory that it is started in, before it looks where they are or where there are none.
//! Each is one that no project has for itself, because it belongs to Python, to another system, or to the program that imports it.

use super::row::{EXISTS, ProtectRow, RUN, read_only};

const PROMPT: &str = "imports it when its prompt is started in this directory";

const MODULE: &str =
    "imports it when a module is run in this directory (`python -m`), such as a kernel of Jupyter";

const PATH: &str = "Python library reference, sys.path";

const IPYTHON: &str = "runs this module when it starts, or when it shows an error";

const IPYTHON_PATH: &str = "IPython, IPython/core/shellapp.py, `sys.path`";

/// Lists the files that a module may be: source, compiled, or a library, alone or as that of a package
/// (`importlib.machinery.all_suffixes()`).
macro_rules! modules {
    ($($program:expr, $effect:expr, $source:expr, [$($module:literal),* $(,)?];)*) => {
        &[$($(
            read_only(concat!($module, ".py"), $program, $effect, $source, EXISTS),
            read_only(concat!($module, ".pyc"), $program, $effect, $source, RUN),
            read_only(concat!($module, ".so"), $program, $effect, $source, RUN),
            read_only(concat!($module, ".*.so"), $program, $effect, $source, RUN),
            read_only(concat!($module, "/__init__.*"), $program, $effect, $source, EXISTS),
        )*)*]
    };
}

pub(super) const ROWS: &[ProtectRow] = modules! {
    "python", PROMPT, PATH, [
        "readline", "rlcompleter", "_pyrepl", "_colorize", "_wmi", "_curses", "_struct",
    ];
    // What is another system's, or is compiled into some Pythons and not into others.
    "python", MODULE, PATH, [
        "nt", "_winapi", "msvcrt", "winreg", "_weakrefset", "_typing", "_ssl", "_posixsubprocess",
    ];
    // IPython looks in the directory that it is started in before it looks among its own packages.
    "IPython", IPYTHON, IPYTHON_PATH, [
        "storemagic", "astroid", "ctags", "stack_data", "executing", "pure_eval", "asttokens",
    ];
};
