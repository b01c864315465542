//! Writes the generated pages into the directory that it is given: `make generate` gives it `docs`.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let docs = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| "docs".into()));
    fs::create_dir_all(&docs)?;
    fs::write(docs.join("sandbox-toml.md"), policy::config::reference::markdown())?;
    fs::write(docs.join("sandbox.schema.json"), policy::config::reference::json_schema())?;
    let page = docs.join("protect.md");
    match policy::config::reference::with_protected_paths(&fs::read_to_string(&page)?) {
        Some(made) => fs::write(page, made),
        None => Err(io::Error::other(format!("{} has no place for the table", page.display()))),
    }
}
