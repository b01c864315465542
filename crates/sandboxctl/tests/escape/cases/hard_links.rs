//! Hard links: another name for a protected file, or for a file of the system.

use crate::attack::Attack;

#[test]
fn a_protected_file_gets_no_second_name() {
    Attack::new(
        r#"
attempt("link a protected file", lambda: os.link(".git/config", "config"))
attempt("link a file in a protected directory", lambda: os.link(".git/hooks/pre-commit", "hook"))
attempt("link a read-only file", lambda: os.link(globals().get("reference", "/reference") + "/file", "file"))
"#,
    )
    .before_the_control("reference = '../reference'\n")
    .flags(&["--volume", "../reference:/reference:ro", "--volume", ".:/workspace"])
    .prepare(|place| {
        place.write("workspace/.git/config", "[core]\n");
        place.write("workspace/.git/hooks/pre-commit", "#!/bin/sh\n");
        place.write("reference/file", "text");
        Vec::new()
    })
    .gets(&[
        ("link a protected file", "ok", "EXDEV"),
        ("link a file in a protected directory", "ok", "EXDEV"),
        ("link a read-only file", "ok", "EXDEV"),
    ]);
}
