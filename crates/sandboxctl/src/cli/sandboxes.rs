//! What can be typed about sandboxes that stay.

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
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(crate) name: NameArgs,
    /// Go on until the sandbox has ended
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Begin with what was written within this time, such as 10m
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Begin with this many lines from the end
    #[arg(short = 'n', long, value_name = "LINES")]
    pub(crate) tail: Option<usize>,
    /// Print when each line was written
    #[arg(short, long)]
    pub(crate) timestamps: bool,
}
