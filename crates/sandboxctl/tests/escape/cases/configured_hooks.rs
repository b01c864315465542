//! Hooks that lie elsewhere because the repository's own configuration says so, as with husky; and files that
//! the configuration includes.

use crate::attack::Attack;

#[test]
fn hooks_and_settings_that_the_configuration_names_stay_as_they_are() {
    Attack::new(
        r#"
attempt("a hook", lambda: write(".husky/pre-commit"))
attempt("another hook", lambda: write(".husky/post-checkout"))
attempt("an included file", lambda: write("included"))
attempt("their directory", lambda: os.rename(".husky", "away"))
"#,
    )
    .prepare(|place| {
        place.write("workspace/.git/HEAD", "ref: refs/heads/main\n");
        place.write(
            "workspace/.git/config",
            "[core]\n\thooksPath = .husky\n[include]\n\tpath = ../included\n",
        );
        place.write("workspace/.husky/pre-commit", "#!/bin/sh\n");
        place.write("workspace/included", "[user]\n");
        Vec::new()
    })
    .gets(&[
        ("a hook", "ok", "EROFS"),
        ("another hook", "ok", "EROFS"),
        ("an included file", "ok", "EROFS"),
        ("their directory", "ok", "EBUSY"),
    ]);
}
