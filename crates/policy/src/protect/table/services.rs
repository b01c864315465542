//! Rows of clients of databases and services, and of what runs a project in containers: what they run, and to whom they send keys.

use super::content::{ContentRule, FileFormat};
use super::harmless;
use super::row::{FileRules, ProtectRow, RUN, classified, read_only};

const EB: &str = "awsebcli, ebcli/core/fileoperations.py, `get_editor`";

const PREFECT: &str = "Prefect, \"Settings and profiles\"";

const SQITCH_EFFECT: &str = "runs the clients of databases, the pager and the editor that it names, and sends passwords to the targets that it names";

const DBT_EFFECT: &str =
    "says where it sends passwords, and which Python adapters load; it comes before that of `~/.dbt`";

const VOILA: &str = "Voilà, voila/app.py, `config_file_paths`";

const DATABASE: &str = "sends passwords to the address that it names, and loads drivers from where it says";

const CLICKHOUSE: &str = "ClickHouse, \"Command-line client\", configuration files";

const LANDO: &str = "Lando, \"Plugins\", \"Tooling\" and \"Landofile\"";

const LANDO_EFFECT: &str = "loads the plugins that it names, and runs commands on the host; it stays writable, and is quarantined if it newly has any";

const DDEV: &str = "DDEV, \"Hooks\"";

const DDEV_EFFECT: &str =
    "runs commands on the host (`exec-host`); it stays writable, and is quarantined if it newly has any";

const LANDO_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::LANDO))];

const DDEV_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::DDEV))];

/// What DDEV puts there as examples, it does not run. It makes every other file a command, and calls it what it says itself.
const DDEV_COMMANDS: FileRules = &[("*.example", ContentRule::Harmless), ("*", ContentRule::Run)];

#[rustfmt::skip]
pub(super) const ROWS: &[ProtectRow] = &[
    read_only(&[".elasticbeanstalk/config.yml", ".elasticbeanstalk/config.global.yml"], "eb of AWS Elastic Beanstalk",
        "runs the `editor` that it names, before `$EDITOR`", EB, RUN),
    read_only(&["prefect.toml"], "prefect", "sends its key to the server that it names", PREFECT,
        &[("", ContentRule::Settings(FileFormat::Toml, harmless::NOTHING))]),
    read_only(&[".comet.config"], "comet_ml", "sends its key and what is recorded to the server that it names",
        "Comet, \"Configure the SDK\"; comet_ml/config/config_class.py",
        &[("", ContentRule::Settings(FileFormat::Ini, harmless::tools::COMET))]),
    classified(&["matplotlibrc"], "Matplotlib, in every program that is started in this directory",
        "runs the programs of animations that it names, with the arguments that it has for them, and loads a backend (`module://`); it \
         stays writable, and is quarantined if it newly names any", "Matplotlib, \"The matplotlibrc file\"",
        &[("", ContentRule::Settings(FileFormat::Ini, harmless::tools::MATPLOTLIB))]),
    classified(&["user.properties"], "JMeter, when it is started in this directory",
        "runs the scripts that it names, and loads programs from the paths in it; it stays writable, and is quarantined if it newly names any",
        "JMeter, \"Properties Reference\"; JMeterUtils.findFile",
        &[("", ContentRule::Settings(FileFormat::Properties, harmless::tools::JMETER))]),
    read_only(&["voila.py"], "Voilà", "runs it when it is started in this directory", VOILA, RUN),
    read_only(&["voila.json"], "Voilà", "loads what it names when it is started in this directory", VOILA,
        &[("", ContentRule::Settings(FileFormat::Json, harmless::tools::VOILA))]),
    read_only(&[".infisical.json"], "infisical", "sends its token and takes secrets from the server that it names (`domain`)",
        "Infisical CLI, packages/cmd/root.go, `resolveDomain`",
        &[("", ContentRule::Settings(FileFormat::Json, harmless::tools::INFISICAL))]),
    read_only(&["amplify/hooks"], "amplify of AWS Amplify, at every command", "runs what is in it, by the programs that `hooks-config.json` names",
        "AWS Amplify, \"Command hooks\"", &[("readme.md", ContentRule::Text), ("*.sample", ContentRule::Harmless)]),
    // Databases.
    read_only(&["harlequin.toml", ".harlequin.toml"], "harlequin",
        "runs the SQL that it names when it starts, which may write files, and loads extensions", "Harlequin, \"Config File\"",
        &[("", ContentRule::Settings(FileFormat::Toml, harmless::NOTHING))]),
    read_only(&["sqitch.conf"], "sqitch", SQITCH_EFFECT, "sqitch-config(1)", RUN),
    read_only(&["profiles.yml"], "dbt", DBT_EFFECT, "dbt, \"About profiles.yml\"; dbt-duckdb, README, \"Writing your own plugins\"", RUN),
    read_only(&[".iredisrc"], "iredis", "runs the pager that it names", "iredis, iredis/config.py, `pwd_config_file`", RUN),
    read_only(&["login.sql"], "SQLcl, and SQL*Plus before 12.2", "run it at each connection, also commands in it (`host`)",
        "Oracle, SQLcl User's Guide, \"Starting and Leaving SQLcl\"; SQL*Plus User's Guide, \"User Profile\"", RUN),
    read_only(&["flyway.conf", "flyway.toml", "flyway.user.toml"], "flyway", DATABASE,
        "Redgate Flyway, \"Flyway projects\" and \"Working Directory Parameter\"", RUN),
    read_only(&["liquibase.properties"], "liquibase", DATABASE, "Liquibase, \"Create and Configure a liquibase.properties File\"",
        RUN),
    read_only(&["clickhouse-client.xml", "clickhouse-client.yaml", "clickhouse-client.yml"], "clickhouse-client",
        "sends passwords to the host that it names; it comes before that of the home", CLICKHOUSE, RUN),
    // Machines and containers.
    read_only(&["Saltfile"], "salt-ssh, salt-call and others of Salt",
        "takes options from it, of which `config_dir` leads to Python that is loaded",
        "Salt, salt/utils/parsers.py, `process_saltfile`", RUN),
    classified(&[".lando.yml", ".lando.base.yml", ".lando.dist.yml", ".lando.local.yml", ".lando.upstream.yml"],
        "lando, at every command", LANDO_EFFECT, LANDO, LANDO_FILES),
    classified(&[".ddev/config.yaml", ".ddev/config.*.yaml", ".ddev/config.*.yml"], "ddev", DDEV_EFFECT, DDEV, DDEV_FILES),
    read_only(&[".ddev/commands/host"], "ddev", "runs what is in it, in the place of its own commands too",
        "DDEV, \"Custom Commands\"", DDEV_COMMANDS),
    read_only(&[".ddev/providers"], "ddev", "runs the commands that they name at `ddev pull` and `ddev push`",
        "DDEV, \"Hosting Provider Integration\"", &[("*.example", ContentRule::Harmless)]),
];
