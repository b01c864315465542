//! Values of variables: whether one is harmless for what its variable does.

use crate::classify::value::is_plain;
use crate::variables::VariableKind;

/// Options of Node.js that load nothing, and write nothing.
const NODE_OPTIONS: &[&str] = &[
    "--dns-result-order", "--enable-source-maps", "--experimental-vm-modules", "--max-http-header-size",
    "--max-old-space-size", "--max-semi-space-size", "--max_old_space_size", "--no-deprecation",
    "--no-experimental-fetch", "--no-warnings", "--openssl-legacy-provider", "--stack-trace-limit",
    "--trace-deprecation", "--trace-uncaught", "--trace-warnings", "--unhandled-rejections",
];

/// How options of Java begin that load nothing, and write nothing.
const JAVA_OPTIONS: &[&str] = &[
    "-Dfile.encoding=", "-Djava.awt.headless=", "-Djava.net.preferIPv4Stack=", "-Dspring.profiles.active=",
    "-Duser.language=", "-Duser.timezone=", "-XX:+Use", "-XX:+ExitOnOutOfMemoryError",
    "-XX:InitialRAMPercentage=", "-XX:MaxGCPauseMillis=", "-XX:MaxMetaspaceSize=", "-XX:MaxRAMPercentage=",
    "-Xmn", "-Xms", "-Xmx", "-Xss", "-client", "-server",
];

/// Options of less that run nothing, and write nothing.
const LESS_OPTIONS: &[&str] = &[
    "--RAW-CONTROL-CHARS", "--chop-long-lines", "--ignore-case", "--mouse", "--no-init",
    "--quit-if-one-screen", "--tabs=4",
];

/// Programs that take what they are given for text, or for an address. Others may run it: `PAGER=sh` runs what git writes.
/// Of editors, each with the options with which it only waits, or stays in its terminal: what an option is to one is the name of a file
/// to be run to another.
const EDITORS: &[(&[&str], &[&str])] = &[
    (
        &["atom", "code", "code-insiders", "codium", "cursor", "gedit", "subl", "windsurf"],
        &["--new-window", "--wait", "-n", "-w"],
    ),
    (&["emacs"], &["-nw"]),
    (&["emacsclient"], &["-n", "-nw", "-t"]),
    (&["gvim", "mvim", "vim"], &["--nofork", "-f", "-n"]),
    (&["idea"], &["--wait"]),
    (&["kak", "kate", "nvim", "view"], &["-n"]),
    (&["mate"], &["--wait", "-w"]),
    (&["nano", "pico"], &["-t", "-w"]),
    (&["zed"], &["--wait", "-n", "-w"]),
    (&["cat", "helix", "hx", "joe", "less", "mcedit", "micro", "ne", "notepad", "true", "vi"], &[]),
];
/// Of pagers other than less, the same: `-e` is a command to one of them.
const PAGERS: &[(&[&str], &[&str])] = &[
    (
        &["bat", "batcat"],
        &["--color=always", "--paging=always", "--paging=never", "--plain", "--style=plain", "-p", "-pp"],
    ),
    (&["delta"], &["--dark", "--light", "--line-numbers", "--side-by-side", "-n", "-s"]),
    (&["lv"], &["-c"]),
    (&["more"], &["-c", "-d", "-f", "-l", "-p", "-s", "-u"]),
    (&["most"], &["-s", "-w"]),
    (&["ov"], &["--quit-if-one-screen", "-F"]),
    (&["cat"], &[]),
];
const BROWSERS: &[&str] = &[
    "brave", "brave-browser", "chrome", "chromium", "chromium-browser", "edge", "false", "firefox",
    "google-chrome", "google-chrome-stable", "lynx", "microsoft-edge", "none", "open", "opera", "safari",
    "true", "w3m", "xdg-open",
];
const SHELLS: &[&str] =
    &["bash", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "pwsh", "sh", "tcsh", "zsh"];
const COMPILERS: &[&str] = &[
    "ar", "as", "c++", "cc", "ccache", "clang", "clang++", "cpp", "g++", "gcc", "gfortran", "gmake", "ld",
    "ld.lld", "lld", "make", "mold", "musl-gcc", "pkg-config", "pkgconf", "protoc", "rustc", "rustdoc",
    "rustfmt", "sccache",
];

/// Directories of programs that the system alone has written.
const SYSTEM_DIRECTORIES: &[&str] = &["/bin/", "/snap/bin/", "/usr/bin/", "/usr/local/bin/"];

/// How projects call the places where they run.
const ENVIRONMENTS: &[&str] = &[
    "beta", "ci", "dev", "develop", "development", "demo", "docker", "e2e", "local", "localhost", "preprod",
    "preview", "prod", "production", "qa", "sandbox", "stage", "staging", "test", "testing", "uat",
];

/// Providers of models, of records of what is run, and of tokens for them, under their own addresses. Where everybody has a host of their own, as at a cloud, none is official.
const OFFICIAL_HOSTS: &[&str] = &[
    "api.anthropic.com", "api.cohere.ai", "api.cohere.com", "api.deepseek.com", "api.fireworks.ai",
    "api.groq.com", "api.mistral.ai", "api.moonshot.ai", "api.moonshot.cn", "api.openai.com",
    "api.perplexity.ai", "api.prefect.cloud", "api.smith.langchain.com", "api.together.xyz", "api.x.ai",
    "api.z.ai", "catwalk.charm.land", "cloud.langfuse.com", "codestral.mistral.ai",
    "dashscope-intl.aliyuncs.com", "dashscope.aliyuncs.com", "eu-de.ml.cloud.ibm.com",
    "eu-gb.ml.cloud.ibm.com", "eu.api.openai.com", "eu.api.smith.langchain.com",
    "generativelanguage.googleapis.com", "huggingface.co", "hyper.charm.land", "iam.cloud.ibm.com",
    "jp-tok.ml.cloud.ibm.com", "login.microsoftonline.com", "open.bigmodel.cn", "openrouter.ai",
    "us-south.ml.cloud.ibm.com", "us.api.openai.com", "us.cloud.langfuse.com", "www.comet.com",
];

/// Schemes after which some readers need no slash (WHATWG, "URL"), and those of proxies.
const SPECIAL_SCHEMES: &[&str] =
    &["file", "ftp", "http", "https", "socks", "socks4", "socks4a", "socks5", "socks5h", "ws", "wss"];

/// Returns whether a value, as every reader of the file takes it, is harmless for what its variable does.
pub(super) fn is_harmless(kind: VariableKind, value: &str) -> bool {
    let is = |words: &[&str]| words.contains(&value);
    match kind {
        VariableKind::Runs => false,
        VariableKind::Setting => is_switch(value),
        VariableKind::Plain => is_plain(value),
        VariableKind::Version => value.split(' ').all(|version| version.is_empty() || is_plain(version)),
        VariableKind::Editor => is_one_of(EDITORS, value),
        VariableKind::Pager => {
            // Without its dash, an option is the name of a file.
            let is_option = |option: &str| option.starts_with('-') && is_option_of_less(option);
            is_program(value, &["less"], is_option) || is_one_of(PAGERS, value)
        }
        VariableKind::Browser => {
            is_program(&value.to_ascii_lowercase().replace(' ', "-"), BROWSERS, |_| false)
        }
        VariableKind::Shell => is_program(value, SHELLS, |_| false),
        VariableKind::Compiler => is_program(without_version(value), COMPILERS, |_| false),
        VariableKind::EnvironmentName => is_switch(value) || is(ENVIRONMENTS),
        VariableKind::EnvironmentFile => is(ENVIRONMENTS),
        VariableKind::NodeOptions => value
            .split(' ')
            .filter(|option| !option.is_empty())
            .all(|option| NODE_OPTIONS.contains(&option.split_once('=').map_or(option, |(name, _)| name))),
        VariableKind::JavaOptions => value.split(' ').filter(|option| !option.is_empty()).all(|option| {
            JAVA_OPTIONS.iter().any(|beginning| option.starts_with(beginning))
                && option.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:=+,/".contains(&byte))
        }),
        VariableKind::LessOptions => value.split(' ').all(is_option_of_less),
        VariableKind::Warnings => {
            value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":, ".contains(&byte))
        }
        VariableKind::TemporaryFiles => is(&["/tmp", "/tmp/", "/var/tmp", "/var/tmp/"]),
        VariableKind::TlsSwitch => value == "1",
        VariableKind::Provider => is_switch(value) || is_here(value) || is_official(value),
        VariableKind::Proxy => is_switch(value) || is_here(value),
        VariableKind::Address => {
            is_switch(value) || is_here(value) || is_official(value) || is_of_project(value)
        }
        // With other letters, it may be all of the name of the host.
        VariableKind::PartOfAddress => value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'),
        VariableKind::Prompt => !value.contains(['$', '`']),
        // Some readers take what a backslash makes of letters.
        VariableKind::Braces => !value.contains(['{', '\\', '$']),
        VariableKind::Key => !value.contains("://"),
        // To some providers, a name with an address in it is where the model is.
        VariableKind::Model => !value.contains("//") && !value.contains("http") && !value.contains(' '),
    }
}

/// Returns whether a value only switches something on or off, or counts. A larger number is an address where a host is
/// expected; these are none of any host.
fn is_switch(value: &str) -> bool {
    let word = value.to_ascii_lowercase();
    matches!(word.as_str(), "true" | "false" | "on" | "off" | "yes" | "no")
        || value.bytes().all(|byte| byte.is_ascii_digit()) && value.parse::<u16>().is_ok()
}

/// Returns whether a command is one of these programs, found by name or in a directory of the system, with such options alone.
fn is_program(command: &str, known: &[&str], is_option: impl Fn(&str) -> bool) -> bool {
    let mut words = command.split(' ').filter(|word| !word.is_empty());
    let program = words.next().unwrap_or_default();
    let name = SYSTEM_DIRECTORIES.iter().find_map(|directory| program.strip_prefix(directory));
    known.contains(&name.unwrap_or(program)) && words.all(is_option)
}

/// Returns whether a command is one of these programs, with options of its own alone.
fn is_one_of(programs: &[(&[&str], &[&str])], command: &str) -> bool {
    programs.iter().any(|(known, options)| is_program(command, known, |option| options.contains(&option)))
}

/// Returns the name of a program without the version that distributions write after it.
fn without_version(program: &str) -> &str {
    let name = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    name.strip_suffix('-').filter(|_| name.len() < program.len()).unwrap_or(program)
}

fn is_option_of_less(option: &str) -> bool {
    let letters = option.strip_prefix('-').unwrap_or(option);
    LESS_OPTIONS.contains(&option) || letters.bytes().all(|letter| b"EFJKMNQRSXegimnqrsw".contains(&letter))
}

/// Returns whether an address is one of this machine alone.
fn is_here(address: &str) -> bool {
    matches!(host(address).as_deref(), Some("localhost" | "127.0.0.1" | "[::1]"))
}

/// Returns whether an address is that of a provider of models, which everybody shares.
fn is_official(address: &str) -> bool {
    let host = host(address).filter(|_| address.starts_with("https://"));
    host.is_some_and(|host| OFFICIAL_HOSTS.contains(&host.as_str()))
}

/// Returns whether an address is a path, or has a name without a dot, as those have that a project's containers name among themselves.
fn is_of_project(address: &str) -> bool {
    let is_path = address.starts_with('/') && !address.starts_with("//") && is_address(address);
    let is_name = |host: &str| {
        !host.is_empty()
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let is_number = |host: &str| host.bytes().all(|byte| byte.is_ascii_digit()) || host.starts_with("0x");
    is_path || host(address).is_some_and(|host| is_name(&host) && !is_number(&host))
}

/// Returns the host of an address, in lower case, if all who take it apart agree about it: with a user's name, or a backslash, they do
/// not, nor where a scheme has another number of slashes than two. `https:/example.org` and `https:1.2.3.4` lead somewhere.
fn host(address: &str) -> Option<String> {
    if !is_address(address) {
        return None;
    }
    let (has_scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => (true, rest),
        Some(_) => return None,
        None => (false, address),
    };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let end_of_number = authority.starts_with('[').then(|| authority.find(']').map_or(0, |end| end + 1));
    let (host, port) =
        authority.split_at(end_of_number.or_else(|| authority.find(':')).unwrap_or(authority.len()));
    let is_port =
        |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && (has_scheme || !port.is_empty());
    let agrees = match port.strip_prefix(':') {
        Some(port) => is_port(port) && (has_scheme || !is_one(host, SPECIAL_SCHEMES)),
        None => port.is_empty(),
    };
    agrees.then(|| host.to_ascii_lowercase())
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-".contains(&byte))
}

fn is_one(word: &str, known: &[&str]) -> bool {
    known.iter().any(|one| one.eq_ignore_ascii_case(word))
}

fn is_address(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:/?[]!&()*+,;=".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::ENVIRONMENTS;
    use crate::protect::table;

    #[test]
    fn the_file_of_each_environment_is_protected() {
        for name in ENVIRONMENTS {
            assert!(table::is_built_in(&format!(".env.{name}")), "{name}");
        }
    }
}
