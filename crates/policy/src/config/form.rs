//! Forms: how the value of a key is written. A form has the kind that the schema documents, and reads the value from a file,
//! a flag or a variable.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::setting::{PathBase, Setting};
use super::value::{self, Expose, ProviderChoice, SecretMode, SecretProvider};
use crate::agents::Profile;
use crate::config::document::{DocumentReader, Fault, Scalar, Section};
use crate::config::key::{
    Key, MAX_ATTACHMENTS, MAX_CHILDREN, MAX_DEPTH, MAX_GENERATIONS, MAX_POOL, MAX_WORKERS, TextFormat,
    ValueKind,
};
use crate::config::problem::{Located, Location, Problem, ProblemCode};
use crate::plan::{BoundaryMode, Layer, OnReplaced, Pull, SecretSource};
use crate::protect::RelativePath;
use crate::rules::env::Name;
use crate::rules::git::RepositoryAccess;
use crate::rules::guest::{GuestPlace, StartDirectory};
use crate::rules::hide::HidePattern;
use crate::rules::limits::{Bytes, MilliCpus};
use crate::rules::network;
use crate::rules::network::preset::{AllowedHosts, not_bare};
use crate::rules::socket::{GuestSocket, SocketSource};
use crate::rules::upstream::{CredentialHeader, HeaderTemplate, UpstreamUrl};
use crate::rules::user::UserSpec;

/// How the value of a key is written.
pub(crate) trait ValueForm {
    /// What it is read as.
    type Value;
    /// What the schema documents of it.
    const KIND: ValueKind;

    /// Reads one value.
    fn parse(scalar: Scalar<'_>, base: &PathBase) -> Result<Self::Value, Fault>;

    /// Takes what was typed as the scalar that a file would hold.
    fn scalar(text: &str) -> Scalar<'_> {
        Scalar::Text(text)
    }

    /// Reads a key of a file.
    fn read(
        reader: &mut DocumentReader<'_, '_>,
        section: &Section<'_, '_>,
        name: &str,
        base: &PathBase,
    ) -> Setting<Self::Value> {
        reader.scalar(section, name, |scalar| Self::parse(scalar, base))
    }

    /// Reads the text of a flag or a variable. Where it was typed several times, the last one counts.
    fn typed(typed: &Typed<'_>, problems: &mut Vec<Problem>) -> Setting<Self::Value> {
        let parsed = Self::parse(Self::scalar(typed.texts.last()?), typed.base);
        let value = typed.accept(problems, parsed)?;
        Some(Located::new(value, typed.location.clone()))
    }
}

/// The text of a flag or a variable that sets a key.
pub(crate) struct Typed<'a> {
    pub(crate) key: &'a Key,
    /// What was typed, each time.
    pub(crate) texts: &'a [String],
    pub(crate) location: &'a Location,
    /// What relative paths are seen from.
    pub(crate) base: &'a PathBase,
}

impl Typed<'_> {
    /// Returns the value, or notes what is wrong with it.
    fn accept<T>(&self, problems: &mut Vec<Problem>, parsed: Result<T, Fault>) -> Option<T> {
        let Key { path, kind, .. } = self.key;
        let note =
            |fault: Fault| problems.push(fault.problem(self.location, *path, NOT_ITS_TYPE, Some(*kind)));
        parsed.map_err(note).ok()
    }
}

/// A form that is one text, alone or as an entry of a list.
pub(crate) trait Text {
    /// What it is read as.
    type Value;
    /// What it must look like.
    const FORMAT: TextFormat;

    /// Reads it.
    fn parse(text: &str, base: &PathBase) -> Result<Self::Value, Fault>;
}

impl<T: Text> ValueForm for T {
    type Value = T::Value;
    const KIND: ValueKind = ValueKind::Text(T::FORMAT);

    fn parse(scalar: Scalar<'_>, base: &PathBase) -> Result<Self::Value, Fault> {
        match scalar {
            Scalar::Text(text) => T::parse(text, base),
            _ => Err(Fault::Type),
        }
    }
}

/// A list of texts. Entries that do not fit are noted and left out.
pub(crate) struct ListOf<T>(std::marker::PhantomData<T>);

impl<T: Text> ValueForm for ListOf<T> {
    type Value = Vec<Located<T::Value>>;
    const KIND: ValueKind = ValueKind::List(T::FORMAT);

    fn parse(_: Scalar<'_>, _: &PathBase) -> Result<Self::Value, Fault> {
        Err(Fault::Type)
    }

    fn read(
        reader: &mut DocumentReader<'_, '_>,
        section: &Section<'_, '_>,
        name: &str,
        base: &PathBase,
    ) -> Setting<Self::Value> {
        reader.list(section, name, |text| T::parse(text, base))
    }

    fn typed(typed: &Typed<'_>, problems: &mut Vec<Problem>) -> Setting<Self::Value> {
        let entry = |text: &String| {
            let value = typed.accept(problems, T::parse(text, typed.base))?;
            Some(Located::new(value, typed.location.clone()))
        };
        Some(Located::new(typed.texts.iter().filter_map(entry).collect(), typed.location.clone()))
    }
}

/// A command with its arguments: neither the list nor its first word is empty.
pub(crate) enum CommandLine {}

impl ValueForm for CommandLine {
    type Value = Vec<OsString>;
    const KIND: ValueKind = ValueKind::Command;

    fn parse(_: Scalar<'_>, _: &PathBase) -> Result<Self::Value, Fault> {
        Err(Fault::Type)
    }

    fn read(
        reader: &mut DocumentReader<'_, '_>,
        section: &Section<'_, '_>,
        name: &str,
        _: &PathBase,
    ) -> Setting<Self::Value> {
        let noted = reader.noted();
        let list = reader.list(section, name, value::argument)?;
        if list.value.first().is_some_and(|program| !program.value.is_empty()) {
            let words = list.value.into_iter().map(|word| word.value).collect();
            return Some(Located::new(words, list.location));
        }
        if reader.noted() == noted {
            let problem = Problem::new(
                &list.location,
                section.key(name),
                ProblemCode::InvalidValue,
                "there is no command",
            );
            reader.note(problem.expecting(Self::KIND.expected()));
        }
        None
    }
}

/// One of several words.
pub(crate) struct OneOf<T>(std::marker::PhantomData<T>);

impl<T: value::Choice> ValueForm for OneOf<T> {
    type Value = T;
    const KIND: ValueKind = ValueKind::Choice(T::NAMES);

    fn parse(scalar: Scalar<'_>, _: &PathBase) -> Result<Self::Value, Fault> {
        match scalar {
            Scalar::Text(text) => value::word(text, T::WORDS),
            _ => Err(Fault::Type),
        }
    }
}

/// Makes forms of text: name, what it is read as, what it must look like, and how it is read.
macro_rules! texts {
    ($($(#[$about:meta])* $name:ident: $value:ty = $format:ident, $parse:expr;)*) => {
        $(
            $(#[$about])*
            pub(crate) enum $name {}

            impl Text for $name {
                type Value = $value;
                const FORMAT: TextFormat = TextFormat::$format;

                fn parse(text: &str, base: &PathBase) -> Result<$value, Fault> {
                    let parse: fn(&str, &PathBase) -> Result<$value, Fault> = $parse;
                    parse(text, base)
                }
            }
        )*
    };
}

texts! {
    AnyText: String = Any, |text, _| value::any(text);
    NonEmptyText: String = NotEmpty, |text, _| value::not_empty(text);
    NameText: String = Name, |text, _| value::name(text);
    UserText: UserSpec = User, |text, _| value::parsed(text);
    InsidePlace: GuestPlace = GuestPlace, |text, _| value::parsed(text);
    Start: StartDirectory = Start, |text, _| value::parsed(text);
    ProtectedPath: RelativePath = InnerPath, |text, _| value::parsed(text);
    HiddenPath: HidePattern = HidePattern, |text, _| value::parsed(text);
    HostPath: PathBuf = HostPath, value::host_path;
    SocketText: SocketSource = Socket, value::socket;
    SocketPlace: GuestSocket = GuestSocket, |text, _| value::parsed(text);
    PathPrefix: PathBuf = Any, |text, _| value::prefix(text);
    VariableName: Name = Variable, |text, _| value::parsed(text);
    VariableValue: OsString = Any, |text, _| value::argument(text);
    ImageName: String = Image, |text, _| value::image(text);
    PlatformText: String = Platform, |text, _| value::platform(text);
    Runtime: String = NotEmpty, |text, _| value::runtime(text);
    Suffix: String = Suffix, |text, _| value::suffix(text);
    SecretSourceText: SecretSource = Source, value::source;
    Url: UpstreamUrl = Url, |text, _| value::parsed(text);
    HeaderText: CredentialHeader = Header, |text, _| value::parsed(text);
    TemplateText: HeaderTemplate = Template, |text, _| value::parsed(text);
    AllowedText: AllowedHosts = Allowed, |text, _| value::parsed(text);
    HostText: network::HostPattern = Host, |text, _| not_bare(text).map_err(Fault::value);
    RuleText: network::Pattern = Rule, |text, _| not_bare(text).map_err(Fault::value);
    LayerName: Layer = Layer, |text, _| value::layer(text);
    Age: Duration = Duration, |text, _| value::duration(text);
    ExposedPath: Expose = Toolchain, value::exposed;
}

/// Makes forms that may be numbers: name, what it is read as, what is documented, and how it is read.
macro_rules! scalars {
    ($($(#[$about:meta])* $name:ident: $value:ty = $kind:expr, $parse:expr;)*) => {
        $(
            $(#[$about])*
            pub(crate) enum $name {}

            impl ValueForm for $name {
                type Value = $value;
                const KIND: ValueKind = $kind;

                fn parse(scalar: Scalar<'_>, _: &PathBase) -> Result<$value, Fault> {
                    let parse: fn(Scalar<'_>) -> Result<$value, Fault> = $parse;
                    parse(scalar)
                }

                fn scalar(text: &str) -> Scalar<'_> {
                    value::scalar(text)
                }
            }
        )*
    };
}

scalars! {
    Version: u32 = ValueKind::Integer(1, 1), |scalar| value::integer(scalar, 1, 1);
    PoolSize: u32 = ValueKind::Integer(0, MAX_POOL), |scalar| value::integer(scalar, 0, MAX_POOL);
    ChildCount: u32 = ValueKind::Integer(0, MAX_CHILDREN), |scalar| value::integer(scalar, 0, MAX_CHILDREN);
    WorkerCount: u32 = ValueKind::Integer(1, MAX_WORKERS), |scalar| value::integer(scalar, 1, MAX_WORKERS);
    WorkerFiles: u32 = ValueKind::Integer(0, MAX_ATTACHMENTS), |scalar| value::integer(scalar, 0, MAX_ATTACHMENTS);
    ChildDepth: u32 = ValueKind::Integer(1, MAX_GENERATIONS), |scalar| value::integer(scalar, 1, MAX_GENERATIONS);
    Depth: u32 = ValueKind::Integer(0, MAX_DEPTH), |scalar| value::integer(scalar, 0, MAX_DEPTH);
    TrueOrFalse: bool = ValueKind::Bool, value::boolean;
    Size: Bytes = ValueKind::Size, value::size;
    SizeLimit: Option<Bytes> = ValueKind::Memory, |scalar| value::or_unlimited(scalar, value::size);
    MemoryLimit: Option<Bytes> = ValueKind::Memory, |scalar| value::or_unlimited(scalar, value::memory);
    CpuLimit: Option<MilliCpus> = ValueKind::Cpus, |scalar| value::or_unlimited(scalar, value::cpus);
    PidsLimit: Option<u32> = ValueKind::Pids, |scalar| value::or_unlimited(scalar, value::pids);
    CpuTimeLimit: Option<Duration> = ValueKind::Timeout, |scalar| value::or_unlimited(scalar, value::cpu_time);
    TimeLimit: Option<Duration> = ValueKind::Timeout, |scalar| value::or_unlimited(scalar, value::timeout);
}

pub(crate) type ProviderWord = OneOf<ProviderChoice>;
pub(crate) type NetworkWord = OneOf<network::NetworkMode>;
pub(crate) type ModeWord = OneOf<BoundaryMode>;
pub(crate) type ModeOfSecret = OneOf<SecretMode>;
pub(crate) type ProviderOfSecret = OneOf<SecretProvider>;
pub(crate) type WhenReplaced = OneOf<OnReplaced>;
pub(crate) type ProfileWord = OneOf<Profile>;
pub(crate) type WorktreeRepository = OneOf<RepositoryAccess>;
pub(crate) type WhenPulled = OneOf<Pull>;

/// Returns the value, or notes what is wrong with it.
pub(crate) fn accept<T>(
    problems: &mut Vec<Problem>,
    location: &Location,
    key: &str,
    parsed: Result<T, Fault>,
) -> Option<T> {
    parsed.map_err(|fault| problems.push(fault.problem(location, key, NOT_ITS_TYPE, None))).ok()
}

const NOT_ITS_TYPE: &str = "this cannot be its value";
