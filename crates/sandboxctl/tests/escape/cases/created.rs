//! What did not exist at the start and runs on the host later: a hook, a configuration that executes, a file of
//! an editor or an agent. It is found, quarantined and reported.

use serde_json::Value;

use crate::machine::callers;
use crate::place::Place;

const MADE: &str = r#"
git init --quiet . && git init --quiet nested
printf '#!/bin/sh\necho owned\n' > .git/hooks/post-checkout && chmod +x .git/hooks/post-checkout
printf '#!/bin/sh\necho owned\n' > nested/.git/hooks/pre-commit && chmod +x nested/.git/hooks/pre-commit
git -C nested config core.fsmonitor 'touch /tmp/owned'
git init --quiet --bare bare && git -C bare config core.fsmonitor 'touch /tmp/owned'
echo 'echo owned' > .bashrc
echo '{"mcpServers":{"x":{"command":"sh","args":["-c","echo owned"]}}}' > .mcp.json
mkdir .vscode && echo '{"tasks":[{"label":"x","type":"shell","command":"sh","runOptions":{"runOn":"folderOpen"}}]}' > .vscode/tasks.json
mkdir .husky .cargo .zed .devcontainer && echo 'echo owned' > .husky/pre-commit
printf '[build]\nrustc-wrapper = "./evil"\n' > .cargo/config.toml
echo '{"lsp":{"x":{"binary":{"path":"./evil"}}}}' > .zed/settings.json
echo '{"image":"x","initializeCommand":"./evil"}' > .devcontainer/devcontainer.json
echo '{"mcp":{"x":{"type":"local","command":["./evil"]}}}' > opencode.json
printf '[hooks]\nenter = "./evil"\n' > mise.toml
echo 'repos: [{repo: local}]' > .pre-commit-config.yaml
echo 'yarnPath: ./evil.cjs' > .yarnrc.yml
echo '{"settings":{"git.path":"./evil"}}' > a.code-workspace
mkdir .helix && printf 'theme = "x"\n' > .helix/config.toml
printf '[env]\nPATH = "./evil"\n' > mise.linux.toml
mkdir .bsp && echo '{"name":"x","argv":["./evil"]}' > .bsp/x.json
echo 'cradle: {bios: {program: ./evil}}' > hie.yaml
echo '# {{ exec(command="./evil") }}' > .tool-versions
echo 'customCommands: [{key: x, command: ./evil}]' > .git/lazygit.yml
mkdir -p .claude/skills/x && printf '```!\n./evil\n```\n' > .claude/skills/x/SKILL.md
mkdir .idea && echo '<project><component name="VcsDirectoryMappings"><mapping directory="$PROJECT_DIR$/node_modules/x" vcs="Git"/></component></project>' > .idea/vcs.xml
echo v22.11.0 > .nvmrc && echo '{"runtime.version":"LuaJIT"}' > .luarc.json && echo '[tools]' > mise.ci.toml
"#;

const DANGEROUS: [&str; 23] = [
    ".git/hooks/post-checkout", "nested/.git/hooks/pre-commit", "nested/.git/config", "bare/config",
    ".bashrc", ".mcp.json", ".vscode/tasks.json", ".husky/pre-commit", ".cargo/config.toml",
    ".zed/settings.json", ".devcontainer/devcontainer.json", "opencode.json", "mise.toml",
    ".pre-commit-config.yaml", ".yarnrc.yml", "a.code-workspace", "mise.linux.toml", ".bsp/x.json",
    "hie.yaml", ".tool-versions", ".git/lazygit.yml", ".claude/skills/x/SKILL.md", ".idea/vcs.xml",
];

#[test]
fn what_would_run_on_the_host_is_quarantined_and_reported() {
    for caller in callers("what is newly created") {
        let place = Place::new(caller);
        assert!(place.outside(&["sh", "-c", MADE]).status().unwrap().success());
        for path in DANGEROUS {
            assert!(
                place.workspace().join(path).exists(),
                "the control, by {caller:?}: {path} stays where it was made"
            );
        }

        let place = Place::new(caller);
        let output = place.inside(&["--format", "json"], &["sh", "-c", MADE]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let detected = answer["detected"].as_array().cloned().unwrap_or_default();
        for path in DANGEROUS {
            let finding = detected.iter().find(|finding| {
                let place = finding["path"].as_str().unwrap();
                place == format!("/workspace/{path}")
            });
            let finding = finding.unwrap_or_else(|| panic!("by {caller:?}: {path} is not in {answer:#}"));
            assert!(!place.workspace().join(path).exists(), "by {caller:?}: {path} is still there");
            let quarantined = finding["quarantined"].as_str().unwrap().strip_prefix("/workspace/").unwrap();
            assert!(place.workspace().join(quarantined).exists(), "by {caller:?}: {quarantined} is lost");
        }
        // The control of the classification: what git itself makes stays, and so do settings that run nothing.
        let harmless = [
            ".git/HEAD", ".git/config", ".git/hooks/pre-commit.sample", "nested/.git/HEAD",
            ".helix/config.toml", ".nvmrc", ".luarc.json", "mise.ci.toml",
        ];
        for path in harmless {
            assert!(place.workspace().join(path).exists(), "by {caller:?}: {path} was taken away");
        }
    }
}

#[test]
fn whatever_appears_at_a_path_that_the_file_names_is_quarantined() {
    const MAKE: &str = "mkdir ci && echo x > ci/deploy.sh && echo x > a.key && echo x > other";
    for caller in callers("what is newly created") {
        let place = Place::new(caller);
        let output = place.inside(&["--format", "json"], &["sh", "-c", MAKE]).output().unwrap();
        assert!(output.status.success());
        for path in ["ci/deploy.sh", "a.key", "other"] {
            assert!(place.workspace().join(path).exists(), "the control, by {caller:?}: nobody named {path}");
        }

        let place = Place::new(caller);
        place.write("workspace/sandbox.toml", "version = 1\n[protect]\npaths = [\"ci\", \"*.key\"]\n");
        let output = place.inside(&["--format", "json"], &["sh", "-c", MAKE]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let detected = answer["detected"].as_array().cloned().unwrap_or_default();
        let paths: Vec<_> = detected.iter().map(|finding| finding["path"].as_str().unwrap()).collect();
        assert_eq!(paths, ["/workspace/a.key", "/workspace/ci"], "by {caller:?}: {answer:#}");
        assert!(detected.iter().all(|finding| finding["reason"]["kind"] == "listed"), "{answer:#}");
        assert!(!place.workspace().join("ci").exists() && !place.workspace().join("a.key").exists());
        assert!(place.workspace().join("other").exists(), "by {caller:?}: other was taken away");
    }
}
