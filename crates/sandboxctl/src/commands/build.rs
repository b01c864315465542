//! `build`: the image of container providers, made by buildx as `[image]` says.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};

use policy::overrides::Overrides;
use policy::recipe::{Flags, Recipe, Source};
use sandbox::engine::EngineError;
use sandbox::image::{self, BuildError, Built, Detail, Lack, Progress, Request};
use serde_json::{Value, json};

use crate::cli::{BuildArgs, Format};
use crate::context::Context;
use crate::error::{Code, CommandError, of_engine};
use crate::exit_code::ExitCode;
use crate::ui::{self, Ui};
use crate::{consent, files, load};

pub(crate) fn build(ui: &Ui, context: &Context, args: &BuildArgs) -> Result<ExitCode, CommandError> {
    let recipe = recipe(context, args)?;
    let surroundings = context.engines();
    let request = Request {
        recipe: &recipe,
        surroundings: &surroundings,
        temporary: &env::temp_dir(),
        epoch: context.variable("SOURCE_DATE_EPOCH"),
        metadata_file: args.metadata_file.as_deref(),
        detail: if ui.format() == Format::Json { Detail::Platforms } else { Detail::Whole },
    };
    // buildx draws on a terminal by itself.
    let draws = !ui.is_quiet() && io::stderr().is_terminal();
    let mut say = |line: &str| ui.note(line);
    let mut progress = if draws { Progress::Terminal } else { Progress::Lines(&mut say) };
    if args.dry_run {
        let (variable, words) = image::command(&request, &progress)?;
        ui.note(match recipe.source {
            Source::Stock { .. } => "the build context is carried inside sandboxctl, and comes on stdin",
            Source::Own { .. } => "before this, the entrypoint is built to disk, if it is wanted, and the image is checked there",
        });
        let shown = json!({ "environment": variable, "command": lossy(&words), "recipe": recipe });
        ui.data(&shown, |_| format!("{}\n", line(variable, &words)))?;
        return Ok(ExitCode::Success);
    }
    let built = match image::build(&request, &mut progress) {
        Err(BuildError::Ended(signal)) => {
            ui.failure(&BuildError::Ended(signal).into());
            return Ok(ExitCode::Signal(signal));
        }
        built => built?,
    };
    ui.data(&output(&recipe, &built), |_| text(&recipe, &built))?;
    Ok(ExitCode::Success)
}

/// What is to be built, by the file and the flags.
fn recipe(context: &Context, args: &BuildArgs) -> Result<Recipe, CommandError> {
    let flags = Flags {
        platform: args.platform.clone(),
        tag: args.tag.clone(),
        push: args.push,
        load: args.load,
        base: args.base.clone(),
        build_arg: args.build_arg.clone(),
        secret: args.secret.clone(),
        cache_from: args.cache_from.clone(),
        cache_to: args.cache_to.clone(),
        no_cache: args.no_cache,
        sbom: args.sbom.clone(),
        provenance: args.provenance.clone(),
        builder: args.builder.clone(),
    };
    let file = files::project(context, args.source.config.as_deref())?;
    let settings = load::settings(context, file.as_ref(), &Overrides::default())?;
    if let Some(file) = &file {
        consent::require(context, &args.source, file, &settings.widenings)?;
    }
    Recipe::new(&settings.effective, &flags).map_err(CommandError::problems)
}

fn output(recipe: &Recipe, built: &Built) -> Value {
    let platforms = built.platforms.iter();
    json!({
        "image": {
            "tags": recipe.tags,
            "digest": built.digest,
            "platforms": platforms
                .map(|(platform, digest)| json!({ "platform": platform, "digest": digest }))
                .collect::<Vec<_>>(),
            "loaded": recipe.destination.loads(),
            "pushed": recipe.destination.pushes(),
            "builder": built.builder,
        }
    })
}

/// The names of the image, each with its digest where it has one.
fn text(recipe: &Recipe, built: &Built) -> String {
    let digest = built.digest.as_ref().map(|digest| format!("@{digest}")).unwrap_or_default();
    recipe.tags.iter().map(|tag| format!("{tag}{digest}\n")).collect::<Vec<_>>().concat()
}

fn lossy(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// A command line as a shell takes it.
fn line(variable: Option<String>, words: &[OsString]) -> String {
    let words = lossy(words).into_iter().map(|word| quoted(&word));
    variable.into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@+".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// An image that was not built.
impl From<BuildError> for CommandError {
    fn from(error: BuildError) -> Self {
        let (code, details) = match &error {
            BuildError::Engine(engine) => (of_engine(engine), Value::Null),
            BuildError::NoBuildx { .. } | BuildError::Builder { .. } => (Code::BuilderMissing, Value::Null),
            BuildError::Lacks { builder, lacks, .. } | BuildError::NoBuilder { builder, lacks, .. } => {
                let emulator = lacks.iter().any(|lack| matches!(lack, Lack::Emulator(_)));
                let code = if emulator { Code::EmulatorMissing } else { Code::BuilderUnfit };
                let lacks: Vec<String> = lacks.iter().map(ToString::to_string).collect();
                (code, json!({ "builder": builder, "lacks": lacks }))
            }
            BuildError::Emulator { platform } => (Code::EmulatorMissing, json!({ "platform": platform })),
            BuildError::Fetch { image, .. } => (Code::ImageNotFetched, json!({ "image": image })),
            BuildError::Push { .. } => (Code::ImageNotPushed, Value::Null),
            BuildError::DiskFull { .. } => (Code::EngineDiskFull, Value::Null),
            BuildError::Step { step, printed, .. } => {
                (Code::BuildFailed, json!({ "step": step, "printed": printed }))
            }
            BuildError::Unfit { unfit } => {
                let one = |(platform, what): &(_, image::Unfit)| json!({ "platform": platform, "problem": what.to_string() });
                (Code::ImageUnfit, json!({ "problems": unfit.iter().map(one).collect::<Vec<_>>() }))
            }
            BuildError::Ended(_) | BuildError::File { .. } | BuildError::Answer { .. } => {
                (Code::ToolFailed, Value::Null)
            }
        };
        let hints = hints(&error);
        let message = ui::one_line(&error.to_string());
        hints.into_iter().fold(Self::message(code, message).details(details), Self::hint)
    }
}

/// What to do next.
fn hints(error: &BuildError) -> Vec<String> {
    let hints: &[&str] = match error {
        BuildError::Engine(EngineError::NotInstalled { .. }) => &[
            "install Docker with buildx, which builds images; `sandboxctl run --provider native` needs none",
        ],
        BuildError::Engine(engine) => return engine.remedy().into_iter().collect(),
        BuildError::NoBuildx { .. } => &[
            "install it: `apt-get install docker-buildx-plugin` (Docker's packages) or `docker-buildx` (Debian's)",
        ],
        BuildError::Builder { .. } => {
            &["`docker buildx ls` lists the builders, `docker buildx use default` takes the engine's own"]
        }
        BuildError::Lacks { lacks, .. } | BuildError::NoBuilder { lacks, .. } => {
            return lacks.iter().map(remedy).collect();
        }
        BuildError::Emulator { .. } => &[EMULATE],
        BuildError::Fetch { .. } => &[
            "if the registry wants to know who you are: `docker login`; `--base` and `--build-arg RUST=` name other images",
        ],
        BuildError::Push { .. } => &["`docker login REGISTRY` gives the right to push, `--tag` another name"],
        BuildError::DiskFull { .. } => {
            &["`docker buildx du` says what the cache holds, `docker buildx prune` removes it"]
        }
        BuildError::Step { printed, .. } => {
            return printed
                .last()
                .map(|line| format!("the last it said: {}", ui::one_line(line)))
                .into_iter()
                .collect();
        }
        BuildError::Unfit { .. } => {
            &["`COPY --from=entrypoint /entrypoint /usr/local/bin/entrypoint` takes it in, \
             `ENTRYPOINT [\"/usr/local/bin/entrypoint\"]` starts it; docs/image.md has a whole example"]
        }
        BuildError::Ended(_) | BuildError::File { .. } | BuildError::Answer { .. } => &[],
    };
    hints.iter().map(|hint| (*hint).to_owned()).collect()
}

const EMULATE: &str = "`docker run --privileged --rm tonistiigi/binfmt --install all` adds emulators until the next start of \
                       this machine; Debian's `qemu-user-static` or `qemu-user-binfmt` for good";

/// What gives a builder what it lacks.
fn remedy(lack: &Lack) -> String {
    match lack {
        Lack::Emulator(platform) => format!("{EMULATE}; or leave {platform} out with `--platform`"),
        Lack::Platforms | Lack::Store => "build for one platform (`--platform linux/amd64`), or let the engine keep images in \
                                          containerd: {\"features\": {\"containerd-snapshotter\": true}} in /etc/docker/daemon.json, \
                                          then `systemctl restart docker`; or `--push` without `--load`"
            .to_owned(),
        Lack::Attestations | Lack::Cache | Lack::Layout => {
            "`docker buildx create --use --driver docker-container` makes a builder that can".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_given_to_a_shell() {
        let words = ["docker", "--build-arg", "PACKAGES=a b", "it's", ""].map(OsString::from);
        let shown = line(Some("A=1".to_owned()), &words);
        assert_eq!(shown, r"A=1 docker --build-arg 'PACKAGES=a b' 'it'\''s' ''");
    }
}
