//! The public conformance suite of MCP, and the published inspector.

use std::process::{Command, Stdio};

use crate::machine::{Feature, is_there};

#[test]
fn the_public_suite_passes_but_for_what_it_asks_of_its_own_server() {
    if !is_there(Feature::Agents, "the public suite of MCP") {
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/mcp-conformance");
    let output =
        Command::new(script).arg(env!("CARGO_BIN_EXE_sandboxctl")).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:#?}");
}
