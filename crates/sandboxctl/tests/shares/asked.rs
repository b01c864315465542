//! Paths that `[protect] paths` names, among them those that the built-in list only classifies.

use std::fs;

use crate::{error, places, said, script};

#[test]
fn what_a_person_asks_to_protect_is_read_only_though_the_list_lets_it_be_written() {
    for (place, what) in places("paths that are asked for") {
        for name in [".env", ".env.local", "kept"] {
            place.write(&format!("workspace/{name}"), "KEY=1\n");
        }
        let write = "for name in .env .env.local kept; do echo KEY=2 >$name; done 2>/dev/null; cat .env .env.local kept";
        let shared = "[shared_dirs]\nworkspace = { host = \".\", guest = \"/workspace\" }\n";
        place.write(
            "workspace/sandbox.toml",
            &format!("{shared}[protect]\npaths = [\".env\", \".env.local\", \"kept\"]\n"),
        );
        assert_eq!(said(&script(&place, &[], write)), "KEY=1\n".repeat(3), "{what}");

        // What is new is quarantined, whatever it says.
        fs::remove_file(place.workspace().join(".env")).unwrap();
        let output = place.inside(&[""; 0], &["sh", "-c", "echo KEY=2 >.env"]).output().unwrap();
        assert!(error(&output).contains(".env"), "{what}: {output:?}");
        assert!(!place.workspace().join(".env").exists(), "{what}");

        // The control.
        place.write("workspace/.env", "KEY=1\n");
        place.write("workspace/sandbox.toml", shared);
        assert_eq!(said(&script(&place, &[], write)), "KEY=2\n".repeat(3), "{what}: the control");
    }
}
