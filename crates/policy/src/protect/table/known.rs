//! Names with a leading dot that are known though no row has them: no program outside obeys them by itself, as far as anybody knows.
//!
//! A new name at the root of a work tree that neither a row nor this list knows is reported: it may be one of a program that
//! nobody has looked at. In a name, `*` stands for any text. Where a name is not surely one of these kinds, it is not here:
//! a report costs a look.

/// Lists of names that something leaves out: they are data, and every tool has one.
const PATTERNS_OF_FILES: &[&str] = &[".*ignore"];

/// What git, Mercurial and people keep beside their files.
const OF_REPOSITORIES: &[&str] = &[
    ".bare", ".empty", ".git-authors", ".git-blame-ignore-revs", ".git-crypt", ".gitallowed", ".gitkeep",
    ".gitmessage", ".hg_archival.txt", ".hgeol", ".hgsigs", ".hgsubstate", ".hgtags", ".keep",
    ".licensed.yml", ".licenses", ".mailmap", ".placeholder", ".reuse",
];

/// What services elsewhere obey: forges, their machines, and hosts of what is built.
const OF_SERVICES: &[&str] = &[
    ".all-contributorsrc", ".appveyor.yml", ".azure-devops", ".azure-pipelines", ".azuredevops",
    ".bitbucket", ".build.yml", ".buildkite", ".builds", ".circleci", ".cirrus.star", ".cirrus.yml",
    ".codacy.yaml", ".codacy.yml", ".codeclimate.json", ".codeclimate.yml", ".codecov.yaml", ".codecov.yml",
    ".coderabbit.yaml", ".coderabbit.yml", ".codesandbox", ".coveralls.yml", ".deepsource.toml",
    ".dependabot", ".devfile.yaml", ".do", ".drone.star", ".drone.yml", ".ebextensions", ".firebaserc",
    ".forgejo", ".gitbook.yaml", ".gitea", ".gitee", ".github", ".gitlab", ".gitlab-ci", ".gitlab-ci.yml",
    ".gitpod.Dockerfile", ".gitpod.yml", ".harness", ".imgbotconfig", ".kodiak.toml", ".lgtm.yml",
    ".mergify", ".mergify.yml", ".netlify", ".nojekyll", ".openshift", ".packit.yaml", ".packit.yml",
    ".platform", ".platform.app.yaml", ".prow.yaml", ".pyup.yml", ".readthedocs", ".readthedocs.yaml",
    ".readthedocs.yml", ".renovaterc", ".renovaterc.*", ".replit", ".restyled.yaml", ".scrutinizer.yml",
    ".semaphore", ".snyk", ".sonarcloud.properties", ".sourcery.yaml", ".spi.yml", ".stackblitzrc",
    ".styleci.yml", ".tekton", ".travis.yml", ".vercel", ".well-known", ".whitesource", ".woodpecker",
    ".woodpecker.yaml", ".woodpecker.yml", ".zuul.d", ".zuul.yaml",
];

/// What desktops, file systems, editors and shells leave: copies, locks, histories and temporary files.
const LEFT_BEHIND: &[&str] = &[
    ".#*", ".*.bak", ".*.kate-swp", ".*.log", ".*.orig", ".*.pid", ".*.sandboxctl-quarantine", ".*.swn",
    ".*.swo", ".*.swp", ".*.swpx", ".*.swx", ".*.tmp", ".*_history", ".*~", "._*", ".AppleD*", ".DS_Store",
    ".DocumentRevisions-V100", ".LSOverride", ".RDataTmp", ".Rapp.history", ".Rhistory", ".Spotlight-V100",
    ".TemporaryItems", ".Trash*", ".VolumeIcon.icns", ".apdisk", ".com.apple.*", ".directory", ".dropbox*",
    ".emacs.desktop.lock", ".fseventsd", ".fuse_hidden*", ".goutputstream-*", ".hidden", ".history",
    ".lesshst", ".localized", ".lock", ".netrwhist", ".nextcloudsync.log", ".nfs*", ".nomedia",
    ".sandboxctl-quarantine*", ".snapshots", ".stfolder*", ".stversions", ".swp.*", ".sync_*.db*", ".temp",
    ".tmp*", ".wget-hsts", ".wh.*", ".~*",
];

/// Caches, reports, and what is built or installed by tools that a person runs.
const DATA: &[&str] = &[
    ".*cache", ".*-stamp", ".*.cmd", ".*.o.d", ".*.stamp", ".aider.chat.history.md", ".aider.input.history",
    ".aider.llm.history", ".angular", ".apt_generated*", ".artifacts", ".astro", ".attach_pid*", ".aws-sam",
    ".benchmarks", ".bsb.lock", ".build", ".buildinfo", ".built", ".bundle", ".cabal-sandbox",
    ".cargo-checksum.json", ".cargo-ok", ".cargo_vcs_info.json", ".cdk.staging", ".clj-kondo", ".config.old",
    ".contentlayer", ".coq-native", ".coverage", ".coverage.*", ".crates.toml", ".crates2.json", ".cxx",
    ".dart_tool", ".data", ".deno", ".depend", ".deps", ".dirstamp", ".dist", ".docusaurus", ".doctrees",
    ".doit.db*", ".dub", ".dynamodb", ".eggs", ".elixir_ls", ".eunit", ".expert", ".expo", ".expo-shared",
    ".externalNativeBuild", ".fetch", ".firebase", ".flattened-pom.xml", ".flutter-plugins*",
    ".gemini-clipboard", ".godot", ".gradle", ".hpc", ".hspec-failures", ".htpasswd", ".hugo_build.lock",
    ".hypothesis", ".import", ".installed", ".installed.cfg", ".ionide", ".ipynb_checkpoints",
    ".irb-history", ".jekyll-metadata", ".jqwik-database", ".jupyter_ystore.db", ".konan", ".kotlin",
    ".lake", ".langgraph_api", ".last_cover_stats", ".lein-deps-sum", ".lein-failures", ".lein-repl-history",
    ".lexical", ".libs", ".lightning_logs", ".localhistory", ".localstack", ".lock-waf*", ".m2",
    ".missing-syscalls.d", ".mix", ".mooncakes", ".nb-gradle", ".next", ".ng", ".ninja_deps", ".ninja_log",
    ".nitro", ".node_modules", ".nox", ".npm", ".nrepl-port", ".nuget", ".nuxt", ".nx", ".nyc_output",
    ".objects", ".openzeppelin", ".output", ".package-lock.json", ".packages", ".pdm-build", ".pio",
    ".pioenvs", ".piolibdeps", ".pixi", ".playwright", ".playwright-mcp", ".pnp", ".pnp.*", ".pnpm-*",
    ".precomp", ".prove", ".psci*", ".pub", ".pub-preload-cache", ".pybuilder", ".pyre", ".pytype",
    ".quarto", ".react-router", ".rebar", ".rebar3", ".Rproj.user", ".rspec_status", ".rts2_cache_*",
    ".rustc_info.json", ".rustdoc_fingerprint.json", ".scala-build", ".scala_dependencies", ".scannerwork",
    ".sconf_temp", ".sconsign.dblite", ".serverless", ".shadow-cljs", ".spago", ".specstory", ".sqlx",
    ".sst", ".stack-work", ".stamp*", ".svelte-kit", ".swc", ".tags", ".tanstack", ".target",
    ".terraform.lock.hcl", ".terraform.tfstate*", ".tern-port", ".texpadtmp", ".tox", ".tsbuildinfo",
    ".turbo", ".velite", ".venv*", ".verdaccio", ".version", ".vinxi", ".virtual_documents", ".virtualenv",
    ".vite", ".vscode-test", ".waf*", ".wasp", ".web-server-pid", ".webpack", ".worksheet", ".wrangler",
    ".xdp-*", ".yarn-integrity", ".yarn-metadata.json", ".zig-cache",
];

/// Formatters that only format, and text for agents, which does nothing by itself.
const FORMATS_AND_TEXT: &[&str] = &[
    ".JuliaFormatter.toml", ".astylerc", ".augment-guidelines", ".clang-format", ".clippy.toml",
    ".cljfmt.edn", ".continuerules", ".cursorrules", ".goosehints", ".jsbeautifyrc", ".ocamlformat*",
    ".php-version", ".pre-commit-hooks.yaml", ".projectile", ".roorules", ".rules", ".ruff.toml",
    ".rustfmt.toml", ".scalafmt.conf", ".shellcheckrc", ".style.yapf", ".stylua.toml", ".swift-format",
    ".swiftformat", ".uncrustify.cfg", ".vsconfig", ".windsurfrules", ".yo-rc.json", ".zprintrc",
];

/// What runs when a person runs the tool, as [`super::writable`] says of its rows: these are their like.
const RUN_BY_A_PERSON: &[&str] = &[
    ".air.toml", ".auto-changelog", ".babelrc*", ".bandit*", ".bloop", ".brakeman*", ".browserslistrc",
    ".bumpversion.*", ".bundler-audit.yml", ".busted", ".c8rc*", ".changelogrc*", ".cmakelintrc",
    ".changeset", ".codespellrc", ".compodocrc*", ".config/dotnet-tools.json", ".config/nextest.toml",
    ".copier-answers*.yml", ".coveragerc", ".cppcheck*", ".credo.exs", ".cruft.json", ".cspell*",
    ".csscomb.json", ".csslintrc", ".depcheckrc*", ".dependency-cruiser*", ".dialyzer*", ".djlintrc",
    ".doctor.exs", ".ecrc", ".editorconfig-checker.json", ".ember-cli*", ".env-*", ".env_*", ".envs",
    ".erb-lint.yml", ".erb_lint.yml", ".eslintrc*", ".fasterer.yml", ".flake8", ".flox", ".formatter.exs",
    ".gitleaks.toml", ".golangci*", ".goreleaser*", ".hadolint.y*", ".haml-lint*", ".herb.yml", ".hspec",
    ".htmlhintrc", ".isort.cfg", ".jazzy.yaml", ".jhipster", ".jscpd.json", ".jscsrc", ".jshintrc",
    ".jvmopts", ".kamal", ".kitchen*", ".ko.yaml", ".kube-linter.yaml", ".lighthouserc*", ".ls-lint.yml",
    ".luacov", ".lychee.toml", ".madgerc", ".markdown-link-check.json", ".markdownlint*", ".mega-linter.yml",
    ".megalinter*", ".mocharc*", ".mockery*", ".moon", ".ncurc*", ".npmpackagejsonlintrc*", ".nycrc*",
    ".oxfmtrc*", ".oxlintrc*", ".pa11yci*", ".parcelrc", ".pep8", ".phpcs.xml*", ".phplint.yml",
    ".postcssrc*", ".prettierrc*", ".proselintrc", ".protolint.y*", ".proverc", ".psalm", ".pycodestyle",
    ".pydocstyle*", ".pytest.ini", ".redocly*", ".reek*", ".release-it*", ".releaserc*", ".rspec",
    ".rubocop*", ".ruby-lsp", ".sass-lint.yml", ".sbtopts", ".scalafix*", ".scss-lint.yml", ".semgrep*",
    ".sequelizerc", ".simplecov", ".size-limit.*", ".slim-lint.yml", ".sobelow*", ".solcover.js",
    ".solhint*", ".spectral.*", ".sqlfluff", ".standard.yml", ".standard_todo.yml", ".storybook",
    ".streamlit", ".stylelintrc*", ".stylish-haskell.yaml", ".swcrc", ".swiftlint.yml",
    ".symfony.local.yaml", ".syncpackrc*", ".taprc", ".template-lintrc.js", ".testcaferc*", ".textlintrc*",
    ".tfsec*", ".trivy*", ".typos.toml", ".versionrc*", ".vitepress", ".vuepress", ".xcode.env*",
    ".xo-config*", ".yamllint*",
];

/// All of them.
const GROUPS: [&[&str]; 7] =
    [PATTERNS_OF_FILES, OF_REPOSITORIES, OF_SERVICES, LEFT_BEHIND, DATA, FORMATS_AND_TEXT, RUN_BY_A_PERSON];

/// Returns whether a path is one of these, or in one. Its components are in lower case.
pub(super) fn is_known(components: &[&str]) -> bool {
    GROUPS.iter().copied().flatten().any(|known| {
        let names = known.split('/');
        names.clone().count() <= components.len()
            && names.zip(components).all(|(known, name)| fits(&known.to_ascii_lowercase(), name))
    })
}

fn fits(known: &str, name: &str) -> bool {
    match known.split_once('*') {
        None => known == name,
        Some((beginning, end)) => {
            let rest = name.strip_prefix(beginning);
            rest.is_some_and(|rest| match end.split_once('*') {
                None => rest.ends_with(end),
                Some((middle, end)) => rest.contains(middle) && rest.ends_with(end),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that two tables do not contradict each other.
    #[test]
    fn no_name_is_that_of_a_protected_path() {
        for path in crate::protect::table::built_in() {
            let listed = GROUPS.iter().copied().flatten().find(|known| known.eq_ignore_ascii_case(path));
            assert_eq!(listed, None, "{path}");
        }
    }

    #[test]
    fn a_name_stands_for_itself_and_a_star_for_any_text() {
        for (known, name, is) in [
            (".keep", ".keep", true),
            (".keep", ".keeper", false),
            (".*ignore", ".ignore", true),
            (".*ignore", ".dockerignore", true),
            (".*ignore", ".ignored", false),
            (".tmp*", ".tmpabc", true),
            (".sync_*.db*", ".sync_1.db-wal", true),
            (".sync_*.db*", ".sync_1", false),
            (".aaa*aaa", ".aaaa", false),
        ] {
            assert_eq!(fits(known, name), is, "{known} {name}");
        }
    }
}
