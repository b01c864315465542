//! Rows of modules that Erlang and Elixir look for in the directory that they are started in, before they look where those are: of OTP, and
//! loaded when one of `erl`, `elixir`, `mix`, `iex`, `escript` or `elixirc` starts. The path of code begins with `.`.

use super::row::{ProtectRow, RUN, read_only};

const EFFECT: &str = "runs it in the place of a module of its own";

const SOURCE: &str = "Erlang, code(3), \"Code Path\"";

macro_rules! modules {
    ($($module:literal),* $(,)?) => {
        &[read_only(&[$(concat!($module, ".beam")),*], "erl, elixir, mix", EFFECT, SOURCE, RUN)]
    };
}

pub(super) const ROWS: &[ProtectRow] = modules![
    "beam_a", "beam_asm", "beam_block", "beam_call_types", "beam_clean", "beam_dict", "beam_flatten",
    "beam_jump", "beam_kernel_to_ssa", "beam_opcodes", "beam_ssa", "beam_ssa_bsm", "beam_ssa_codegen",
    "beam_ssa_pre_codegen", "beam_ssa_recv", "beam_ssa_share", "beam_ssa_throw", "beam_trim", "beam_types",
    "beam_utils", "beam_validator", "beam_z", "cerl", "cerl_clauses", "cerl_trees", "compile", "core_lib",
    "core_lint", "epp", "erl_anno", "erl_bifs", "erl_bits", "erl_distribution", "erl_internal", "erl_scan",
    "erl_signal_handler", "erpc", "eval_bits", "global", "global_group", "inet", "inet_config", "inet_db",
    "inet_gethost_native", "inet_parse", "inet_udp", "io", "kernel_config", "kernel_refc",
    "logger_formatter", "logger_h_common", "logger_handler_watcher", "logger_std_h", "logger_sup", "maps",
    "net_kernel", "orddict", "ordsets", "otp_internal", "rand", "raw_file_io", "re", "rpc", "sets", "sofs",
    "standard_error", "string", "supervisor_bridge", "sys_core_alias", "sys_core_bsm", "sys_core_fold",
    "unicode_util", "user", "user_sup", "v3_core", "v3_kernel", "array", "beam_lib", "calendar", "dict",
    "digraph", "edlin", "edlin_expand", "erl_eval", "erl_expand_records", "erl_lint", "erl_parse", "erl_pp",
    "escript", "ets", "file_io_server", "filelib", "gb_sets", "gb_trees", "group", "httpc", "io_lib",
    "logger_backend", "logger_filters", "logger_olp", "logger_server", "prim_tty", "proc_lib", "proplists",
    "queue", "shell", "sys", "timer", "user_drv",
];
