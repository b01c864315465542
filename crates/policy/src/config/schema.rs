//! The schema: the one table of every key of `sandbox.toml`, and looking a key up in it.
//!
//! What a file may contain, the suggestion for a mistyped key, the JSON Schema and the reference page all come
//! from here, so they cannot disagree.

use super::key::{self, Key};
use super::table;

/// Every key, in the order in which a person reads a file. A table stands before its keys.
pub const KEYS: &[Key] = table::KEYS;

/// Finds the key called `name` in the table at `table` (empty: the top), both as they stand in [`KEYS`].
///
/// Where the file chooses the names, every name is that one key.
pub fn find(table: &str, name: &str) -> Option<&'static Key> {
    key::find(KEYS, table, name)
}

#[cfg(test)]
mod tests {
    use super::super::key::{LAYERS, ValueKind, children};
    use super::*;
    use crate::plan::Need;

    #[test]
    fn every_table_stands_before_its_keys_and_no_key_stands_twice() {
        for (index, key) in KEYS.iter().enumerate() {
            let before = &KEYS[..index];
            assert!(before.iter().all(|other| other.path != key.path), "{} stands twice", key.path);
            if let Some((table, _)) = key.path.rsplit_once('.') {
                assert!(
                    before.iter().any(|other| other.path == table),
                    "{} stands before its table",
                    key.path
                );
            }
        }
    }

    #[test]
    fn every_key_is_documented_and_every_leaf_has_an_example() {
        for key in KEYS {
            assert!(key.doc.ends_with('.'), "{}", key.path);
            let table = matches!(key.kind, ValueKind::Table | ValueKind::Named(_));
            assert_eq!(key.example.is_empty(), table, "{}", key.path);
        }
    }

    #[test]
    fn finds_keys_under_chosen_names() {
        assert_eq!(find("", "limits").unwrap().path, "limits");
        assert_eq!(find("secrets", "github").unwrap().path, "secrets.*");
        assert_eq!(find("secrets.*", "env_var").unwrap().path, "secrets.*.env_var");
        assert_eq!(find("env.set", "A.B").unwrap().path, "env.set.*");
        assert!(find("secrets.*", "nothing").is_none());
        assert!(find("limits.memory", "more").is_none());
        assert!(find("", "memory").is_none());
        assert!(find("", "limits.memory").is_none());
    }

    #[test]
    fn lists_the_keys_of_a_table() {
        assert_eq!(
            children(KEYS, "protect").collect::<Vec<_>>(),
            ["paths", "hide", "allow", "depth", "on_replaced"]
        );
        assert_eq!(children(KEYS, "env.set").collect::<Vec<_>>(), ["*"]);
        assert!(children(KEYS, "").any(|key| key == "limits"));
    }

    #[test]
    fn the_default_of_require_is_the_list_of_required_layers() {
        let required: Vec<_> = LAYERS
            .iter()
            .filter(|(_, need)| *need == Need::Required)
            .map(|(layer, _)| format!("{:?}", layer.to_string()))
            .collect();
        assert_eq!(find("native", "require").unwrap().default, format!("[{}]", required.join(", ")));
    }
}
