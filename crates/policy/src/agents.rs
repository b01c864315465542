//! Agent profiles: what published coding agents need of a sandbox, one file each.
//!
//! A profile stands for settings of `sandbox.toml`, and holds beneath every file and flag: what the user or the project sets wins, and
//! lists of hosts and toolchains add up. It holds no credential: it names the variable of the caller's that has one.

pub use self::profile::{AgentProfile, Handling, Profile, ProfileContext, ProfileCredential, Source};

mod aider;
mod claude_code;
mod codex;
mod copilot_cli;
mod gemini_cli;
mod goose;
mod opencode;
mod profile;

/// Every profile, by name.
pub const PROFILES: &[&AgentProfile] = &[
    &aider::AIDER,
    &claude_code::CLAUDE_CODE,
    &codex::CODEX,
    &copilot_cli::COPILOT_CLI,
    &gemini_cli::GEMINI_CLI,
    &goose::GOOSE,
    &opencode::OPENCODE,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsStr;

    use super::claude_code::CLAUDE_CODE;
    use super::codex::CODEX;
    use super::*;
    use crate::Policy;
    use crate::config::effective::Effective;
    use crate::config::problem::Scope;
    use crate::config::{Config, ConfigFile, PathBase};

    /// Returns a caller who has everything that a profile may ask for.
    fn rich(profile: &AgentProfile) -> ProfileContext {
        ProfileContext {
            variables: profile.credentials.iter().map(|credential| credential.variable.into()).collect(),
            files: profile.reads.iter().copied().collect(),
            expose: vec!["node".to_owned(), "/opt/tools".to_owned()],
            proxied: BTreeMap::new(),
        }
    }

    fn layer(text: &str) -> Config {
        let base = PathBase { directory: "/project".into(), home: Some("/home/me".into()) };
        Config::parse(text, &ConfigFile { scope: Scope::Profile, label: "profile".into(), base }).unwrap()
    }

    #[test]
    fn every_profile_is_settings_that_hold_together() {
        for profile in PROFILES {
            for context in [ProfileContext::default(), rich(profile)] {
                let text = profile.settings(&context);
                let mut effective = Effective::default();
                effective.with_profile(layer(&text));
                let policy = Policy::new(&effective, std::path::Path::new("/project"));
                assert!(policy.is_ok(), "{}: {:?}\n{text}", profile.name, policy.err());
                assert!(!text.contains("{url}"), "{text}");
            }
            assert!(
                !profile.sources.is_empty() && profile.sources.iter().all(|one| one.date >= "2026-11-23")
            );
            // Nobody's own sandbox is left on by mistake: it has no namespaces inside.
            assert!(!profile.own_sandbox.is_empty(), "{}", profile.name);
        }
    }

    #[test]
    fn the_first_credential_that_the_caller_has_counts() {
        let mut context = rich(&CLAUDE_CODE);
        assert!(CLAUDE_CODE.settings(&context).contains("source = \"env:ANTHROPIC_API_KEY\""));
        context.variables.remove(OsStr::new("ANTHROPIC_API_KEY"));
        let text = CLAUDE_CODE.settings(&context);
        assert!(
            text.contains("source = \"env:CLAUDE_CODE_OAUTH_TOKEN\"") && text.contains("mode = \"proxy\"")
        );
        assert!(!CLAUDE_CODE.settings(&ProfileContext::default()).contains("secrets"));
    }

    #[test]
    fn a_secret_that_is_set_already_is_used() {
        let proxied = [("openai".to_owned(), "model".to_owned())].into();
        let context = ProfileContext { proxied, ..ProfileContext::default() };
        let text = CODEX.settings(&context);
        assert!(text.contains("http://127.0.0.1:61080/model/v1") && !text.contains("[secrets"), "{text}");
    }

    #[test]
    fn what_others_set_wins_and_lists_add_up() {
        let user = "agent.command = [\"/opt/codex\", \"exec\"]\nnetwork.allow = [\"example.org\"]\nhome.keep = false";
        let mut effective = Effective::merge([layer(user)]);
        effective.with_profile(layer(&CODEX.settings(&ProfileContext::default())));
        let shown = |key: &str| {
            let rows = effective.rows();
            rows.into_iter().find(|row| row.key == key).map(|row| row.value).unwrap()
        };
        assert_eq!(shown("home.keep"), "false");
        assert_eq!(shown("network.allow"), "[\"example.org\", \"preset:openai\"]");
    }

    #[test]
    fn a_command_that_is_the_agent_gets_its_arguments() {
        let base = PathBase { directory: "/project".into(), home: None };
        let file = ConfigFile { scope: Scope::Project, label: "sandbox.toml".into(), base };
        let command = |text: &str| {
            let mut effective = Effective::merge([Config::parse(text, &file).unwrap()]);
            effective.with_profile(layer(&CODEX.settings(&ProfileContext::default())));
            let command = effective.settings().agent.command.clone().unwrap().value;
            command.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" ")
        };
        let switch = "-c sandbox_mode=\"danger-full-access\"";
        assert_eq!(command(""), format!("codex {switch}"));
        assert_eq!(command("agent.command = [\"codex\", \"exec\"]"), format!("codex {switch} exec"));
        assert_eq!(command("agent.command = [\"/opt/codex\"]"), format!("/opt/codex {switch}"));
        assert_eq!(command("agent.command = [\"npm\", \"test\"]"), "npm test");
    }
}
