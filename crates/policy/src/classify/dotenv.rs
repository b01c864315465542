//! Variables that a `.env` hands to whoever loads it, agents among them: which of them run a program, or say where prompts and keys go.
//!
//! Readers differ about quotes, line ends and what stands between a name and its value, so a name counts wherever one of them could find
//! it. What is a comment to all of them does not.

use super::reason::Reason;
use super::value::is_plain;

/// Loaders and interpreters run or load what these name, and programs that an agent starts take commands from them.
const RUN: &[&str] = &[
    "AWS_CONFIG_FILE", "CARGO_HOME", "CLASSPATH", "CURL_CA_BUNDLE", "CURL_HOME", "DOCKER_CONFIG",
    "DOCKER_HOST", "DOTNET_STARTUP_HOOKS", "ERL_AFLAGS", "ERL_FLAGS", "ERL_ZFLAGS", "GCONV_PATH",
    "GIT_ASKPASS", "GIT_COMMON_DIR", "GIT_DIR", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND",
    "GIT_SSH_COMMAND", "GIT_TEMPLATE_DIR", "GIT_WORK_TREE", "HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS",
    "KUBECONFIG", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD", "LUA_CPATH", "LUA_INIT", "LUA_PATH",
    "MAVEN_OPTS", "NODE_EXTRA_CA_CERTS", "NODE_PATH", "PATH", "PERL5DB", "PERL5LIB", "PERL5OPT", "PERLLIB",
    "PHPRC", "PHP_INI_SCAN_DIR", "PIP_CONFIG_FILE", "PROMPT_COMMAND", "PYTHONHOME", "PYTHONPATH",
    "PYTHONSTARTUP", "REQUESTS_CA_BUNDLE", "RUBYLIB", "RUBYOPT", "RUSTFLAGS", "SSH_ASKPASS", "SSL_CERT_DIR",
    "SSL_CERT_FILE", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_DATA_DIRS", "XDG_DATA_HOME", "_JAVA_OPTIONS",
];

/// The same of all names that begin so.
const RUN_BEGINNINGS: &[&str] = &["DYLD_", "GIT_CONFIG", "NPM_CONFIG_"];

/// These name a program, or a file in the place of one: a plain word leads to no file of the directory.
const PROGRAMS: &[&str] = &[
    "BASH_ENV", "BROWSER", "EDITOR", "ENV", "GIT_EDITOR", "GIT_PAGER", "GIT_SEQUENCE_EDITOR", "GIT_SSH",
    "LESSOPEN", "MANPAGER", "PAGER", "RUSTC", "RUSTC_WORKSPACE_WRAPPER", "RUSTC_WRAPPER", "SHELL", "VISUAL",
];

/// Agents, as names of their variables begin: any such variable may be a setting, of which some run programs.
const AGENTS: &[&str] = &[
    "AIDER_", "AMP_", "AUGMENT_", "CLAUDE_CODE_", "CLAUDE_CONFIG_", "CODEBUFF_", "CODEX_", "COPILOT_",
    "CRUSH_", "FAST_AGENT_", "GEMINI_CLI_", "GOOSE_", "IFLOW_", "KILO_", "OPENCODE_", "OPENHANDS_", "QWEN_",
    "VIBE_",
];

/// Settings of agents whose names begin like a provider's, or like those of other programs.
const OF_AGENTS: &[&str] = &[
    "ANTHROPIC_CUSTOM_HEADERS",
    "BUILD_SANDBOX",
    "CLOUDSDK_CONFIG",
    "GEMINI_EXP",
    "GEMINI_RESTRICTED_MODE",
    "GEMINI_SANDBOX",
    "GEMINI_SANDBOX_IMAGE",
    "GEMINI_SANDBOX_PROXY_COMMAND",
    "GEMINI_SYSTEM_MD",
    "GEMINI_WRITE_SYSTEM_MD",
    "GOOGLE_CLOUD_UNIVERSE_DOMAIN",
    "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES",
    "SANDBOX",
    "SANDBOX_ENV",
    "SANDBOX_FLAGS",
    "SANDBOX_MOUNTS",
    "SANDBOX_PORTS",
    "SEATBELT_PROFILE",
];

/// What of an agent's is no more than a key, or says which model answers.
const KEYS: &[&str] = &["_API_KEY", "_MODEL", "_TOKEN"];

/// Providers of models, as names of their variables begin, and how those end that say where they are.
const PROVIDERS: &[&str] = &[
    "ANTHROPIC", "AZURE_OPENAI", "BEDROCK", "CLAUDE", "CODE_ASSIST", "COHERE", "DASHSCOPE", "DEEPSEEK",
    "FIREWORKS", "GEMINI", "GOOGLE_GEMINI", "GOOGLE_VERTEX", "GROQ", "LITELLM", "LLM", "LMSTUDIO",
    "LM_STUDIO", "MISTRAL", "MODELSCOPE", "MOONSHOT", "OLLAMA", "OPENAI", "OPENROUTER", "PERPLEXITY", "QWEN",
    "TOGETHER", "VERTEX", "XAI", "ZAI",
];

const ADDRESSES: &[&str] = &["_BASE", "_BASEURL", "_ENDPOINT", "_HOST", "_URI", "_URL"];

/// What frameworks build into pages, as names of such variables begin: nobody else reads them.
const OF_PAGES: &[&str] = &[
    "EXPO_PUBLIC_", "GATSBY_", "NEXT_PUBLIC_", "NG_APP_", "NUXT_PUBLIC_", "PUBLIC_", "REACT_APP_",
    "STORYBOOK_", "VITE_", "VUE_APP_",
];

/// Options of Node.js that load nothing, and write nothing.
const NODE_OPTIONS: &[&str] = &[
    "--dns-result-order", "--enable-source-maps", "--experimental-vm-modules", "--max-http-header-size",
    "--max-old-space-size", "--max-semi-space-size", "--max_old_space_size", "--no-deprecation",
    "--no-experimental-fetch", "--no-warnings", "--openssl-legacy-provider", "--stack-trace-limit",
    "--trace-deprecation", "--trace-uncaught", "--trace-warnings", "--unhandled-rejections",
];

const QUOTES: [char; 3] = ['"', '\'', '`'];

/// How much of a variable is shown.
const SHOWN: usize = 100;

/// Classifies a file: the first variable that counts.
pub(super) fn classify(content: &[u8]) -> Option<Reason> {
    let key = counting(content).into_iter().next()?.0;
    Some(Reason::Setting { key: key.chars().take(SHOWN).collect() })
}

/// Returns what counts of a file: a change of anything else is none.
pub(super) fn essence(content: &[u8]) -> Vec<u8> {
    let counting = counting(content).into_iter().map(|(name, value)| format!("{name}={value}\n"));
    counting.collect::<String>().into_bytes()
}

/// Lists the variables that count, with their values as far as these are on one line.
fn counting(content: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(content);
    let text = without_comments(&text);
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut found = Vec::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find(is_of_name) {
        let word = &rest[start..];
        let (name, after) = word.split_at(word.find(|letter| !is_of_name(letter)).unwrap_or(word.len()));
        rest = after;
        // `KEY = value`, `"KEY": value`, and for a shell `KEY+=value`.
        let is_between = |letter: char| letter.is_whitespace() || "\"'`+\u{feff}".contains(letter);
        if let Some(value) = after.trim_start_matches(is_between).strip_prefix(['=', ':']) {
            // Some readers take a value in quotes from the next line.
            let first = value.split('\n').next().unwrap_or_default().trim();
            let below = value.trim_start().split('\n').next().unwrap_or_default().trim();
            let value = if first.is_empty() && below.starts_with(QUOTES) { below } else { first };
            if counts(&name.to_ascii_uppercase(), value) {
                found.push((name.to_owned(), value.to_owned()));
            }
        }
    }
    // A shell that reads the file runs these.
    let runs = text.split('\n').filter(|line| runs_a_command(line));
    found.extend(runs.map(|line| (line.trim().to_owned(), String::new())));
    found
}

/// Returns a text of which all lines end alike, without those that are comments.
fn without_comments(text: &str) -> String {
    let ends = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    let lines = text.split(ends).filter(|line| !line.trim_start().starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

fn counts(name: &str, written: &str) -> bool {
    let value = written.trim_matches(QUOTES);
    // Switching something on or off, or counting, leads nowhere.
    let is_switch =
        matches!(value.to_ascii_lowercase().as_str(), "true" | "false" | "on" | "off" | "yes" | "no")
            || value.parse::<f64>().is_ok();
    let is_of = |names: &[&str]| names.contains(&name);
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if matches!(written, "" | "\"\"" | "''" | "``") || begins(OF_PAGES) {
        return false;
    }
    let provider = PROVIDERS.iter().any(|provider| {
        name.strip_prefix(provider).is_some_and(|rest| rest.starts_with('_')) && ends(ADDRESSES)
    });
    match name {
        "NODE_OPTIONS" => !are_harmless_options(written),
        "NODE_TLS_REJECT_UNAUTHORIZED" => value == "0",
        "NO_PROXY" => false,
        _ if is_of(RUN) || begins(RUN_BEGINNINGS) || is_of(OF_AGENTS) || name.ends_with("_SETTINGS_PATH") => {
            true
        }
        _ if is_of(PROGRAMS) => !is_plain(value),
        // A path, an address or a command.
        _ if name.starts_with("GEMINI_") && !ends(KEYS) && !is_plain(value) => true,
        _ if begins(AGENTS) => !ends(KEYS) || value.contains(['/', ':']),
        _ if provider || name.ends_with("_PROXY") => !is_switch,
        _ if ends(&["_BASE_URL", "_API_BASE", "_OTLP_ENDPOINT"]) => !is_switch && leads_elsewhere(value),
        _ => false,
    }
}

/// Returns whether an address is that of another machine than this one, or than those that a project names among themselves.
fn leads_elsewhere(value: &str) -> bool {
    let scheme = value.split_once("://");
    let authority =
        scheme.map_or("", |(_, rest)| rest.split(['/', '?', '#', '\\']).next().unwrap_or_default());
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let host =
        authority.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(authority, |(host, _)| host);
    let is_path =
        scheme.is_none() && value.starts_with('/') && !value.starts_with("//") && !value.contains('\\');
    let is_name = !host.is_empty()
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let is_number = host.bytes().all(|byte| byte.is_ascii_digit()) || host.starts_with("0x");
    !(is_path || host == "127.0.0.1" || is_name && !is_number)
}

/// Returns whether Node.js loads nothing because of options. What does not end on its line is not known.
fn are_harmless_options(written: &str) -> bool {
    let first = written.chars().next().filter(|letter| QUOTES.contains(letter));
    let (inner, is_whole) = match first {
        Some(quote) => {
            let inner = &written[1..];
            inner.find(quote).map_or((inner, false), |end| (&inner[..end], true))
        }
        None => (written, true),
    };
    let is_harmless =
        |option: &str| NODE_OPTIONS.contains(&option.split_once('=').map_or(option, |(name, _)| name));
    let mut words = inner.split_ascii_whitespace().take_while(|word| !word.starts_with('#'));
    is_whole && !inner.contains('\\') && words.all(is_harmless)
}

/// Returns whether a shell would run a command in a value, as far as it is on this line.
fn runs_a_command(line: &str) -> bool {
    let value = line.split_once('=').map_or(line, |(_, value)| value).trim();
    let is_text =
        value.starts_with('\'') && value.len() > 1 && value[1..].find('\'') == Some(value.len() - 2);
    // Some readers take a backtick for a quote.
    let is_quoted =
        value.len() > 1 && value.starts_with('`') && value.ends_with('`') && !value.contains([' ', '/']);
    !is_text && !is_quoted && (value.contains("$(") || value.matches('`').count() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_variables_pass() {
        for text in [
            "",
            "OPENAI_BASE_URL=\"\"\nHTTP_PROXY=\nOLLAMA_HOST=''\nPATH=\n",
            "DATABASE_URL=postgres://user:pass@db.example.org:5432/app\nREDIS_URL=redis://localhost\n",
            "export SECRET_KEY=\"a b\"\nDEBUG=true\nPORT=3000\nNODE_ENV=development\nENV=production\nSHELL=zsh\n",
            "OPENAI_API_KEY=sk-x\nANTHROPIC_API_KEY='x'\nOPENAI_MODEL=gpt-5\nGEMINI_API_KEY=x\nAIDER_MODEL=opus\n",
            "# OPENAI_BASE_URL=https://example.org\n  # NODE_OPTIONS=--require=x\nOPENAI_BASE_URL=\n",
            "APP_BASE_URL=http://localhost:3000\nORDERS_BASE_URL=http://orders:8080/v1\nAPI_BASE_URL=/api\nX_BASE_URL=http://127.0.0.1:1/\n",
            "NEXT_PUBLIC_API_BASE_URL=https://api.example.org\nVITE_BASE_URL=https://example.org\n",
            "NODE_OPTIONS=--max-old-space-size=4096\nNODE_OPTIONS=\"--no-warnings --enable-source-maps\" # why\n",
            "TRUST_PROXY=1\nNO_PROXY=localhost,.example.org\nBROWSER=none\nLD_SDK_KEY=x\nGIT_SHA=abc\nOPENAI_BASE_URL=",
            "KEY=\"-----BEGIN PRIVATE KEY-----\nMIIE/a+b==\n-----END PRIVATE KEY-----\"\nPRICE='$(not run)'\n",
            "GEMINI_TEMPERATURE=0.7\nGEMINI_MODEL_NAME=gemini-2.5-pro\nQWEN_API_KEY=x\nOTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317\n",
            "S3_ENDPOINT=https://s3.example.org\nLOG_CONFIG_PATH=config/log.yaml\nNEXTAUTH_URL=https://example.org\n",
        ] {
            assert_eq!(counting(text.as_bytes()), [], "{text}");
        }
    }

    #[test]
    fn what_redirects_an_agent_or_a_loader_counts_however_it_is_written() {
        for text in [
            "OPENAI_BASE_URL=http://127.0.0.1:8899/x",
            "GOOGLE_GEMINI_BASE_URL=https://evil.example",
            "AZURE_OPENAI_ENDPOINT=https://evil.example",
            "OLLAMA_HOST=evil.example:1",
            "AIDER_OPENAI_API_BASE=https://evil.example",
            "SOMEBODYS_API_BASE=https://evil.example",
            "SOMEBODYS_BASE_URL=https://user@evil.example",
            "SOMEBODYS_BASE_URL=http://localhost@evil.example",
            "SOMEBODYS_BASE_URL=http://localhost:1@evil.example",
            "SOMEBODYS_BASE_URL=http://2130706433/",
            "SOMEBODYS_BASE_URL=//evil.example/x",
            "SOMEBODYS_BASE_URL=/\\evil.example",
            "SOMEBODYS_BASE_URL=http://[::ffff:1.2.3.4]/",
            "SOMEBODYS_BASE_URL=${OTHER}",
            "QWEN_CODE_SYSTEM_SETTINGS_PATH=s.json",
            "GEMINI_CLI_TRUST_WORKSPACE=true",
            "GEMINI_SANDBOX=false",
            "GEMINI_SANDBOX_PROXY_COMMAND=evil",
            "GEMINI_DEBUG_LOG_FILE=/home/me/.bashrc",
            "QWEN_HOME=evil",
            "GOOGLE_CLOUD_UNIVERSE_DOMAIN=evil.example",
            "OTEL_EXPORTER_OTLP_ENDPOINT=https://evil.example",
            "AIDER_LINT_CMD=./evil",
            "AIDER_MODEL=oobabooga/http://127.0.0.1/x",
            "NODE_OPTIONS=--require ./evil.js",
            "NODE_OPTIONS=\"--no-warnings\n--require=./evil.js\"",
            "NODE_OPTIONS='--no-warnings\\n--require=./evil.js'",
            "NODE_TLS_REJECT_UNAUTHORIZED=0",
            "LD_PRELOAD=./evil.so",
            "export LD_PRELOAD=./evil.so",
            "  \u{feff}LD_PRELOAD : ./evil.so",
            "LD_PRELOAD\n=./evil.so",
            "'LD_PRELOAD'=./evil.so",
            "LD_PRELOAD=\"\n./evil.so\"",
            "LD_PRELOAD=\n\"./evil.so\"",
            "A=1\rLD_PRELOAD=./evil.so",
            "# x\u{2028}LD_PRELOAD=./evil.so",
            "A=1; LD_PRELOAD=./evil.so",
            "https_proxy=http://evil.example:1",
            "HTTPS_PROXY=evil.example:1",
            "npm_config_script_shell=./evil",
            "GIT_CONFIG_COUNT=1",
            "EDITOR=./evil",
            "ENV=./evil",
            "PATH=./bin:$PATH",
            "A=$(./evil)",
            "A=\"`./evil`\"",
            "A='x'`./evil`",
            "`./evil`",
        ] {
            assert!(classify(text.as_bytes()).is_some(), "{text:?}");
        }
    }

    #[test]
    fn a_change_of_another_variable_is_none() {
        let with = |more: &str| essence(format!("OPENAI_BASE_URL=http://localhost:1\n{more}").as_bytes());
        assert_eq!(with("PORT=1"), with("PORT=2\n# why"));
        assert_ne!(with(""), with("HTTP_PROXY=http://evil.example"));
        assert_ne!(with(""), essence(b"OPENAI_BASE_URL=http://evil.example"));
    }
}
