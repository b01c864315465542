//! `shell`: an interactive shell in a fresh sandbox.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use sandbox::session::attendance::Parent;
use sandbox::session::passed::PassedDescriptor;

use crate::cli::ShellArgs;
use crate::context::Context;
use crate::error::CommandError;
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
    let mut early = super::run::Early::new(ui, &context, &args.show);
    let mut loaded =
        load::plan(ui, &context, &args.request, login_shell(), &mut |provider| early.on_known(provider))?;
    if loaded.plan.provider.runs_containers() {
        // Which shells an image has, only it knows.
        let either = "command -v bash >/dev/null && exec bash -l; exec sh -l";
        loaded.plan.agent.argv = ["sh", "-c", either].map(OsString::from).to_vec();
    }
    let early = early.init;
    loaded.plan.agent.pass_fd.clone_from(&args.pass.numbers);
    let start = super::run::Start { early, passed, parent: parent.as_ref(), asker: None, stay: None };
    super::run::carry_out(ui, context, loaded, start, &args.show)
}

// Native and local sandboxes see the host's programs, so the host is where to look.
fn login_shell() -> Vec<OsString> {
    let bash = ["/bin/bash", "/usr/bin/bash"].iter().any(|path| Path::new(path).exists());
    let argv: &[&str] = if bash { &["bash", "-l"] } else { &["sh", "-l"] };
    argv.iter().map(OsString::from).collect()
}
