//! `shell`: an interactive shell in a fresh sandbox, or in a persistent one.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use policy::plan::Provider;
use sandbox::session::attendance::Parent;
use sandbox::session::passed::PassedDescriptor;

use crate::cli::{ExecArgs, ShellArgs};
use crate::context::Context;
use crate::error::{Code, CommandError};
use crate::exit_code::ExitCode;
use crate::load;
use crate::ui::Ui;

pub(crate) fn shell(
    ui: &Ui,
    context: Context,
    parent: io::Result<Parent>,
    args: &ShellArgs,
) -> Result<ExitCode, CommandError> {
    let parent = super::run::parent(args.life, parent)?;
    let passed = PassedDescriptor::inherited(&args.pass.numbers)?;
    if let Some(name) = &args.sandbox {
        return in_sandbox(ui, context, parent.as_ref(), passed, args, name);
    }
    let mut early = super::run::Early::new(ui, &context, &args.request, &args.show);
    let mut loaded =
        load::plan(ui, &context, &args.request, login_shell(), &mut |provider| early.on_known(provider))?;
    loaded.plan.agent.argv = shell_of(loaded.plan.provider);
    let early = early.init;
    loaded.plan.agent.pass_fd.clone_from(&args.pass.numbers);
    let stay = super::run::named(&args.request);
    let start = super::carry_out::Start {
        early,
        passed,
        parent: parent.as_ref(),
        stay,
        ..super::carry_out::Start::default()
    };
    super::carry_out::carry_out(ui, context, loaded, start, &args.show)
}

/// Opens a shell in a persistent sandbox.
fn in_sandbox(
    ui: &Ui,
    context: Context,
    parent: Option<&Parent>,
    passed: Vec<PassedDescriptor>,
    args: &ShellArgs,
    name: &str,
) -> Result<ExitCode, CommandError> {
    let sandbox = super::sandboxes::open(&context)?.find(name)?;
    let mut exec = ExecArgs { argv: shell_of(sandbox.record.plan.provider), ..ExecArgs::default() };
    let request = &args.request;
    exec.env.clone_from(&request.env);
    exec.pass.numbers.clone_from(&args.pass.numbers);
    let mut rest = false;
    for (key, text) in &request.keys.0 {
        match key.path {
            "agent.workdir" => exec.workdir = text.first().cloned(),
            "limits.timeout" => exec.timeout = text.first().cloned(),
            _ => rest = true,
        }
    }
    let is_fresh = rest
        || request.name.is_some()
        || request.platform.is_some()
        || request.create_dirs
        || args.show.dry_run
        || args.show.report
        || [request.unset_env.len(), request.env_file.len(), request.volume.len(), request.socket.len()]
            != [0; 4]
        || request.source.config.is_some()
        || request.source.trust.is_some();
    if is_fresh {
        let message = "shell NAME: a persistent sandbox keeps what it was made with";
        return Err(CommandError::message(Code::UsageInvalid, message).hint(
            "`--env`, `--workdir`, `--timeout` and `--pass-fd` can be given; without NAME, the shell gets a fresh sandbox",
        ));
    }
    super::sandboxes::exec::exec(ui, context, parent, sandbox, passed, exec)
}

/// Returns the shell that is opened in a sandbox of a provider.
fn shell_of(provider: Provider) -> Vec<OsString> {
    if provider.runs_containers() {
        // Which shells an image has, only it knows.
        let either = "command -v bash >/dev/null && exec bash -l; exec sh -l";
        return ["sh", "-c", either].map(OsString::from).to_vec();
    }
    login_shell()
}

// Native and local sandboxes see the host's programs, so the host is where to look.
fn login_shell() -> Vec<OsString> {
    let bash = ["/bin/bash", "/usr/bin/bash"].iter().any(|path| Path::new(path).exists());
    let argv: &[&str] = if bash { &["bash", "-l"] } else { &["sh", "-l"] };
    argv.iter().map(OsString::from).collect()
}
