//! The same for what Mercurial, Sapling and tools beside git obey of their own data.

use crate::examples::Example;

pub(crate) const EXAMPLES: &[Example] = &[
    (".hg/requires", ".hg/requires", "share-safe\nlargefiles\n", "share-safe\n"),
    (
        ".hg/requires",
        ".hg/requires",
        "shared\nshare-safe\n",
        "dotencode\nfncache\ngeneraldelta\nrevlogv1\nstore\n",
    ),
    (
        ".hg/store/requires",
        ".hg/store/requires",
        "store\nlfs\n",
        "dotencode\nfncache\ngeneraldelta\nrevlog-compression-zstd\nrevlogv1\nsparserevlog\nstore\n",
    ),
    (".git/hg/.hg/requires", ".git/hg/.hg/requires", "largefiles", "store"),
    (".git/hg/.hg/store/requires", ".git/hg/.hg/store/requires", "git", "store"),
    (".git/hg/origin/clone/.hg/requires", ".git/hg/origin/clone/.hg/requires", "relshared", "store"),
    (".git/hg/origin/clone/.hg/store/requires", ".git/hg/origin/clone/.hg/store/requires", "x", "store"),
    (".sl/requires", ".sl/requires", "store\nshared\n", "revlogv1\nstore\ntreestate\n"),
    (
        ".sl/store/requires",
        ".sl/store/requires",
        "largefiles\n",
        "git\ngit-store\ninvalidatelinkrev\nnarrowheads\nsegmentedchangelog\nvisibleheads\n",
    ),
    (".git/sl/requires", ".git/sl/requires", "shared\n", "store\ndotgit\n"),
    (
        ".git/sl/store/requires",
        ".git/sl/store/requires",
        "lfs\n",
        "narrowheads\nvisibleheads\ngit\ngit-store\ndotgit\n",
    ),
    (".sl/store/gitdir", ".sl/store/gitdir", "../../evil", "git"),
    (".git/sl/store/gitdir", ".git/sl/store/gitdir", "/workspace/evil", "../.."),
    (".hglf", ".hglf/a/big.bin", "../../.ssh/id_ed25519\n", "0123456789abcdef0123456789abcdef01234567\n"),
    (
        ".hg/largefiles/dirstate",
        ".hg/largefiles/dirstate",
        concat!(
            "0123456789abcdef0123", "0123456789abcdef0123", "r", "\0\0\0\0", "\0\0\0\0", "\0\0\0\0",
            "\0\0\0\u{4}", "../x"
        ),
        concat!(
            "0123456789abcdef0123", "0123456789abcdef0123", "n", "\0\0\0\0", "\0\0\0\0", "\0\0\0\0",
            "\0\0\0\u{5}", "a/big"
        ),
    ),
    (".hg/largefiles/dirstate.*", ".hg/largefiles/dirstate.0123", "a/../../x", ""),
    (".hg/largefiles/journal.backup.dirstate", ".hg/largefiles/journal.backup.dirstate", "x", ""),
    (".hg/largefiles/journal.backup.dirstate.*", ".hg/largefiles/journal.backup.dirstate.bck", "x", ""),
    (".hg/largefiles/undo.backup.dirstate", ".hg/largefiles/undo.backup.dirstate", "x", ""),
    (".hg/largefiles/undo.backup.dirstate.*", ".hg/largefiles/undo.backup.dirstate.bck", "x", ""),
    (".hg/journal", ".hg/journal", "../../precious\u{0}0\n", "data/a.i\u{0}67\n"),
    (
        ".hg/journal.backupfiles",
        ".hg/journal.backupfiles",
        "2\nplain\0largefiles/dirstate\0x\u{0}0\n",
        "2\nplain\0largefiles/dirstate\0largefiles/journal.backup.dirstate.bck\u{0}0\n",
    ),
    (".hg/undo", ".hg/undo", "/home/me/precious\u{0}0\n", "00manifest.i\u{0}227\n"),
    (
        ".hg/undo.backupfiles",
        ".hg/undo.backupfiles",
        "2\nplain\0requires\0x\u{0}0\n",
        "2\nplain\0largefiles/dirstate\0largefiles/undo.backup.dirstate\u{0}0\nplain\0dirstate\0undo.backup.dirstate\u{0}0\n",
    ),
    (
        ".git/ai/git_hooks_state.json",
        ".git/ai/git_hooks_state.json",
        r#"{"schema_version": "repo_hooks/2", "managed_hooks_path": "", "forward_mode": "repo_local", "forward_hooks_path": "/workspace/evil"}"#,
        r#"{"schema_version": "repo_hooks/2", "managed_hooks_path": "/workspace/.git/ai/hooks", "original_local_hooks_path": null,
            "forward_mode": "none", "forward_hooks_path": null, "binary_path": "/usr/bin/git-ai"}"#,
    ),
    (".git/ai/hooks", ".git/ai/hooks/pre-commit", "evil", ""),
    (
        ".git/entire-sessions",
        ".git/entire-sessions/2026-02-02-x.json",
        r#"{"session_id": "2026-02-02-x", "transcript_path": "/home/me/.ssh/id_ed25519"}"#,
        r#"{"session_id": "2026-02-02-x", "transcript_path": "/home/me/.claude/projects/-workspace/0123.jsonl", "files_touched": ["a"]}"#,
    ),
    (
        ".git/sl/config-git-repo",
        ".git/sl/config-git-repo",
        "[hooks]\npre-status = evil\n",
        "[ui]\n# from git config: user.name and user.email\nusername = A B <a@example.org>\n[submodule]\nactive = false\n",
    ),
    (
        ".git/sl/config-git-user", ".git/sl/config-git-user", "[extensions]\nx = evil.py\n",
        "[ui]\nusername = A <a@b>\n",
    ),
    (
        ".repo/copy-link-files.json",
        ".repo/copy-link-files.json",
        r#"{"linkfile": ["../../precious"], "copyfile": []}"#,
        r#"{"linkfile": ["build/Android.bp"], "copyfile": []}"#,
    ),
    (
        ".repo/project.list", ".repo/project.list", "build/make\n/home/me/other\n",
        "build/make\nframeworks/base\n",
    ),
    (
        ".repo/submanifests",
        ".repo/submanifests/a/b/copy-link-files.json",
        r#"{"copyfile": ["/home/me/precious"]}"#,
        r#"{"copyfile": ["a"]}"#,
    ),
    (".repo/submanifests", ".repo/submanifests/a/project.list", "../x\n", "x\n"),
    (".repo/submanifests", ".repo/submanifests/a/manifest.xml", "<manifest/>", ""),
    (".repo/local_manifest.xml", ".repo/local_manifest.xml", "<manifest/>", ""),
    (".repo/local_manifests", ".repo/local_manifests/x.xml", "<manifest/>", ""),
    (".repo/manifest.xml", ".repo/manifest.xml", "<manifest/>", ""),
    (".repo/manifests", ".repo/manifests/default.xml", "<manifest/>", ""),
    (".repo/manifests", ".repo/manifests/GLOBAL-PREUPLOAD.cfg", "[Hook Scripts]\nx = evil\n", ""),
    (".repo/manifests.git", ".repo/manifests.git/refs/heads/default", "0123456789", ""),
    (".beads/.env", ".beads/.env", "BD_EXPORT_PATH=../.zshenv\n", ""),
    (".beads/redirect", ".beads/redirect", "../evil/.beads\n", ""),
    (
        ".beads/config.yaml",
        ".beads/config.yaml",
        "export:\n  auto: true\n  path: ../../.zshenv\n",
        "# Beads Configuration File\nissue-prefix: \"x\"\nexport:\n  auto: true\nsync.branch: beads-sync\n",
    ),
    (".beads/config.yaml", ".beads/config.yaml", "export.path: ../.zshenv\n", "export.path: issues.jsonl\n"),
    (
        ".beads/config.local.yaml", ".beads/config.local.yaml", "sync.remote: https://evil.example/x\n",
        "json: true\n",
    ),
    (
        ".beads/metadata.json",
        ".beads/metadata.json",
        r#"{"database": "dolt", "dolt_mode": "server", "dolt_server_host": "evil.example"}"#,
        r#"{"database": "dolt", "backend": "dolt", "dolt_mode": "embedded", "dolt_database": "x", "project_id": "0123-45"}"#,
    ),
    (
        ".beads/config.json", ".beads/config.json", r#"{"dolt_data_dir": "/home/me/x"}"#,
        r#"{"database": "beads.db"}"#,
    ),
];
