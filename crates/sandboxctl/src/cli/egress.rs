//! What `egress` takes.

use clap::{Args, Subcommand};

/// Change what a living sandbox may reach, and show what it has.
#[derive(Debug, Subcommand)]
pub(crate) enum EgressCommand {
    /// Allow a running sandbox to reach hosts
    Allow(EgressAllowArgs),
    /// Show each connection of a sandbox that no rule covers, and take the answers, until the sandbox ends
    ///
    /// As long as this runs, such a connection waits for the answer, a minute at most. With --format json each question is a line
    /// `{"event":"egress.ask","id":1,"sandbox":"NAME","host":"HOST","port":443}`, and `egress allow` or `egress deny` answers it.
    Ask {
        /// The name of the sandbox, as `run --name` gave it
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Deny a running sandbox some hosts, and end its connections to them
    Deny(EgressDenyArgs),
    /// Take back what `allow` or `deny` has said of hosts, so that the rules hold that the sandbox started with
    Forget(EgressForgetArgs),
    /// List the rules in force, and what was asked for and refused; without a name, the sandboxes that run
    List {
        /// The name of the sandbox, as `run --name` gave it
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Print one line of JSON for each connection that was allowed or refused
    Log(EgressLogArgs),
    /// Run the egress proxy of a sandbox; `run` starts it by itself
    #[command(hide = true)]
    Serve,
}

#[derive(Args, Debug)]
pub(crate) struct EgressAllowArgs {
    /// The name of the sandbox, as `run --name` gave it
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What may be reached, as in `[network] allow`; presets too
    #[arg(value_name = "HOST[:PORT]", required = true)]
    pub(crate) hosts: Vec<String>,
    /// For how long, such as 10m; else until the sandbox ends
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct EgressDenyArgs {
    /// The name of the sandbox, as `run --name` gave it
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What may not be reached, as in `[network] deny`
    #[arg(value_name = "HOST[:PORT]", required = true)]
    pub(crate) hosts: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct EgressForgetArgs {
    /// The name of the sandbox, as `run --name` gave it
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What was allowed or denied, as it was said
    #[arg(value_name = "HOST[:PORT]", required = true)]
    pub(crate) hosts: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct EgressLogArgs {
    /// Print each line as it is written, until the sandbox ends
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// The name of the sandbox, as `run --name` gave it
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}
