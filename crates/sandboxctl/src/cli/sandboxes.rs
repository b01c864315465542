//! What can be typed about persistent sandboxes.

use std::ffi::OsString;

use clap::Args;

/// One sandbox.
#[derive(Args, Debug)]
pub(crate) struct NameArgs {
    /// The name of the sandbox, or its id
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

/// Some sandboxes.
#[derive(Args, Debug)]
pub(crate) struct NamesArgs {
    /// The names of the sandboxes, or their ids
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// List stopped ones too
    #[arg(short, long)]
    pub(crate) all: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StopArgs {
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    /// How long everything inside may take to end by itself, such as 30s; 0 kills it at once
    #[arg(short = 't', long = "time", value_name = "TIME", default_value = "10s")]
    pub(crate) time: String,
}

#[derive(Args, Debug)]
pub(crate) struct RemoveArgs {
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    /// Kill it first if it runs
    #[arg(short, long)]
    pub(crate) force: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StatsArgs {
    /// The names of the sandboxes, or their ids; without one, all that live
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Accepted as `docker stats` does: there is one answer
    #[arg(long, hide = true)]
    pub(crate) no_stream: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CopyArgs {
    /// Copy what a link leads to, where the path itself is one
    #[arg(short = 'L', long)]
    pub(crate) follow_link: bool,
    /// What is copied: NAME:PATH in a sandbox, a path of the host, or `-` for an archive on standard input
    #[arg(value_name = "FROM")]
    pub(crate) from: OsString,
    /// Where to: NAME:PATH in a sandbox, a path of the host, or `-` for an archive on standard output
    #[arg(value_name = "TO")]
    pub(crate) to: OsString,
}

#[derive(Args, Debug)]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(crate) name: NameArgs,
    /// Go on until the sandbox has ended
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Begin with what was written since then: how long ago, such as 10m, or a moment, such as 2026-01-02T03:04:05Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Begin with this many lines from the end
    #[arg(short = 'n', long, value_name = "LINES")]
    pub(crate) tail: Option<usize>,
    /// Print when each line was written
    #[arg(short, long)]
    pub(crate) timestamps: bool,
}

#[derive(Args, Debug)]
pub(crate) struct EventsArgs {
    /// Begin with what has happened since then, such as 10m
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// End with what has happened until then; 0s is now
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Print only these: sandbox=NAME or event=WORD; several of a kind are alternatives
    #[arg(short, long, value_name = "FILTER")]
    pub(crate) filter: Vec<String>,
}
