//! The command line, as data: what can be typed, and the help that explains it.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use policy::agents::{PROFILES, Profile};

use crate::error::code;

pub(crate) use self::build::BuildArgs;
pub(crate) use self::command::{EngineHabits, LifeArgs, PassArgs};
pub(crate) use self::deferred::Deferred;
pub(crate) use self::egress::{
    EgressAllowArgs, EgressCommand, EgressDenyArgs, EgressForgetArgs, EgressLogArgs,
};
pub(crate) use self::exec::ExecArgs;
pub(crate) use self::fs::{
    FsCommand, FsEditArgs, FsListArgs, FsPathArgs, FsReadArgs, FsSearchArgs, FsSelectionArgs,
};
pub(crate) use self::hook::{HookAgent, HookArgs};
pub(crate) use self::mcp::{McpClient, McpCommand, McpInstallArgs, McpServeArgs};
pub(crate) use self::request::PlanRequest;
pub(crate) use self::sandboxes::{
    CopyArgs, EventsArgs, ListArgs, LogsArgs, NamesArgs, RemoveArgs, StatsArgs, StopArgs,
};
pub(crate) use self::source::{Answers, ConfigSource, Trusted};
pub(crate) use self::unnamed::Unnamed;

mod build;
mod command;
mod deferred;
mod egress;
mod exec;
mod fs;
mod hook;
mod keys;
mod mcp;
pub(crate) mod parse;
mod request;
mod sandboxes;
pub(crate) mod source;
mod unnamed;
pub(crate) mod usage;

/// Run a command in a sandbox that has the directories, variables and credentials you name, and nothing else
#[derive(Debug, Parser)]
#[command(
    name = "sandboxctl",
    version,
    after_long_help = code::list(),
    propagate_version = true,
    subcommand_required = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// What every command takes.
#[derive(Args, Debug)]
pub(crate) struct Global {
    /// The form of what is printed on stdout, errors included
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Say nothing on stderr but errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Log on stderr what is done on the way; twice more of it, three times all. `SANDBOXCTL_LOG` chooses by part
    #[arg(long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// The form of what is printed on stdout.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    #[default]
    Text,
    /// One JSON object
    Json,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Write a commented sandbox.toml; an existing one is never overwritten
    Init(InitArgs),
    /// Build the image of container providers, for every platform that `[image]` names
    ///
    /// buildx does the work, with the caller's builders and credentials. Prints the names of the image with its
    /// digest; --format json adds the digest of each platform.
    Build(Deferred<BuildArgs>),
    /// Run a command in a fresh sandbox and remove the sandbox afterwards
    ///
    /// Without a sandbox.toml the working directory becomes /workspace, read-write, and the network is off.
    /// stdin, stdout and stderr pass through byte-exact; a terminal is detected.
    Run(Deferred<RunArgs>),
    /// Run many commands, each in a fresh sandbox of its own, some at a time
    ///
    /// Each line of FILE is a task: an object with `id`, and `command`, `config`, `provider`, `timeout`, `env`, `volumes`, `group`, `retries` and
    /// `retry_on` where they are wanted; the flags hold for tasks that do not say otherwise. A regular file is checked
    /// as a whole before anything runs; from a pipe, tasks start as they arrive. Prints a line of JSON for each task as it ends: what
    /// `run --format json` prints, with the `id`. The exit code is 0 if every command ended with 0, and 123 if one did not.
    Batch(Deferred<BatchArgs>),
    /// Make a persistent sandbox, for `exec`
    ///
    /// It takes what `run` takes, and waits for commands. It lives without any process of ours on the host, until `stop`, or until
    /// `[lifecycle]` ends it. Prints its name.
    Create(Deferred<CreateArgs>),
    /// Run another command in a running sandbox, confined as the first one is
    ///
    /// It gets what the sandbox was made with: variables, secrets, directory and limits, whatever is configured by now. The sandbox is one of `create` or
    /// `run --detach`, or that of a `run --name` whose command still runs. It ends with this program, unless it is detached.
    Exec(Deferred<ExecArgs>),
    /// List the sandboxes that have a name: persistent ones, and those of `run --name`
    #[command(visible_alias = "ps")]
    Ls(ListArgs),
    /// Show everything that is known of a sandbox
    Inspect(NamesArgs),
    /// Print what the command of `run --detach` has written
    Logs(LogsArgs),
    /// Print what happens to sandboxes, as it happens
    ///
    /// Each event is a line; with --format json a JSON object on one line. Events are `create`, `start` (made again after its end), `exec_start`, `exec_end`,
    /// `pause`, `unpause`, `stop` (somebody has asked for the end), `die` (with its cause: command, stopped, idle, aged or killed) and `remove`.
    /// A time is how long ago (10m), a moment (2026-01-02T03:04:05Z), or seconds since 1970, as in `docker events`.
    Events(EventsArgs),
    /// Copy files between the host and a sandbox, or from one to another
    ///
    /// As `docker cp`: into a directory that is there, else to that path; `DIR/.` is what the directory contains; `-` is an archive of tar.
    /// A path in a sandbox begins at its root. Links are copied and never followed.
    Cp(CopyArgs),
    /// Read, write and search files of a sandbox, as its agent could
    #[command(subcommand)]
    Fs(FsCommand),
    /// Wait until sandboxes have ended, and print their exit codes
    Wait(NamesArgs),
    /// Show what persistent sandboxes use: time on processors, memory, processes
    Stats(StatsArgs),
    /// Stop every process in persistent sandboxes, until `unpause`
    Pause(NamesArgs),
    /// Resume every process in paused sandboxes
    Unpause(NamesArgs),
    /// Restart the idle time of sandboxes
    Touch(NamesArgs),
    /// Make sandboxes again that have ended, from what they were made from
    ///
    /// Shared directories are the same; what was written elsewhere inside is gone. `exec` does so by itself where the idle time of a
    /// sandbox was over.
    Start(NamesArgs),
    /// End persistent sandboxes; `ls --all` and `logs` show them until `rm`
    Stop(StopArgs),
    /// Remove sandboxes that have ended, with their logs
    Rm(RemoveArgs),
    /// Remove every sandbox that has ended
    Prune,
    /// Make containers ahead, so that `run` and `create` find one that is warm
    #[command(subcommand)]
    Pool(PoolCommand),
    /// Open an interactive shell in a fresh sandbox, or in a persistent one
    Shell(Deferred<ShellArgs>),
    /// Show what `run` would do, fully resolved, without doing it
    Plan(Deferred<PlanArgs>),
    /// Show what a sandbox.toml widens, and trust exactly this content
    Trust(TrustArgs),
    /// Take back the trust in a sandbox.toml
    Untrust(UntrustArgs),
    /// Check, show or describe the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Ask what the policy says of a path, a host or a variable
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Change what a living sandbox may reach, and show what it has
    #[command(subcommand)]
    Egress(EgressCommand),
    /// Show the profiles of published agents, which `run --agent` and `[agent] profile` name
    #[command(subcommand)]
    Agent(AgentCommand),
    /// List, copy and remove home directories of persistent sandboxes
    #[command(subcommand)]
    Home(HomeCommand),
    /// Give the tools of a model to clients of MCP: commands in a sandbox
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Answer a hook that an agent runs before it uses its shell tool: the command runs in a sandbox of the session, if it may
    ///
    /// Reads the call on standard input and prints the answer. It takes what `run` takes. The first command of a session makes its sandbox, which
    /// ends when it has been idle for 30 minutes, or as `[lifecycle]` says. `[commands]` says which commands run, and which a person is
    /// asked about. If anything fails, the command does not run.
    Hook(Deferred<HookArgs>),
    /// Test every layer of isolation on this machine, with a temporary sandbox
    Doctor,
    /// Relay sockets of the host for a persistent sandbox; `create` and `run --detach` start it by themselves
    #[command(hide = true)]
    SocketRelay,
    /// Start children of a sandbox; `run` and `create` start this by themselves
    #[command(hide = true)]
    Children,
    /// Run the plan of a child, which is on standard input
    #[command(hide = true)]
    Child,
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page
    Man(ManArgs),
}

#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Set the sandbox up for this agent
    #[arg(long, value_name = "NAME", value_parser = profile())]
    pub(crate) agent: Option<Profile>,
    /// The file to write
    #[arg(default_value = "sandbox.toml", value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) request: PlanRequest,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
    #[command(flatten)]
    pub(crate) life: LifeArgs,
    #[command(flatten)]
    pub(crate) pass: PassArgs,
    /// Ask about hosts that no rule says anything of, on the terminal or with --format json by events; the connection waits
    ///
    /// Nothing of the command may be on that terminal: `sandboxctl egress ask NAME` in another one asks for any sandbox with an
    /// allow-list of hosts.
    #[arg(long)]
    pub(crate) ask: bool,
    /// Leave the sandbox running and return at once: its name is printed, and `logs` shows what the command writes
    #[arg(short, long)]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) habits: EngineHabits,
    /// Accepted as `docker run` does: a sandbox is always removed when its command has ended
    #[arg(long, hide = true)]
    pub(crate) rm: bool,
    /// The command and its arguments, after `--` or not; without it, `[agent] command` runs
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    pub(crate) argv: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct BatchArgs {
    /// How many sandboxes there are at once; without it, as many as there are processors
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Cancel every other task when one has failed
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Let tasks say `config`, `provider` and `volumes` though an agent may have written FILE
    #[arg(long)]
    pub(crate) trust_tasks: bool,
    #[command(flatten)]
    pub(crate) defaults: Unnamed<PlanRequest>,
    /// The tasks, one JSON object on each line; without it, or as `-`, standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    pub(crate) request: PlanRequest,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
    /// Use the sandbox of this name if it is there and was made from the same
    #[arg(long, requires = "name")]
    pub(crate) reuse: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ShellArgs {
    #[command(flatten)]
    pub(crate) request: PlanRequest,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
    #[command(flatten)]
    pub(crate) life: LifeArgs,
    #[command(flatten)]
    pub(crate) pass: PassArgs,
    /// The persistent sandbox in which the shell is opened; without it, a fresh one is made
    #[arg(value_name = "NAME")]
    pub(crate) sandbox: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) request: PlanRequest,
    /// The command and its arguments, after `--` or not; without it, `[agent] command` is planned
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    pub(crate) argv: Vec<OsString>,
}

/// What a run shows besides the output of the command.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Print the plan and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print what was enforced on stderr, layer by layer, when the command has ended
    #[arg(long)]
    pub(crate) report: bool,
}

#[derive(Args, Debug)]
pub(crate) struct TrustArgs {
    /// The file; without it, the one that `run` would use
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Show what the file widens and record nothing
    #[arg(long)]
    pub(crate) show: bool,
    #[command(flatten)]
    pub(crate) answers: Answers,
}

#[derive(Args, Debug)]
pub(crate) struct UntrustArgs {
    /// The file; without it, the one that `run` would use
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// Check, show or describe the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Report every problem of a file at once
    Validate {
        /// The file; without it, the one that `run` would use
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Show the configuration in force
    Show {
        /// Say of every value where it comes from
        #[arg(long)]
        origin: bool,
        #[command(flatten)]
        source: ConfigSource,
    },
    /// Print the JSON Schema of sandbox.toml
    Schema,
}

/// Show the profiles of published agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// List them, with the credential of yours that each would get
    #[command(visible_alias = "list")]
    Ls,
    /// Show what one stands for here, as a sandbox.toml
    Show {
        /// The name of the profile
        #[arg(value_name = "NAME", value_parser = profile())]
        profile: Profile,
    },
}

/// Returns the parser of the name of a profile.
fn profile() -> impl TypedValueParser<Value = Profile> {
    let names = PossibleValuesParser::new(PROFILES.iter().map(|profile| profile.name));
    names.try_map(|name| {
        PROFILES
            .iter()
            .find(|profile| profile.name == name)
            .map(|profile| Profile(profile))
            .ok_or("no profile")
    })
}

/// List, copy and remove home directories of persistent sandboxes.
#[derive(Debug, Subcommand)]
pub(crate) enum HomeCommand {
    /// List them with their size, when a sandbox last had them, and for which project
    #[command(visible_alias = "list")]
    Ls,
    /// Remove home directories with all that is in them
    Rm {
        /// The name, as `home ls` lists it
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
    },
    /// Write one as a tar archive
    Export {
        /// The name, as `home ls` lists it
        #[arg(value_name = "NAME")]
        name: String,
        /// The archive; without it, standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// Make containers ahead.
#[derive(Debug, Subcommand)]
pub(crate) enum PoolCommand {
    /// Make containers until as many wait as `[pool] size` says
    ///
    /// It takes what `run` takes: a container waits for the commands of whoever has the same image, shared directories, limits and network.
    /// `run` and `create` do the same in the background when they have taken one.
    Fill(Box<Deferred<PlanRequest>>),
    /// End every container that waits
    Drain,
    /// Show what waits, and how long sandboxes took to start that had a pool: warm ones and cold ones
    Stats,
    /// Fill the pool of the plan on standard input; `run` starts it by itself
    #[command(hide = true)]
    Refill {
        /// How often the pool had been drained when `run` started it: where it has been since, nothing is made
        drains: u64,
    },
}

/// Ask what the policy says.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Give the verdict: exit code 0 for allowed, 77 for denied
    ///
    /// With --format json: `decision` is allow, ask or deny, `rule` the reason in words, `origin` where the rule stands,
    /// and `enforcement` says how a denial is carried out: prevented (the sandbox refuses it), detected (the agent can do
    /// it, and what it made is quarantined when a program outside would obey it), tools (those of `mcp serve` and `hook` refuse
    /// it, and no sandbox does) or none; null where nothing is denied.
    Check(PolicyArgs),
    /// Give the verdict with its reason in words; the exit code is 0 either way
    Explain(PolicyArgs),
}

#[derive(Args, Debug)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) subject: Subject,
    #[command(flatten)]
    pub(crate) source: ConfigSource,
}

/// What a question to the policy is about.
#[derive(Debug, Subcommand)]
pub(crate) enum Subject {
    /// May this path be used?
    Path {
        /// An absolute path as the sandbox sees it
        path: PathBuf,
        /// What is to be done with it
        #[arg(long, value_enum, default_value_t, value_name = "ACCESS")]
        access: Access,
        /// Take the path as one of this machine
        #[arg(long)]
        host: bool,
    },
    /// May this host be reached?
    Host {
        /// A host name or address, with a port or without
        #[arg(value_name = "HOST[:PORT]")]
        host: String,
    },
    /// May this request be sent?
    Request {
        /// Its method
        method: String,
        /// What is asked for, without a query
        #[arg(value_name = "URL")]
        url: String,
    },
    /// May this command run, if a model asks for it?
    Command {
        /// The text of a shell
        text: String,
    },
    /// Does this variable of the caller's environment pass?
    Env {
        /// The name of a variable
        name: String,
    },
}

/// What is to be done with a path.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum Access {
    /// Read a file or list a directory
    #[default]
    Read,
    /// Write, create, rename or remove
    Write,
    /// Execute a program
    Execute,
}

#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Write one page for every command into this directory instead
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,
}

/// Returns the format that a command line requests, even where the rest of it is wrong.
pub(crate) fn format_asked(args: &[OsString]) -> Format {
    let before_command = args.iter().take_while(|arg| *arg != "--").collect::<Vec<_>>();
    let separate = before_command.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json");
    if separate || before_command.iter().any(|arg| *arg == "--format=json") {
        Format::Json
    } else {
        Format::Text
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn is_a_sound_definition() {
        Cli::command().debug_assert();
    }

    #[test]
    fn finds_the_format_of_a_line_that_cannot_be_parsed() {
        let line = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(format_asked(&line("sandboxctl --format json runn")), Format::Json);
        assert_eq!(format_asked(&line("sandboxctl runn --format=json")), Format::Json);
        assert_eq!(format_asked(&line("sandboxctl run -- --format json")), Format::Text);
    }
}
