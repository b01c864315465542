//! What `mcp` takes.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::deferred::Deferred;
use super::request::PlanRequest;
use super::source::Answers;

/// Give the tools of a model to clients of MCP.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Serve a client on standard input and output, or clients over HTTP
    ///
    /// It takes what `run` takes. The first command that a client asks for makes its sandbox, which is removed when the client has gone.
    /// Standard output is the client's; everything else is on stderr.
    Serve(Box<Deferred<McpServeArgs>>),
    /// Add the server to the configuration of a client
    ///
    /// Shows what changes in the file, and asks. Other entries and comments stay. What follows `--` are flags for `mcp serve`.
    Install(McpInstallArgs),
}

#[derive(Args, Debug)]
pub(crate) struct McpServeArgs {
    #[command(flatten)]
    pub(crate) request: PlanRequest,
    /// Serve HTTP at http://ADDRESS:PORT/mcp, to whoever has the token; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) http: Option<SocketAddr>,
    /// Read the token from this file, which only you may read; where it is not there, it is made. Without it, a new token is printed on stderr
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Serve at an address that others can reach, too. Nothing is encrypted: put a proxy with TLS before it
    #[arg(long, requires = "http")]
    pub(crate) http_remote: bool,
    /// Answer to this name, too, in Host and Origin headers; localhost and the address itself always count
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) http_host: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct McpInstallArgs {
    /// Whose configuration it is
    #[arg(long, value_enum, value_name = "CLIENT")]
    pub(crate) client: McpClient,
    /// The name of the server in it
    #[arg(long, value_name = "NAME", default_value = "sandbox")]
    pub(crate) name: String,
    /// The file, where it is not the usual one of the client
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print what is to be added, and write nothing
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) answers: Answers,
    /// Flags for `mcp serve`, after `--`
    #[arg(last = true, value_name = "FLAG")]
    pub(crate) flags: Vec<OsString>,
}

/// A client whose configuration is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum McpClient {
    /// Claude Code, for the project in the working directory: `.mcp.json`
    ClaudeCode,
    /// Codex, for the user: `config.toml` in `~/.codex`
    Codex,
    /// Cursor, for the project in the working directory: `.cursor/mcp.json`
    Cursor,
    /// VS Code, for the project in the working directory: `.vscode/mcp.json`
    Vscode,
}
