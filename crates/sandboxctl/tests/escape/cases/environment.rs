//! Variables of the caller that nobody named.

use crate::attack::Attack;

#[test]
fn no_variable_enters_that_nobody_named() {
    Attack::new(
        r#"
for name in ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SESSION_TOKEN", "CONTROL_PLANE_URL", "AGENT_COMMAND",
             "SANDBOX_ANYTHING", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "BASH_ENV", "NODE_OPTIONS",
             "SSH_AUTH_SOCK", "SANDBOXCTL_PROVIDER"]:
    def look():
        if name not in os.environ:
            raise Held("unset")
    attempt(name, look)
"#,
    )
    .after_shell(
        "export AWS_SECRET_ACCESS_KEY=x GITHUB_TOKEN=x SESSION_TOKEN=x CONTROL_PLANE_URL=x AGENT_COMMAND=x \
         SANDBOX_ANYTHING=x LD_PRELOAD= LD_LIBRARY_PATH=/x PYTHONPATH=/x BASH_ENV=/x NODE_OPTIONS=x \
         SSH_AUTH_SOCK=/x SANDBOXCTL_PROVIDER=native",
    )
    .gets(
        &[
            "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SESSION_TOKEN", "CONTROL_PLANE_URL", "AGENT_COMMAND",
            "SANDBOX_ANYTHING", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "BASH_ENV", "NODE_OPTIONS",
            "SSH_AUTH_SOCK", "SANDBOXCTL_PROVIDER",
        ]
        .map(|name| (name, "ok", "unset")),
    );
}
