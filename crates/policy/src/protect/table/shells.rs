//! Rows of shells, of what they start by themselves, and of interpreters and debuggers.

use super::content::{ContentRule, FileFormat};
use super::harmless;
use super::row::{FileRules, ProtectRow, RUN, classified, read_only};

const START_UP: FileRules = &[("", ContentRule::StartUp)];

const BASH: &str = "bash(1)";

const ZSH: &str = "zsh(1)";

const CSH: &str = "tcsh(1)";

const EFFECT_AT_START: &str = "runs it at its start, where this is a home directory";

const HERE: &str = "runs it when it is started in this directory";

const ENTERED: &str = "runs it when the directory is entered";

const OCTAVE: &str = "GNU Octave manual, \"Startup Files\"";

const ROOT: &str = "ROOT manual, \"Logon and logoff scripts\"";

const JDB: &str = "OpenJDK, com.sun.tools.example.debug.tty.TTY";

const PYOCD: &str = "pyOCD, \"User scripts\" and \"Configuration\"";

const PYOCD_SCRIPT: &str = "runs it as Python at every command that looks for a probe in this directory";

const PYOCD_SETTINGS: &str = "runs the script that it names, as Python";

const PYOCD_FILES: FileRules = &[("", ContentRule::Settings(FileFormat::Yaml, harmless::tools::PYOCD))];

const RVM: &str = "RVM, \"Project files\"";

const PRY: &str = "pry, \"Customization and configuration\"";

const IRB: &str = "irb, irb/init.rb, rc_file_generators";

const ZSH_AUTOENV: &str = "zsh-autoenv, README";

const SCILAB: &str = "Scilab, \"startup\"";

const STATA: &str = "Stata, Getting Started, \"Executing commands every time Stata is started\"";

const NGSPICE: &str = "ngspice manual, \"User-defined configuration file .spiceinit\"";

const PYMOL: &str = "PyMOL, modules/pymol/invocation.py, get_user_config";

const LEPTON: &str = "lepton-eda, its tools gschem, gnetlist, gattrib and gsymcheck, and those of gEDA";

const LEPTON_DOCS: &str =
    "gEDA gnetlist User Guide, \"Configuring gnetlist\"; Lepton EDA, \"Configuration Settings\"";

const MAGIC: &str = "magic(1)";

const MODELSIM: &str = "ModelSim User's Manual, \"Initialization sequence\" and \"modelsim.ini Variables\"";

const YORICK: &str = "yorick(1); Yorick, pathfun.i";

const LUAROCKS: &str = "LuaRocks, \"Config file format\"";

const LDAP: &str = "ldap.conf(5)";

const WEZTERM: &str = "WezTerm, \"Configuration Files\"";

const FNOX: &str = "fnox, by its shell hook";

const FNOX_EFFECT: &str = "sets the variables that it names when the directory is entered";

const FNOX_DOCS: &str = "fnox, \"Shell Integration\"";

const TMUX_SESSIONIZER: &str = "tmux-sessionizer, README";

const TMUXINATOR: &str = "tmuxinator, README";

const SESSION: &str = "runs the commands that it names when a session is started there";

const GRACE: &str = "Grace User's Guide, \"Customization\"";

const LUA: &str = "Lua manual, package.path";

const LUA_EFFECT: &str = "runs it in the place of a library in C of that name";

#[rustfmt::skip]
pub(super) const ROWS: &[ProtectRow] = &[
    read_only(&[".bash_aliases"], "bash", EFFECT_AT_START, "Debian's ~/.bashrc", START_UP),
    read_only(&[".bashrc.d"], "bash", "runs each file in it at its start, where this is a home directory", "Fedora's ~/.bashrc",
        &[("*", ContentRule::StartUp)]),
    read_only(&[".bash_completion"], "bash", EFFECT_AT_START, "bash-completion, README", START_UP),
    read_only(&[".bash_login", ".bash_logout", ".bash_profile", ".bashrc"], "bash", EFFECT_AT_START, BASH,
        START_UP),
    read_only(&[".config/fish"], "fish", EFFECT_AT_START, "fish(1)", &[("*.fish", ContentRule::StartUp)]),
    read_only(&[".cshrc", ".login", ".logout"], "csh, tcsh", EFFECT_AT_START, CSH, START_UP),
    read_only(&[".inputrc"], "bash, and what else reads lines with readline",
        "has keys type what it says, commands too, where this is a home directory", "readline(3)", RUN),
    read_only(&[".kshrc"], "ksh", EFFECT_AT_START, "ksh(1)", START_UP),
    read_only(&[".profile"], "sh, bash, ksh", EFFECT_AT_START, "sh(1), bash(1)", START_UP),
    read_only(&[".tcshrc"], "tcsh", EFFECT_AT_START, CSH, START_UP),
    read_only(&[".xinitrc"], "startx", EFFECT_AT_START, "startx(1)", START_UP),
    read_only(&[".xprofile", ".xsession", ".xsessionrc"], "display managers", EFFECT_AT_START, "Xsession(5)",
        START_UP),
    read_only(&[".zlogin", ".zlogout", ".zprofile", ".zshenv", ".zshrc"], "zsh", EFFECT_AT_START, ZSH,
        START_UP),
    read_only(&[".p10k.zsh"], "zsh, with powerlevel10k", EFFECT_AT_START, "powerlevel10k, README", START_UP),
    read_only(&["*.zwc"], "zsh", "runs it in place of the file without `.zwc`, where it is the newer one",
        "zshbuiltins(1), source", RUN),
    // On entering the directory.
    read_only(&[".envrc"], "direnv", ENTERED, "direnv(1)", START_UP),
    // Not `.envrc.example` and the like, which many projects have.
    read_only(&[".envrc.local"], "direnv", "many an `.envrc` that was allowed runs it too",
        "direnv-stdlib(1), source_env_if_exists", START_UP),
    read_only(&[".envrc.private"], "direnv", "the same as `.envrc.local`", "direnv-stdlib(1), source_env",
        START_UP),
    read_only(&[".direnvrc", ".config/direnv"], "direnv",
        "runs it for every `.envrc`, where this is a home directory", "direnv(1)", RUN),
    read_only(&["_opam/.opam-switch/environment"], "opam, by its shell hook",
        "sets the variables that it names at the next prompt", "opam, \"Shell hook\" and \"Local switches\"",
        RUN),
    read_only(&["_opam/.opam-switch/switch-config"], "opam, by its shell hook", "the same as `environment`",
        "opam, \"Local switches\"", RUN),
    read_only(&[".autoenv.zsh"], "zsh-autoenv", ENTERED, ZSH_AUTOENV, START_UP),
    read_only(&[".autoenv_leave.zsh"], "zsh-autoenv", "runs it when the directory is left", ZSH_AUTOENV,
        START_UP),
    read_only(&[".env.leave"], "autoenv", "runs it when the directory is left", "autoenv, README", START_UP),
    read_only(&[".rvmrc"], "RVM", ENTERED, RVM, START_UP),
    read_only(&[".phpbrewrc"], "a shell, by the hook of phpbrew, if `PHPBREW_RC_ENABLE` is set", ENTERED,
        "phpbrew, README", START_UP),
    read_only(&[".versions.conf", ".ruby-env"], "RVM",
        "takes variables from it when the directory is entered", RVM, RUN),
    read_only(&[".rbenv-vars"], "rbenv-vars, RVM", "takes variables of Ruby's environment from it",
        "rbenv-vars, README", RUN),
    read_only(&[".nodenv-vars"], "nodenv-vars", "takes variables of Node.js's environment from it", "nodenv-vars, README", RUN),
    read_only(&[".powrc", ".powenv", ".pumaenv"], "puma-dev, Pow", "run it when the application is asked for",
        "puma-dev, README, \"Environment variables\"", RUN),
    read_only(&[".shadowenv.d"], "shadowenv",
        "runs each program in it when the directory, once trusted, is entered", "shadowenv, \"Trust\"", RUN),
    read_only(&[".direnv/*.rc"], "nix-direnv", "many an `.envrc` that was allowed runs it too",
        "nix-direnv, direnvrc", RUN),
    read_only(&["fnox.toml", "fnox.*.toml", ".fnox.toml", ".fnox.*.toml"], FNOX, FNOX_EFFECT, FNOX_DOCS, RUN),
    // Commands of every day.
    read_only(&[".ripgreprc"], "ripgrep", "takes arguments from it, of which `--pre` runs a program",
        "rg(1), RIPGREP_CONFIG_PATH", RUN),
    read_only(&[".ugrep"], "ug", "takes arguments from it, of which `--filter` and `--pager` run a program",
        "ugrep(1), CONFIGURATION FILE", RUN),
    read_only(&[".ledgerrc"], "ledger",
        "takes options from it, of which some run a program (`--pager`) or write to any file (`--output`)",
        "ledger(1), FILES", RUN),
    read_only(&["hledger.conf"], "hledger 1.40 and newer",
        "takes options from it, here and below, of which some write to any file (`--output-file`)", "hledger manual, \"Config files\"",
        RUN),
    read_only(&["yt-dlp.conf"], "yt-dlp, when it is started in this directory",
        "takes options from it, of which `--exec` runs a command", "yt-dlp, \"Configuration\"", RUN),
    read_only(&[".ssh"], "ssh, sshd",
        "runs what `ProxyCommand`, `Match exec` and `rc` say, and believes who is authorised and which hosts \
         are known", "ssh_config(5), sshd(8)", RUN),
    read_only(&["ldaprc"], "ldapsearch, and what else uses libldap",
        "sends passwords to the server that it names, and believes whom it says, when it is started in this \
         directory", LDAP, RUN),
    read_only(&[".ldaprc"], "ldapsearch, and what else uses libldap",
        "the same as `ldaprc`, where this is a home directory", LDAP, RUN),
    read_only(&[".tmux.conf", ".config/tmux"], "tmux", EFFECT_AT_START, "tmux(1)", RUN),
    read_only(&[".tmux-sessionizer"], "tmux-sessionizer",
        "runs it in each session that it makes for this directory", TMUX_SESSIONIZER, START_UP),
    read_only(&["tmux-sessionizer.conf"], "tmux-sessionizer", HERE, TMUX_SESSIONIZER, START_UP),
    read_only(&[".tmuxinator.yml", ".tmuxinator.yaml"], "tmuxinator", SESSION, TMUXINATOR, RUN),
    read_only(&[".tmuxp.yaml", ".tmuxp.yml", ".tmuxp.json"], "tmuxp", SESSION, "tmuxp, \"Workspace files\"", RUN),
    read_only(&[".smug.yml"], "smug", SESSION, "smug, \"Configuration\"", RUN),
    read_only(&[".config/starship.toml"], "starship, at each prompt",
        "runs the commands that it names, where this is a home directory", "Starship, \"Custom commands\"",
        RUN),
    read_only(&[".wezterm.lua", ".config/wezterm"], "WezTerm", EFFECT_AT_START, WEZTERM, RUN),
    read_only(&[".screenrc"], "screen", EFFECT_AT_START, "screen(1)", RUN),
    // Interpreters and debuggers that read a file where they are started.
    read_only(&[".gdbinit"], "gdb", HERE, "gdb(1), \"Auto-loading safe path\"", RUN),
    read_only(&[".config/gdb", ".gdbearlyinit"], "gdb", EFFECT_AT_START, "gdb(1), \"Initialization Files\"",
        RUN),
    read_only(&[".lldbinit"], "lldb", HERE, "lldb(1), target.load-cwd-lldbinit", RUN),
    read_only(&[".phpdbginit"], "phpdbg", HERE, "phpdbg(1)", RUN),
    read_only(&[".valgrindrc"], "valgrind",
        "takes options from it, of which some write to any file (`--log-file`)",
        "valgrind(1), \"Setting default options\"", RUN),
    read_only(&[".pdbrc"], "pdb of Python", HERE, "Python library reference, pdb", RUN),
    read_only(&[".byebugrc"], "byebug", HERE, "byebug, README", RUN),
    read_only(&[".rdbgrc", ".rdbgrc.rb"], "rdbg of Ruby", EFFECT_AT_START, "debug, README", RUN),
    read_only(&[".perldb"], "the debugger of Perl", HERE, "perldebug(1)", RUN),
    read_only(&[".Rprofile"], "R", HERE, "R, ?Startup", RUN),
    read_only(&[".radian_profile"], "radian, a console of R", HERE, "radian, README", RUN),
    read_only(&[".RData"], "R", "loads it at its start, with functions in place of its own", "R, ?Startup",
        RUN),
    read_only(&[".Renviron"], "R", "takes variables of its environment from it", "R, ?Startup", RUN),
    read_only(&[".Renviron.", ".Renviron.*"], "R", "the same as `.Renviron`, and before it", "R, ?Startup",
        RUN),
    read_only(&["renv/activate.R"], "R, with renv", HERE, "renv, \"activate\"", RUN),
    read_only(&["packrat/init.R"], "R, with packrat", HERE, "packrat, \"init\"", RUN),
    read_only(&[".irbrc", "_irbrc"], "irb", HERE, "irb(1)", RUN),
    read_only(&[".config/irb", "irb.rc", "$irbrc"], "irb", HERE, IRB, RUN),
    read_only(&[".config/pry"], "pry", EFFECT_AT_START, PRY, RUN),
    read_only(&[".pryrc"], "pry", HERE, PRY, RUN),
    read_only(&[".ghci"], "ghci", HERE, "GHC User's Guide, \"The .ghci and .haskeline files\"", RUN),
    classified(&[".ghc.environment.*"], "ghc and ghci, in editors too",
        "loads the packages and libraries of the databases that it names, here and below; cabal writes it, \
         so it stays writable, and is quarantined if it is new or has changed",
        "GHC User's Guide, \"Package environments\"", RUN),
    read_only(&[".ocamlinit"], "ocaml, utop", HERE, "OCaml manual, \"The toplevel system\"", RUN),
    read_only(&[".erlang"], "erl", EFFECT_AT_START, "erl(1)", RUN),
    read_only(&[".iex.exs"], "iex", HERE, "Elixir, IEx, \"The .iex.exs file\"", RUN),
    read_only(&[".octaverc"], "octave", HERE, OCTAVE, RUN),
    read_only(&[".singularrc"], "Singular", HERE, "Singular(1)", RUN),
    read_only(&["singmathic.so"], "Singular", "loads it when it is started in this directory",
        "Singular, Singular/mod_raw.h", RUN),
    read_only(&["custom.i", "pathfun.i"], "Yorick", HERE, YORICK, RUN),
    read_only(&[".gprc"], "gp of PARI", "runs the commands in it at its start", "gp(1)", RUN),
    read_only(&[".calcinit"], "calc", HERE, "calc(1)", RUN),
    read_only(&[".gambini"], "gsi and gsc of Gambit", HERE, "Gambit manual, \"Customization\"", RUN),
    read_only(&[".scilab", "scilab.ini"], "Scilab", HERE, SCILAB, RUN),
    // They look for modules here before they look among their own.
    read_only(&["lfs.lua", "posix.lua", "bz2.lua"], "luarocks and other programs in Lua", LUA_EFFECT, LUA,
        RUN),
    read_only(&["lpeg.lua", "bit32.lua", "cjson.lua"], "programs in Lua", LUA_EFFECT, LUA, RUN),
    read_only(&["lanes.lua"], "luacheck and other programs in Lua", LUA_EFFECT, LUA, RUN),
    read_only(&["luarocks/core/hardcoded.lua"], "luarocks", "runs it, where none was installed", LUA, RUN),
    read_only(&["socket.so"], "luarocks and other programs in Lua",
        "loads it, where no LuaSocket was installed", "Lua manual, package.cpath", RUN),
    read_only(&[".luarocks/config-*.lua"], "luarocks",
        "runs the programs that it names, and takes packages from the servers that it names, at any command",
        LUAROCKS, RUN),
    read_only(&["startup.m"], "octave, MATLAB", HERE, OCTAVE, RUN),
    read_only(&["finish.m"], "octave, MATLAB", "runs it at its end, when it was started in this directory",
        "GNU Octave manual, \"Quitting Octave\"", RUN),
    read_only(&["pathdef.m"], "MATLAB",
        "runs it in the place of its own, which says where it looks for functions",
        "MATLAB, \"How MATLAB Finds the Search Path, pathdef.m\"", RUN),
    read_only(&["javaclasspath.txt"], "octave, MATLAB", "loads classes of Java from where it says",
        "GNU Octave manual, \"Making Java Classes Available\"; MATLAB, \"Static Path of Java Class Path\"",
        RUN),
    read_only(&["java.opts"], "MATLAB", "starts Java with the options in it",
        "MATLAB Answers, \"How do I increase the heap space for the Java VM\"", RUN),
    read_only(&["profile.do", "sysprofile.do"], "Stata", HERE, STATA, RUN),
    read_only(&[".spiceinit", "spice.rc"], "ngspice", HERE, NGSPICE, RUN),
    read_only(&["openocd.cfg"], "OpenOCD", HERE, "OpenOCD User's Guide, \"Running\"", RUN),
    read_only(&["jdb.ini", ".jdbrc"], "jdb of Java", HERE, JDB, RUN),
    read_only(&["pyocd_user.py", ".pyocd_user.py"], "pyOCD", PYOCD_SCRIPT, PYOCD, RUN),
    read_only(&["pyocd.yaml", "pyocd.yml", ".pyocd.yaml", ".pyocd.yml"], "pyOCD", PYOCD_SETTINGS, PYOCD,
        PYOCD_FILES),
    read_only(&["gafrc", "gattribrc", "gnetlistrc", "gschemrc", "gsymcheckrc"], LEPTON, HERE, LEPTON_DOCS,
        RUN),
    read_only(&[".magicrc", "magic_setup"], "Magic VLSI", HERE, MAGIC, RUN),
    read_only(&["xschemrc"], "xschem", HERE, "xschem(1), FILES", RUN),
    read_only(&["modelsim.tcl"], "ModelSim, Questa", HERE, MODELSIM, RUN),
    classified(&["modelsim.ini"], "ModelSim, Questa",
        "runs the commands at its start, and loads the libraries, that it names; `vmap` writes it, so it \
         stays writable, and is quarantined if it newly names any", MODELSIM,
        &[("", ContentRule::Settings(FileFormat::Ini, harmless::tools::MODELSIM))]),
    read_only(&[".pymolrc", ".pymolrc.*"], "PyMOL", HERE, PYMOL, RUN),
    read_only(&["pymolrc", "pymolrc.*"], "PyMOL", EFFECT_AT_START, PYMOL, RUN),
    read_only(&["maxima-init.*"], "maxima", HERE, "Maxima manual, \"Runtime Environment\"", RUN),
    read_only(&["rootlogon.C", ".rootlogon.C"], "root of CERN", HERE, ROOT, RUN),
    read_only(&["rootalias.C"], "root of CERN", "loads it when it is started in this directory", ROOT, RUN),
    read_only(&["rootlogoff.C"], "root of CERN", "runs it at its end, when it was started in this directory",
        ROOT, RUN),
    read_only(&[".rootrc"], "root of CERN", "runs and loads the macros that it names", "ROOT, TEnv", RUN),
    read_only(&[".vmdrc"], "VMD", HERE, "VMD User's Guide, \"Startup Files\"", RUN),
    read_only(&["gracerc", ".grace/gracerc"], "Grace", HERE, GRACE, RUN),
    read_only(&[".csound6rc"], "csound",
        "takes options from it when it is started in this directory, of which some load a library \
         (`--opcode-lib`) or write to any file", "Csound manual, \"The .csound6rc File\"", RUN),
    classified(&["gmt.conf"], "gmt of the Generic Mapping Tools",
        "loads the libraries that it names, hands over `PS_CONVERT` to a shell, and takes more of such \
         settings from the theme that it names; its commands write it, so it stays writable, and is quarantined if it newly has one of these", "gmt.conf(5), GMT_CUSTOM_LIBS, GMT_THEME and PS_CONVERT",
        &[("", ContentRule::Settings(FileFormat::Ini, harmless::tools::GMT))]),
    read_only(&["autoexec.sas"], "SAS", HERE, "SAS companion for UNIX, \"AUTOEXEC System Option\"", RUN),
    read_only(&["PKG_ADD"], "octave", HERE, "GNU Octave manual, \"Creating Packages\"", RUN),
    read_only(&["PKG_DEL"], "octave", "runs it when the directory leaves its path",
        "GNU Octave manual, \"Creating Packages\"", RUN),
];
