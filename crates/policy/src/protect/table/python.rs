//! Rows of modules that Python looks for in the directory that it is started in, before it looks where they are or where there are none.
//! Each is one that no project has for itself, because it belongs to Python, to another system, or to the program that imports it.

use super::row::{EXISTS, ProtectRow, RUN, read_only};

const PROMPT: &str = "imports it when its prompt is started in this directory";

const MODULE: &str =
    "imports it when a module is run in this directory (`python -m`), such as a kernel of Jupyter";

const PROGRAM: &str = "takes it for the program itself where that is run as a module in this directory (`python -m pip`, `python -m venv .venv`)";

const SITE: &str = "runs it at its start, in every program, where `PYTHONPATH` has an empty part";

const PATH: &str = "Python library reference, sys.path";

const IPYTHON: &str = "runs this module when it starts, or when it shows an error";

const IPYTHON_PATH: &str = "IPython, IPython/core/shellapp.py, `sys.path`";

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

/// The same of modules that begin with `_`: no project has any of those names for another kind of file.
macro_rules! private_modules {
    ($($module:literal),* $(,)?) => {
        &[read_only(
            &[$(concat!($module, ".*"), concat!($module, "/__init__.*")),*],
            "python", MODULE, PATH, EXISTS,
        )]
    };
}

/// Those of Python's own library, of 3.6 to 3.15, that some Python does not have built in (`sys.stdlib_module_names`).
pub(super) const PRIVATE_ROWS: &[ProtectRow] = private_modules! {
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
};

/// What `copy` looks for where it is Jython's. A package of that name is a project's own, mostly.
#[rustfmt::skip]
pub(super) const JYTHON_ROWS: &[ProtectRow] = &[
    read_only(&["org.py"], "python", MODULE, PATH, EXISTS),
    read_only(&["org.pyc", "org.so"], "python", MODULE, PATH, RUN),
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
    // An empty part of a search path, as of `PYTHONPATH=$PYTHONPATH:DIR`, is the directory that it is started in.
    "python", SITE, "Python library reference, site", ["sitecustomize", "usercustomize"];
    // IPython looks in the directory that it is started in before it looks among its own packages.
    "IPython", IPYTHON, IPYTHON_PATH, [
        "storemagic", "astroid", "ctags", "stack_data", "executing", "pure_eval", "asttokens",
    ];
};
