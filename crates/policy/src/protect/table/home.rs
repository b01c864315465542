//! Rows of what programs obey below a home directory, which may be linked to a repository of dotfiles: terminals, window managers, file
//! managers, and clients. Where everything in a directory is settings, there is one row for it.

use super::content::{ContentRule, FileFormat};
use super::harmless;
use super::row::{FileRules, ProtectRow, RUN, read_only};

const AT_START: &str = "runs it at its start, where this is a home directory";

const RUNS: &str = "runs the commands that it names, where this is a home directory";

const ZSH_DIRECTORY: &str =
    "runs what is in it at its start, where this is a home directory and `ZDOTDIR` names it";

const AWS: &str = "AWS CLI, \"Configuration and credential file settings\" and \"Sourcing credentials with an external process\"";

const AWS_EFFECT: &str = "runs the `credential_process` that it names, where this is a home directory";

const AWS_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Ini, harmless::tools::AWS))];

const KUBE: &str = "Kubernetes, \"Organizing Cluster Access Using kubeconfig Files\" and \"Authenticating\"";

const DOCKER: &str = "Docker, \"docker (base command)\", \"Configuration files\"";

const DOCKER_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Json, harmless::tools::DOCKER))];

const AUTOSTART: &str = "starts each program in it when you log in, where this is a home directory";

const ENVIRONMENT: &str =
    "sets the variables in it for all programs when you log in, where this is a home directory";

#[rustfmt::skip]
pub(super) const ROWS: &[ProtectRow] = &[
    // Shells.
    read_only(&[".config/zsh"], "zsh", ZSH_DIRECTORY, "zsh(1), \"STARTUP/SHUTDOWN FILES\"", RUN),
    read_only(&[".zimrc"], "zsh, with Zim", AT_START, "Zim, README", RUN),
    read_only(&[".zpreztorc"], "zsh, with Prezto", AT_START, "Prezto, README", RUN),
    read_only(&[".config/nushell"], "Nushell", AT_START, "Nushell, \"Configuration\"", RUN),
    read_only(&[".config/powershell"], "PowerShell", AT_START, "PowerShell, about_Profiles", RUN),
    // Terminals.
    read_only(&[".alacritty.toml", ".alacritty.yml", ".config/alacritty", ".config/alacritty.toml", ".config/alacritty.yml"],
        "Alacritty", RUNS, "alacritty(5)", RUN),
    read_only(&[".config/foot"], "foot", RUNS, "foot.ini(5)", RUN),
    read_only(&[".config/ghostty"], "Ghostty", RUNS, "Ghostty, \"Option Reference\", `command`", RUN),
    read_only(&[".config/kitty"], "kitty", RUNS, "kitty.conf(5)", RUN),
    read_only(&[".config/zellij"], "Zellij", RUNS, "Zellij, \"Configuration\" and \"Layouts\"", RUN),
    // Window managers, and what they start.
    read_only(&[".config/awesome"], "awesome", AT_START, "awesome(1)", RUN),
    read_only(&[".config/bspwm"], "bspwm", AT_START, "bspwm(1)", RUN),
    read_only(&[".config/sxhkd"], "sxhkd", RUNS, "sxhkd(1)", RUN),
    read_only(&[".fluxbox"], "Fluxbox", AT_START, "startfluxbox(1)", RUN),
    read_only(&[".config/herbstluftwm"], "herbstluftwm", AT_START, "herbstluftwm(1)", RUN),
    read_only(&[".config/hypr"], "Hyprland", RUNS, "Hyprland Wiki, \"Keywords\", Executing", RUN),
    read_only(&[".i3", ".config/i3"], "i3", RUNS, "i3(1)", RUN),
    read_only(&[".config/i3blocks"], "i3blocks", RUNS, "i3blocks(1)", RUN),
    read_only(&[".config/openbox"], "Openbox", AT_START, "openbox-session(1)", RUN),
    read_only(&[".config/polybar"], "Polybar", RUNS, "polybar(5)", RUN),
    read_only(&[".sway", ".config/sway"], "sway", RUNS, "sway(1), sway(5)", RUN),
    read_only(&[".config/waybar"], "Waybar", RUNS, "waybar(5), waybar-custom(5)", RUN),
    read_only(&[".config/dunst"], "dunst", RUNS, "dunst(5), `script`", RUN),
    read_only(&[".xmonad", ".config/xmonad"], "xmonad", "compiles and runs it at its start, where this is a home directory",
        "xmonad(1)", RUN),
    read_only(&[".hammerspoon"], "Hammerspoon", AT_START, "Hammerspoon, \"Getting Started\"", RUN),
    read_only(&[".skhdrc", ".config/skhd"], "skhd", RUNS, "skhd, README", RUN),
    // The session.
    read_only(&[".config/autostart"], "desktops", AUTOSTART, "Desktop Application Autostart Specification", RUN),
    read_only(&[".config/systemd/user"], "systemd", "runs the services that it holds, where this is a home directory",
        "systemd.unit(5)", RUN),
    read_only(&[".config/environment.d"], "systemd", ENVIRONMENT, "environment.d(5)", RUN),
    // File managers and players.
    read_only(&[".config/lf"], "lf", AT_START, "lf(1)", RUN),
    read_only(&[".config/ranger"], "ranger", AT_START, "ranger(1)", RUN),
    read_only(&[".vifm", ".config/vifm"], "vifm", AT_START, "vifm(1)", RUN),
    read_only(&[".config/yazi"], "Yazi", AT_START, "Yazi, \"Configuration\" and \"Plugins\"", RUN),
    read_only(&[".mc.menu"], "Midnight Commander, in its menu (F2) here", "runs the commands that it names",
        "mc(1), \"Menu File Edit\"", RUN),
    read_only(&[".config/mpv"], "mpv", "runs the scripts in it, where this is a home directory", "mpv(1), FILES", RUN),
    // Editors, mail, and clients.
    read_only(&[".config/kak"], "Kakoune", AT_START, "kak(1)", RUN),
    read_only(&[".muttrc", ".mutt", ".config/mutt"], "mutt", RUNS, "muttrc(5)", RUN),
    read_only(&[".neomuttrc", ".neomutt", ".config/neomutt"], "NeoMutt", RUNS, "neomuttrc(5)", RUN),
    read_only(&[".tigrc", ".config/tig"], "tig", RUNS, "tigrc(5)", RUN),
    read_only(&[".config/gh"], "gh", "runs the aliases, editor, pager and browser that it names, where this is a home directory",
        "GitHub CLI, `gh alias set`, `gh config`", RUN),
    read_only(&[".psqlrc", ".psqlrc-*"], "psql", AT_START, "psql(1), FILES", RUN),
    read_only(&[".sqliterc", ".config/sqlite3"], "sqlite3", AT_START, "sqlite3(1)", RUN),
    // A project may have directories of these names.
    read_only(&[".aws/config"], "aws, and what else uses the SDKs of AWS", AWS_EFFECT, AWS, AWS_FILES),
    read_only(&[".aws/credentials"], "aws, and what else uses the SDKs of AWS", AWS_EFFECT, AWS, RUN),
    read_only(&[".aws/cli/alias"], "aws", RUNS, "AWS CLI, \"Creating and using aliases\"", RUN),
    read_only(&[".docker/config.json"], "docker",
        "takes plugins from the directories that it names, and credentials from the programs, where this is a home directory",
        DOCKER, DOCKER_FILES),
    read_only(&[".docker/cli-plugins"], "docker", "runs the plugins in it, where this is a home directory",
        "docker/cli, cli-plugins/manager", RUN),
    read_only(&[".kube/config"], "kubectl, and what else uses Kubernetes",
        "runs the programs that it names for credentials (`exec`), where this is a home directory", KUBE, RUN),
    read_only(&[".rovodev/config.yml", ".rovodev/mcp.json"], "Rovo Dev CLI",
        "runs hooks, starts servers, and takes permissions, where this is a home directory",
        "Atlassian, \"Manage Rovo Dev CLI settings\" and \"Connect to an MCP server in Rovo Dev CLI\"", RUN),
    read_only(&[".hledger.conf"], "hledger", "the same as `hledger.conf`, where this is a home directory",
        "hledger manual, \"Config files\"", RUN),
];
