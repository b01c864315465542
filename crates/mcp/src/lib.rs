//! The MCP server: tools with which a model runs commands in sandboxes, over standard streams or HTTP.
//!
//! The protocol is that of <https://modelcontextprotocol.io/specification/2025-06-18>. The program that uses this crate says how sandboxes are made
//! ([`Program`]), and where the client is ([`stdio`], [`http`]). Everything that waits for a sandbox runs on a bounded number of threads of its own,
//! and never on those that speak the protocol.
#![forbid(unsafe_code)]

mod admission;
mod approval;
mod failure;
mod program;
mod resources;
mod room;
mod server;
mod session;
mod tools;
mod transport;

pub use self::failure::Failure;
pub use self::program::{AskTerminal, Made, Make, Program, Questions, ReadSecrets, Remove, TerminalAnswer};
pub use self::tools::definitions;
pub use self::transport::http::{self, HttpOptions};
pub use self::transport::stdio;
pub use self::transport::token::{Token, TokenError};
