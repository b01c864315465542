//! Providers of models: where their interfaces are, which variables their clients read, and what a credential in proxy mode is good for.
//!
//! Data from the providers' own references and their clients' sources, as of 2026-11. What is allowed is what asks a model something;
//! accounts, keys, bills, other people's files and models that a server is to fetch stay out of reach of the credential.

/// A provider whose credentials the egress proxy adds to requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CredentialProvider {
    /// Its name in sandbox.toml, and the first part of its paths on the proxy.
    pub name: &'static str,
    /// Where it is: a URL without a path.
    pub upstream: &'static str,
    /// How it wants to be shown a credential, in each form that it gives out; the first is the usual one. None: it wants none.
    pub credentials: &'static [CredentialForm],
    /// Variables that tell clients where it is, each with what comes after the proxy's URL and the provider's name.
    pub base_urls: &'static [(&'static str, &'static str)],
    /// What a credential is good for.
    pub allowed: &'static [Allowed],
    /// Where this row is from.
    pub source: &'static str,
}

/// One form of a provider's credentials.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CredentialForm {
    /// How a value of this form begins, which distinguishes it from others.
    pub prefix: &'static str,
    /// How a token begins that stands for one inside: clients look at that.
    pub token_prefix: &'static str,
    /// The variable that its clients read it from.
    pub env_var: &'static str,
    pub header: &'static str,
    /// What the header says; `{}` is the credential.
    pub template: &'static str,
}

/// Requests that pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Allowed {
    pub methods: &'static [&'static str],
    /// A path; with `/*` at its end every path below it, and not itself.
    pub path: &'static str,
}

const fn ask(path: &'static str) -> Allowed {
    Allowed { methods: &["POST"], path }
}

const fn read(path: &'static str) -> Allowed {
    Allowed { methods: &["GET"], path }
}

/// Every provider that is known by name.
pub const PROVIDERS: &[CredentialProvider] = &[
    CredentialProvider {
        name: "anthropic",
        upstream: "https://api.anthropic.com",
        credentials: &[
            CredentialForm {
                prefix: "sk-ant-api",
                token_prefix: "sk-ant-api03-",
                env_var: "ANTHROPIC_API_KEY",
                header: "x-api-key",
                template: "{}",
            },
            // What `claude setup-token` prints. The client adds the `anthropic-beta` header that goes with it when it sees the prefix.
            CredentialForm {
                prefix: "sk-ant-oat",
                token_prefix: "sk-ant-oat01-",
                env_var: "CLAUDE_CODE_OAUTH_TOKEN",
                header: "authorization",
                template: "Bearer {}",
            },
        ],
        // The second is goose's.
        base_urls: &[("ANTHROPIC_BASE_URL", ""), ("ANTHROPIC_HOST", "")],
        allowed: &[
            ask("/v1/messages"),
            ask("/v1/messages/count_tokens"),
            ask("/v1/complete"),
            read("/v1/models"),
            read("/v1/models/*"),
        ],
        source: "docs.claude.com/en/api and code.claude.com/docs/en/llm-gateway-protocol",
    },
    CredentialProvider {
        name: "openai",
        upstream: "https://api.openai.com",
        credentials: &[CredentialForm {
            prefix: "sk-",
            token_prefix: "sk-",
            env_var: "OPENAI_API_KEY",
            header: "authorization",
            template: "Bearer {}",
        }],
        // The SDKs take it with the version, older ones by the second name; goose adds the version itself.
        base_urls: &[("OPENAI_BASE_URL", "/v1"), ("OPENAI_API_BASE", "/v1"), ("OPENAI_HOST", "")],
        allowed: &[
            ask("/v1/responses"),
            Allowed { methods: &["DELETE", "GET", "POST"], path: "/v1/responses/*" },
            ask("/v1/chat/completions"),
            ask("/v1/completions"),
            ask("/v1/embeddings"),
            ask("/v1/moderations"),
            ask("/v1/images/*"),
            ask("/v1/audio/*"),
            read("/v1/models"),
            read("/v1/models/*"),
            // Codex: search on the web, and summaries of what was said.
            ask("/v1/alpha/search"),
            ask("/v1/memories/*"),
        ],
        source: "platform.openai.com/docs/api-reference and codex-rs/codex-api/src/endpoint of openai/codex",
    },
    CredentialProvider {
        name: "google",
        upstream: "https://generativelanguage.googleapis.com",
        credentials: &[CredentialForm {
            prefix: "AIza",
            token_prefix: "AIza",
            env_var: "GEMINI_API_KEY",
            header: "x-goog-api-key",
            template: "{}",
        }],
        base_urls: &[("GOOGLE_GEMINI_BASE_URL", "")],
        allowed: &[
            read("/v1/models"),
            Allowed { methods: &["GET", "POST"], path: "/v1/models/*" },
            read("/v1alpha/models"),
            Allowed { methods: &["GET", "POST"], path: "/v1alpha/models/*" },
            read("/v1beta/models"),
            Allowed { methods: &["GET", "POST"], path: "/v1beta/models/*" },
            ask("/v1beta/openai/chat/completions"),
            ask("/v1beta/openai/embeddings"),
            read("/v1beta/openai/models"),
        ],
        source: "ai.google.dev/api and src/_base_url.ts of googleapis/js-genai",
    },
    CredentialProvider {
        name: "ollama",
        upstream: "http://127.0.0.1:11434",
        credentials: &[],
        base_urls: &[("OLLAMA_HOST", "")],
        allowed: &[
            Allowed { methods: &["GET", "HEAD"], path: "/" },
            ask("/api/chat"),
            ask("/api/generate"),
            ask("/api/embed"),
            ask("/api/embeddings"),
            ask("/api/show"),
            read("/api/tags"),
            read("/api/ps"),
            Allowed { methods: &["GET", "HEAD"], path: "/api/version" },
            ask("/v1/chat/completions"),
            ask("/v1/completions"),
            ask("/v1/embeddings"),
            ask("/v1/responses"),
            ask("/v1/messages"),
            read("/v1/models"),
            read("/v1/models/*"),
        ],
        source: "docs.ollama.com/api",
    },
];

/// A provider whose clients speak TLS to its own servers: the proxy adds the credential where it intercepts that.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HostedProvider {
    /// Its name in sandbox.toml.
    pub name: &'static str,
    pub servers: &'static [CreditedHost],
    /// Parts of a query that its servers take a credential from, or did, in the form of [`super::credentials`].
    pub parameters: &'static [&'static str],
    /// How its credentials begin. A token that stands for one begins in the same way: clients look at that.
    pub prefixes: &'static [&'static str],
    /// Where this row is from.
    pub source: &'static str,
}

/// A server of such a provider, by TLS on the usual port.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CreditedHost {
    pub host: &'static str,
    pub header: &'static str,
    /// What the header says; `{}` is the credential.
    pub template: &'static str,
}

const fn with_password(host: &'static str) -> CreditedHost {
    CreditedHost { host, header: "authorization", template: "Basic x-access-token:{}" }
}

const fn with_bearer(host: &'static str) -> CreditedHost {
    CreditedHost { host, header: "authorization", template: "Bearer {}" }
}

/// Every such provider that is known by name.
pub const HOSTED: &[HostedProvider] = &[HostedProvider {
    name: "github",
    servers: &[
        // git asks without a credential first, and takes a token as the password.
        with_password("github.com"),
        with_password("gist.github.com"),
        with_bearer("api.github.com"),
        with_bearer("uploads.github.com"),
        with_bearer("raw.githubusercontent.com"),
    ],
    // `token` is in links to single files, which it makes itself.
    parameters: &["access_token", "client_secret"],
    prefixes: &["github_pat_", "ghp_", "gho_", "ghu_", "ghs_"],
    source: "docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github",
}];

impl HostedProvider {
    /// Returns the provider of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        HOSTED.iter().find(|provider| provider.name == name)
    }

    /// Returns how a token begins that stands for this credential.
    pub fn token_prefix(credential: &str) -> &'static str {
        let mut prefixes = HOSTED.iter().flat_map(|provider| provider.prefixes);
        prefixes.find(|prefix| credential.starts_with(**prefix)).copied().unwrap_or_default()
    }
}

impl CredentialProvider {
    /// Returns the provider of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.name == name)
    }

    /// Returns the form that a credential has: the one whose prefix it has, else the usual one.
    pub fn form(&self, credential: &str) -> Option<&'static CredentialForm> {
        let has_prefix = |form: &&CredentialForm| credential.starts_with(form.prefix);
        self.credentials.iter().find(has_prefix).or(self.credentials.first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_what_their_users_take_them_for() {
        for provider in PROVIDERS {
            assert!(
                provider.upstream.starts_with("http") && !provider.upstream.ends_with('/'),
                "{provider:?}"
            );
            assert!(provider.name.bytes().all(|byte| byte.is_ascii_lowercase()), "{provider:?}");
            assert!(!provider.base_urls.is_empty() && !provider.allowed.is_empty(), "{provider:?}");
            for form in provider.credentials {
                assert_eq!(form.template.matches("{}").count(), 1, "{form:?}");
                assert!(form.token_prefix.starts_with(form.prefix), "{form:?}");
                assert_eq!(form.header, form.header.to_ascii_lowercase(), "{form:?}");
            }
            for allowed in provider.allowed {
                assert!(allowed.path.starts_with('/') && !allowed.methods.is_empty(), "{allowed:?}");
                assert!(allowed.path == "/" || !allowed.path.ends_with('/'), "{allowed:?}");
            }
        }
    }

    #[test]
    fn a_credential_is_shown_as_its_form_wants_it() {
        let anthropic = CredentialProvider::named("anthropic").unwrap();
        let header = |credential| anthropic.form(credential).unwrap().header;
        assert_eq!(header("sk-ant-api03-x"), "x-api-key");
        assert_eq!(header("sk-ant-oat01-x"), "authorization");
        assert_eq!(header("another"), "x-api-key");
        assert_eq!(CredentialProvider::named("ollama").unwrap().form("x"), None);
        assert_eq!(CredentialProvider::named("unknown"), None);
    }
}
