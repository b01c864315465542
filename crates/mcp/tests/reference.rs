//! The tools in docs/mcp.md are those that there are; `GENERATE=1` writes them.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mcp.md");
const BEGIN: &str = "<!-- tools: `make generate` makes this from the definitions -->\n";
const END: &str = "<!-- end of tools -->";

/// Names the type of a field.
fn kind(schema: &Value) -> String {
    if let Some(alternatives) = schema["anyOf"].as_array() {
        return alternatives.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    // What an enumeration allows, each with its description or without.
    let alternatives = schema["oneOf"].as_array().into_iter().flatten().map(|one| &one["const"]);
    let allowed = schema["enum"].as_array().into_iter().flatten().chain(alternatives);
    let allowed: Vec<_> = allowed
        .filter(|value| !value.is_null())
        .map(|value| format!("`{}`", value.as_str().unwrap()))
        .collect();
    if !allowed.is_empty() {
        return allowed.join(", ");
    }
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        Value::String(text) if text == "array" => format!("array of {}", kind(&schema["items"])),
        Value::String(text) => text.clone(),
        _ => panic!("a field of no known type: {schema:#}"),
    }
}

fn fields(schema: &Value) -> String {
    let mut text = String::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let description =
            field["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        writeln!(text, "| `{name}` | {} | {description} |", kind(field)).unwrap();
    }
    text
}

#[test]
fn the_tools_in_the_documentation_are_fresh() {
    let mut text = String::new();
    for tool in mcp::definitions() {
        let tool = serde_json::to_value(tool).unwrap();
        let (name, description) = (tool["name"].as_str().unwrap(), tool["description"].as_str().unwrap());
        writeln!(text, "### {name}\n\n{description}\n").unwrap();
        for (what, schema) in [("takes", &tool["inputSchema"]), ("answers", &tool["outputSchema"])] {
            let rows = fields(schema);
            if !rows.is_empty() {
                writeln!(text, "| {what} | | |\n| --- | --- | --- |\n{rows}").unwrap();
            }
        }
    }
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let fresh = format!("{before}{BEGIN}\n{text}{END}{after}");
    if std::env::var_os("GENERATE").is_some() {
        fs::write(PAGE, fresh).unwrap();
    } else {
        assert!(
            page == fresh,
            "docs/mcp.md: the tools are not what the definitions say; `make generate` regenerates them"
        );
    }
}
