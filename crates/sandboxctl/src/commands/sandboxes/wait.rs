//! `wait`: waits until sandboxes have ended.

use confine::protocol::EndCause;
use serde_json::{Map, Value};

use crate::cli::NamesArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

pub(crate) fn wait(ui: &Ui, context: &Context, args: &NamesArgs) -> Result<ExitCode, CommandError> {
    let sandboxes = super::open(context)?;
    let found: Vec<_> = args.names.iter().map(|name| sandboxes.find(name)).collect::<Result<_, _>>()?;
    let mut all = Map::new();
    for sandbox in &found {
        let end = sandbox.wait()?;
        // As `docker wait`, which knows of nothing but exit codes.
        let code = match end.map(|end| end.cause) {
            Some(EndCause::Command(ending)) => ending.exit_code(),
            Some(EndCause::Stopped | EndCause::Idle | EndCause::Aged) => 0,
            None => ExitCode::Signal(9).number(),
        };
        if !ui.is_json() {
            ui.raw(format!("{code}\n").as_bytes())?;
        }
        all.insert(sandbox.name().to_owned(), super::end_object(end));
    }
    super::clear_up_after(ui, context)?;
    if ui.is_json() {
        ui.json(&Value::Object(all))?;
    }
    Ok(ExitCode::Success)
}
