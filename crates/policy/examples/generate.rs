//! Writes the generated pages into the directory that it is given: `make generate` gives it `docs`.

use std::path::PathBuf;
use std::{env, fs, io};

use policy::config::reference;

/// Writes a generated table into a page that has a place for it.
type WriteTable = fn(&str) -> Option<String>;

fn main() -> io::Result<()> {
    let docs = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| "docs".into()));
    fs::create_dir_all(&docs)?;
    fs::write(docs.join("sandbox-toml.md"), reference::markdown())?;
    fs::write(docs.join("sandbox.schema.json"), reference::json_schema())?;
    let pages: [(&str, WriteTable); 2] =
        [("protect.md", reference::with_protected_paths), ("network.md", reference::with_presets)];
    for (name, write) in pages {
        let page = docs.join(name);
        let made = write(&fs::read_to_string(&page)?);
        let no_place = || io::Error::other(format!("{} has no place for the table", page.display()));
        fs::write(&page, made.ok_or_else(no_place)?)?;
    }
    Ok(())
}
