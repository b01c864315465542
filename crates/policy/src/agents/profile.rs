//! An agent profile: what it says, and the settings of `sandbox.toml` that it stands for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;

use crate::config::defaults::HOME;
use crate::rules::network::egress::PROXY;

/// A coding agent, as its makers publish it.
#[derive(Debug)]
pub struct AgentProfile {
    /// Its name in `sandbox.toml`.
    pub name: &'static str,
    /// What its makers call it.
    pub title: &'static str,
    /// The name of its program.
    pub program: &'static str,
    /// What stands behind that name in every command, such as the switch that turns its own sandbox off.
    pub arguments: &'static [&'static str],
    pub env: &'static [(&'static str, &'static str)],
    /// Its credentials, the first that the caller has counts.
    pub credentials: &'static [ProfileCredential],
    /// Hosts that may be reached, besides that of the credential: as in `[network] allow`.
    pub allow: &'static [&'static str],
    /// Files of the caller's home that it reads, without any credential in them: shown read-only at the same place of the home
    /// directory inside, where they are there.
    pub reads: &'static [&'static str],
    /// What it writes in its persistent home directory.
    pub writes: &'static [&'static str],
    /// How its own sandbox is turned off, in words; ours is around it, and inside there are no further user namespaces.
    pub own_sandbox: &'static str,
    /// How it is installed in an image.
    pub install: &'static str,
    pub sources: &'static [Source],
}

/// A credential of an agent.
#[derive(Debug)]
pub struct ProfileCredential {
    /// The variable in which the caller has it, and the agent something in its place.
    pub variable: &'static str,
    pub handling: Handling,
    /// Further arguments, as [`AgentProfile::arguments`]. `{url}` is where the egress proxy adds the credential.
    pub arguments: &'static [&'static str],
    /// Further variables, with `{url}` too.
    pub env: &'static [(&'static str, &'static str)],
}

/// How an agent is given a credential.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Handling {
    /// The egress proxy adds it to requests to this provider, by name.
    Proxy(&'static str),
    /// The egress proxy adds it in this header to requests to this host, to which it ends TLS itself: the agent knows no other
    /// address, or takes none.
    Intercepted { name: &'static str, host: &'static str, header: &'static str },
    /// The agent sees it, because what it is shown to is not known well enough to add it there.
    Inject,
}

/// Where something of a profile is from.
#[derive(Debug)]
pub struct Source {
    pub url: &'static str,
    /// When it said so.
    pub date: &'static str,
}

/// A profile, as a value of `agent.profile`.
#[derive(Clone, Copy, Debug)]
pub struct Profile(pub &'static AgentProfile);

impl PartialEq for Profile {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Profile {}

/// What of the caller's decides what a profile stands for.
#[derive(Clone, Debug, Default)]
pub struct ProfileContext {
    /// The names of the caller's variables.
    pub variables: BTreeSet<OsString>,
    /// Which of [`AgentProfile::reads`] are there.
    pub files: BTreeSet<&'static str>,
    /// What shows the program in a native sandbox: entries of `[native] expose`.
    pub expose: Vec<String>,
    /// Secrets in proxy mode that are set already: their names, by that of their provider.
    pub proxied: BTreeMap<String, String>,
}

impl AgentProfile {
    /// Returns the credential that counts for this caller.
    pub fn credential(&self, context: &ProfileContext) -> Option<&'static ProfileCredential>
    where
        Self: 'static,
    {
        let is_set = |credential: &&ProfileCredential| {
            let is_proxied = match credential.handling {
                Handling::Proxy(provider) => context.proxied.contains_key(provider),
                Handling::Intercepted { .. } | Handling::Inject => false,
            };
            is_proxied || context.variables.contains(OsStr::new(credential.variable))
        };
        self.credentials.iter().find(is_set)
    }

    /// Returns the command that starts it.
    pub fn command(&self, context: &ProfileContext) -> Vec<String>
    where
        Self: 'static,
    {
        let credential = self.credential(context);
        let more = credential.iter().flat_map(|credential| {
            let url = url(credential, context);
            credential.arguments.iter().map(move |argument| argument.replace("{url}", &url))
        });
        let own = [self.program].into_iter().chain(self.arguments.iter().copied());
        own.map(str::to_owned).chain(more).collect()
    }

    /// Writes which hosts it reaches.
    fn network(&self, credential: Option<&ProfileCredential>) -> Option<String> {
        let intercepted = match credential.map(|credential| credential.handling) {
            Some(Handling::Intercepted { host, .. }) => Some(format!("intercept = {}\n", list(&[host]))),
            _ => None,
        };
        let allowed = (!self.allow.is_empty()).then(|| format!("allow = {}\n", list(self.allow)));
        (allowed.is_some() || intercepted.is_some()).then(|| {
            let lines: String = allowed.into_iter().chain(intercepted).collect();
            format!("[network]\n{lines}")
        })
    }

    /// Writes what it stands for, as a `sandbox.toml`.
    pub fn settings(&self, context: &ProfileContext) -> String
    where
        Self: 'static,
    {
        let credential = self.credential(context);
        let of_credential = credential.map(|credential| pairs(credential.env, &url(credential, context)));
        let env: Vec<String> = [pairs(self.env, "")].into_iter().chain(of_credential).flatten().collect();
        let shared = self.reads.iter().filter(|path| context.files.contains(**path)).zip(1..);
        let tables = [
            Some(format!("[agent]\ncommand = {}\n", list(&self.command(context)))),
            Some("[home]\nkeep = true\n".to_owned()),
            (!env.is_empty()).then(|| format!("[env]\nset = {{ {} }}\n", env.join(", "))),
            credential.and_then(|credential| credential.secret(context)),
            self.network(credential),
            (!context.expose.is_empty()).then(|| format!("[native]\nexpose = {}\n", list(&context.expose))),
        ];
        let shared = shared.map(|(path, number)| {
            let inside = path.replacen('~', HOME, 1);
            let name = format!("{}-{number}", self.name);
            format!("[shared_dirs.{name}]\nhost = {path:?}\nguest = {inside:?}\nmode = \"ro\"\n")
        });
        tables.into_iter().flatten().chain(shared).collect::<Vec<_>>().join("\n")
    }
}

impl ProfileCredential {
    /// Writes the table of it, unless there is one for the same provider already.
    fn secret(&self, context: &ProfileContext) -> Option<String> {
        let Self { variable, handling, .. } = self;
        let (name, how) = match handling {
            Handling::Proxy(provider) if context.proxied.contains_key(*provider) => return None,
            Handling::Proxy(provider) => {
                ((*provider).to_owned(), format!("mode = \"proxy\"\nprovider = {provider:?}\n"))
            }
            Handling::Intercepted { name, host, header } => (
                (*name).to_owned(),
                format!(
                    "mode = \"proxy\"\nprovider = \"custom\"\nupstream = \"https://{host}\"\nheader = {header:?}\n\
                     template = \"{{}}\"\n"
                ),
            ),
            Handling::Inject => (variable.to_lowercase().replace('_', "-"), "mode = \"inject\"\n".to_owned()),
        };
        Some(format!("[secrets.{name}]\n{how}env_var = {variable:?}\nsource = \"env:{variable}\"\n"))
    }
}

/// Returns where the egress proxy adds a credential.
fn url(credential: &ProfileCredential, context: &ProfileContext) -> String {
    let route = match credential.handling {
        Handling::Proxy(provider) => context.proxied.get(provider).map_or(provider, String::as_str),
        Handling::Intercepted { .. } | Handling::Inject => "",
    };
    format!("http://{PROXY}/{route}")
}

/// Writes a list of texts as TOML.
fn list(texts: &[impl AsRef<str>]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| format!("{:?}", text.as_ref())).collect();
    format!("[{}]", texts.join(", "))
}

/// Writes variables as entries of a table of TOML.
fn pairs(env: &[(&str, &str)], url: &str) -> Vec<String> {
    env.iter().map(|(name, value)| format!("{name} = {:?}", value.replace("{url}", url))).collect()
}

impl fmt::Display for AgentProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title)
    }
}
