//! Files that a program outside obeys when somebody opens the directory: changed, replaced, or walked around.

use crate::attack::Attack;

#[test]
fn what_is_protected_stays_as_it_is() {
    Attack::new(
        r#"
FILES = [".git/hooks/pre-commit", ".git/config", ".gitmodules", ".bashrc", ".profile", ".envrc", ".mcp.json",
         ".vscode/tasks.json", ".idea/workspace.xml", ".claude/settings.json", ".codex/config.toml",
         ".cursor/mcp.json", ".gemini/settings.json", ".agents/skill.md", "sandbox.toml",
         "nested/.git/hooks/pre-commit", "nested/.git/config", "nested/.mcp.json"]

def in_place_of(path):
    beside = os.path.join(os.path.dirname(path), "beside")
    write(beside)
    os.rename(beside, path)

def in_exchange_for(path):
    beside = os.path.join(os.path.dirname(path), "beside").encode()
    write(beside)
    checked(libc.renameat2(-100, beside, -100, path.encode(), 2))

for path in FILES:
    attempt(f"write {path}", lambda: write(path))
for path in [".git/config", ".bashrc", ".mcp.json", "sandbox.toml", "nested/.git/config"]:
    attempt(f"replace {path}", lambda: in_place_of(path))
    attempt(f"exchange {path}", lambda: in_exchange_for(path))
    attempt(f"remove {path}", lambda: os.remove(path))
for path in [".git/hooks/post-checkout", ".vscode/settings.json", ".claude/commands.md"]:
    attempt(f"create {path}", lambda: write(path))
for path in [".git/hooks", ".git", ".vscode", ".claude", "nested/.git", "nested"]:
    attempt(f"rename {path}", lambda: os.rename(path, path + "-away"))
"#,
    )
    .prepare(|place| {
        for path in [
            ".git/HEAD", ".git/hooks/pre-commit", ".git/config", ".gitmodules", ".bashrc", ".profile",
            ".envrc", ".mcp.json", ".vscode/tasks.json", ".idea/workspace.xml", ".claude/settings.json",
            ".codex/config.toml", ".cursor/mcp.json", ".gemini/settings.json", ".agents/skill.md",
            "nested/.git/HEAD", "nested/.git/hooks/pre-commit", "nested/.git/config", "nested/.mcp.json",
        ] {
            place.write(&format!("workspace/{path}"), "");
        }
        place.write("workspace/sandbox.toml", "version = 1\n");
        Vec::new()
    })
    .gets(&attempts());
}

fn attempts() -> Vec<crate::attack::Attempt> {
    let all = [
        (
            "EROFS",
            &[
                "write .git/hooks/pre-commit", "write .git/config", "write .gitmodules", "write .bashrc",
                "write .profile", "write .envrc", "write .mcp.json", "write .vscode/tasks.json",
                "write .idea/workspace.xml", "write .claude/settings.json", "write .codex/config.toml",
                "write .cursor/mcp.json", "write .gemini/settings.json", "write .agents/skill.md",
                "write sandbox.toml", "write nested/.git/hooks/pre-commit", "write nested/.git/config",
                "write nested/.mcp.json", "create .git/hooks/post-checkout", "create .vscode/settings.json",
                "create .claude/commands.md",
            ][..],
        ),
        (
            "EBUSY",
            &[
                "replace .git/config", "replace .bashrc", "replace .mcp.json", "replace sandbox.toml",
                "replace nested/.git/config", "exchange .git/config", "exchange .bashrc",
                "exchange .mcp.json", "exchange sandbox.toml", "exchange nested/.git/config",
                "remove .git/config", "remove .bashrc", "remove .mcp.json", "remove sandbox.toml",
                "remove nested/.git/config", "rename .git/hooks", "rename .git", "rename .vscode",
                "rename .claude", "rename nested/.git", "rename nested",
            ][..],
        ),
    ];
    all.into_iter().flat_map(|(errno, names)| names.iter().map(move |name| (*name, "ok", errno))).collect()
}
