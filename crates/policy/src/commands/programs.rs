//! What programs do, as far as their names and options tell.

use super::class::CommandClass;

use CommandClass::{Execute, Network, Read, Write};

/// A program, and which of its options make more of it than it does without.
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) classes: &'static [CommandClass],
    pub(super) options: &'static [(&'static str, CommandClass)],
    /// How many operands it has at most without writing to one of them.
    pub(super) operands: usize,
}

const fn program(
    name: &'static str,
    classes: &'static [CommandClass],
    options: &'static [(&'static str, CommandClass)],
) -> Program {
    Program { name, classes, options, operands: usize::MAX }
}

/// Programs and built-in commands that read and print, whatever their arguments.
pub(super) const READERS: &[&str] = &[
    ":", "[", "arch", "b2sum", "base32", "base64", "basename", "break", "cat", "cd", "cksum", "cmp",
    "column", "comm", "continue", "cut", "declare", "df", "diff", "dirname", "dirs", "du", "echo", "egrep",
    "exit", "expand", "export", "expr", "factor", "false", "fgrep", "fmt", "fold", "free", "getconf",
    "getopts", "grep", "groups", "head", "hexdump", "id", "join", "jq", "local", "locale", "look", "ls",
    "lsblk", "lscpu", "md5sum", "nl", "nproc", "numfmt", "od", "paste", "pgrep", "popd", "pr", "printenv",
    "printf", "ps", "pushd", "pwd", "read", "readlink", "readonly", "realpath", "return", "rev", "seq",
    "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shift", "sleep", "stat", "strings",
    "sum", "tac", "tail", "test", "times", "tr", "true", "tsort", "tty", "type", "typeset", "umask", "uname",
    "unexpand", "unset", "uptime", "wait", "wc", "whereis", "which", "whoami", "zcat",
];

/// Built-in commands that evaluate some of their arguments once more.
pub(super) const EVALUATING: &[&str] =
    &["[", "declare", "export", "local", "printf", "read", "readonly", "test", "typeset", "unset", "wait"];

/// Built-in commands that assign what their arguments say.
pub(super) const ASSIGNING: &[&str] =
    &["declare", "export", "local", "read", "readonly", "typeset", "getopts"];

/// Programs that are installed with others that they fetch and run.
const FETCHERS: &[CommandClass] = &[Execute, Network];

/// All other programs that something is known of.
pub(super) const PROGRAMS: &[Program] = &[
    program("diff3", &[Read], &[("--diff-program", Execute)]),
    program("date", &[Read], &[("-s", Write), ("--set", Write)]),
    program(
        "fd",
        &[Read],
        &[("-x", Execute), ("-X", Execute), ("--exec", Execute), ("--exec-batch", Execute)],
    ),
    program("file", &[Read], &[("-C", Write), ("--compile", Write)]),
    program("rg", &[Read], &[("--pre", Execute), ("--hostname-bin", Execute)]),
    program("sort", &[Read], &[("-o", Write), ("--output", Write), ("--compress-program", Execute)]),
    program("tree", &[Read], &[("-o", Write), ("-R", Write)]),
    Program { name: "uniq", classes: &[Read], options: &[], operands: 1 },
    Program { name: "xxd", classes: &[Read], options: &[], operands: 1 },
    program("chgrp", &[Write], &[]),
    program("chmod", &[Write], &[]),
    program("chown", &[Write], &[]),
    program("cp", &[Write], &[]),
    program("csplit", &[Write], &[]),
    program("dd", &[Write], &[]),
    program("gunzip", &[Write], &[]),
    program("gzip", &[Write], &[]),
    program("install", &[Write], &[("--strip-program", Execute), ("-s", Execute)]),
    program("link", &[Write], &[]),
    program("ln", &[Write], &[]),
    program("mkdir", &[Write], &[]),
    program("mkfifo", &[Write], &[]),
    program("mktemp", &[Write], &[]),
    program("mv", &[Write], &[]),
    program("rm", &[Write], &[]),
    program("rmdir", &[Write], &[]),
    program("shred", &[Write], &[]),
    program("split", &[Write], &[("--filter", Execute)]),
    program(
        "tar",
        &[Write],
        &[
            ("-I", Execute),
            ("-F", Execute),
            ("--use-compress-program", Execute),
            ("--to-command", Execute),
            ("--checkpoint-action", Execute),
            ("--info-script", Execute),
            ("--new-volume-script", Execute),
            ("--rsh-command", Execute),
            ("--rmt-command", Execute),
        ],
    ),
    program("tee", &[Write], &[]),
    program("touch", &[Write], &[]),
    program("truncate", &[Write], &[]),
    program("unlink", &[Write], &[]),
    program("unzip", &[Write], &[]),
    program("zip", &[Write], &[("-T", Execute), ("--unzip-command", Execute)]),
    program(
        "curl",
        &[Network],
        &[
            ("-o", Write),
            ("-O", Write),
            ("-J", Write),
            ("-D", Write),
            ("-c", Write),
            ("-K", Execute),
            ("--output", Write),
            ("--output-dir", Write),
            ("--remote-name", Write),
            ("--remote-name-all", Write),
            ("--dump-header", Write),
            ("--cookie-jar", Write),
            ("--trace", Write),
            ("--trace-ascii", Write),
            ("--stderr", Write),
            ("--etag-save", Write),
            ("--hsts", Write),
            ("--alt-svc", Write),
            ("--libcurl", Write),
            ("-w", Write),
            ("--write-out", Write),
            ("--config", Execute),
            ("--engine", Execute),
        ],
    ),
    program("dig", &[Network], &[]),
    program("getent", &[Network], &[]),
    program("host", &[Network], &[]),
    program("nslookup", &[Network], &[]),
    program("ping", &[Network], &[]),
    program("telnet", FETCHERS, &[]),
    program("whois", &[Network], &[]),
    program(
        "wget",
        &[Network, Write],
        &[("--use-askpass", Execute), ("-e", Execute), ("--execute", Execute), ("--config", Execute)],
    ),
    program("nc", FETCHERS, &[]),
    program("ncat", FETCHERS, &[]),
    program("rsync", &[Execute, Network, Write], &[]),
    program("scp", &[Execute, Network, Write], &[]),
    program("sftp", &[Execute, Network, Write], &[]),
    program("ssh", FETCHERS, &[]),
    program("gh", FETCHERS, &[]),
    program("apk", FETCHERS, &[]),
    program("apt", FETCHERS, &[]),
    program("apt-get", FETCHERS, &[]),
    program("dnf", FETCHERS, &[]),
    program("npx", FETCHERS, &[]),
    program("uvx", FETCHERS, &[]),
];

/// Programs that run what the project says, and these of their subcommands fetch what that needs.
pub(super) const FETCHING: &[(&str, &[&str])] = &[
    ("bun", &["add", "install", "publish", "update", "x"]),
    ("bundle", &["install", "update"]),
    ("cargo", &["add", "fetch", "install", "login", "publish", "search", "update"]),
    ("composer", &["create-project", "install", "require", "update"]),
    ("docker", &["build", "login", "pull", "push", "run"]),
    ("gem", &["fetch", "install", "push", "update"]),
    ("go", &["get", "install", "mod"]),
    ("npm", &["add", "audit", "ci", "i", "install", "login", "outdated", "publish", "update", "view"]),
    ("pip", &["download", "index", "install"]),
    ("pip3", &["download", "index", "install"]),
    ("pnpm", &["add", "i", "install", "publish", "update"]),
    ("podman", &["build", "login", "pull", "push", "run"]),
    ("poetry", &["add", "install", "publish", "update"]),
    ("rustup", &["install", "toolchain", "update"]),
    ("uv", &["add", "pip", "publish", "sync", "tool"]),
    ("yarn", &["add", "install", "publish", "upgrade"]),
];
