//! The keys of `[secrets]`.

use super::macros::settings;
use crate::config::form::{
    HeaderText, ModeOfSecret, ProviderOfSecret, SecretSourceText, TemplateText, Url, VariableName,
};
use crate::config::key::{Key, TextFormat, TrustRule, ValueKind};
use crate::config::value::{SecretMode, SecretProvider};
use crate::plan::SecretSource;
use crate::rules::env::Name;
use crate::rules::upstream::{CredentialHeader, HeaderTemplate, UpstreamUrl};

/// The rows of the table itself.
pub(super) const TABLE: &[Key] = &[
    Key {
        path: "secrets",
        kind: ValueKind::Named(TextFormat::Name),
        doc: "Credentials of the agent, one table for each. The value itself never stands here.",
        ..Key::NONE
    },
    Key {
        path: "secrets.*",
        kind: ValueKind::Table,
        doc: "One secret.",
        trust: TrustRule::Needed("it is there: it hands a credential to the agent"),
        ..Key::NONE
    },
];

settings! {
    /// One table of `[secrets]`.
    entry SecretTable at "secrets.*." {
        mode: SecretMode as ModeOfSecret = {
            doc: "`inject` makes the value visible inside; with `proxy` it never enters.",
            trust: TrustRule::Free,
            example: "\"inject\"",
            // "inject" would put a value inside that was to stay outside.
            example_beside: Some(("provider", "\"proxy\"")),
            required: true,
        }
        env_var: Name as VariableName = {
            doc: "The variable it becomes inside; with `proxy`, that in which the agent has a token for it.",
            trust: TrustRule::Free,
            example: "\"GITHUB_TOKEN\"",
            required: true,
            unless: Some(("provider", "ollama")),
        }
        source: SecretSource as SecretSourceText = {
            doc: "Where the value is read from at the start: `env:NAME`, `file:PATH`, or what a shell prints for \
                 `command:TEXT`.",
            trust: TrustRule::Free,
            example: "\"env:GITHUB_TOKEN\"",
            required: true,
            unless: Some(("provider", "ollama")),
        }
        provider: SecretProvider as ProviderOfSecret = {
            doc: "Whose interface the proxy adds the value to; `custom` needs `upstream`, `header` and `url_var`. `github`, and \
                 `custom` without `url_var`, need `[network] intercept` with the host.",
            trust: TrustRule::Free,
            example: "\"anthropic\"",
        }
        upstream: UpstreamUrl as Url = {
            doc: "Where the proxy sends requests of a `custom` provider.",
            trust: TrustRule::Free,
            example: "\"https://api.example.org\"",
        }
        header: CredentialHeader as HeaderText = {
            doc: "The header in which a `custom` provider wants the value.",
            trust: TrustRule::Free,
            example: "\"x-api-key\"",
        }
        template: HeaderTemplate as TemplateText = {
            doc: "What that header says; `{}` stands for the value. Without it, the value alone. What comes after `Basic ` is encoded if \
                 it has a colon.",
            trust: TrustRule::Free,
            example: "\"Bearer {}\"",
        }
        url_var: Name as VariableName = {
            doc: "The variable in which the agent has the URL of the proxy that stands for `upstream`.",
            trust: TrustRule::Free,
            example: "\"EXAMPLE_BASE_URL\"",
        }
    }
}
