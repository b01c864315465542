//! How the content of a new file is classified, by the rules of a row.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::harmless;

/// How the content of a new file is classified.
#[derive(Debug)]
pub(crate) enum ContentRule {
    /// Nothing in it runs anything by itself.
    Harmless,
    /// Text or a picture: nothing in it runs anything, unless it is a script.
    Text,
    /// It is run, or says what is: whatever it holds counts.
    Run,
    /// The same, and a directory counts even if it is empty: a program uses whichever is there.
    Exists,
    /// A shell runs it when it starts.
    StartUp,
    GitConfig,
    /// What git knows of submodules.
    GitModules,
    /// Settings, of which only these keys are harmless.
    Settings(FileFormat, &'static harmless::Keys),
    /// The same in JSON, of which opencode replaces parts before it reads it.
    Opencode(&'static harmless::Keys),
    /// One of these texts, and no more.
    Content(&'static [&'static str]),
    /// Names of programs and their versions, which may have one of these before them.
    Versions(&'static [&'static str]),
    /// Versions of Python: everything else may be a directory of the project.
    PythonVersions,
    /// Paths in the data of a repository of Mercurial's or Sapling's, which lies in these directories, and in its store: with them a
    /// transaction is undone.
    HgPaths(&'static [&'static str]),
    /// What a repository of Mercurial's or Sapling's requires of the program, which must be of these formats.
    Requirements(&'static [&'static str]),
    /// A dirstate of the extension largefiles of Mercurial.
    LargefilesDirstate,
    /// A name that prompts show, in which shells expand what they expand in a prompt.
    ShownName,
    /// The number of an object of git, or one of these words.
    ObjectId(&'static [&'static str]),
    /// Names of patches, of which quilt makes programs of awk.
    PatchNames,
    /// What is left to do of an edited history of Mercurial's or Sapling's.
    EditedHistory,
    /// A prompt for an agent, with a header, of which only these keys are harmless.
    Prompt(&'static harmless::Keys),
    /// A style sheet, which loads JavaScript if it says so.
    Less,
    /// A file of a project of `JetBrains`.
    Idea,
    /// What starts a build server.
    BuildServer,
    /// How each file is compiled.
    CompileCommands,
    Clangd,
    /// Options of compilers, one on each line.
    CompileFlags,
    /// A module of Dagger.
    Dagger,
    /// How text is indented.
    EditorConfig,
    /// Variables for whoever loads them.
    DotEnv,
    /// Paths in the work tree: each text in JSON, or one a line.
    WorkTreePaths(FileFormat),
    /// The state of a session of Entire's.
    EntireSession,
    /// Attributes of files, for git.
    GitAttributes,
    /// The same in git's data.
    GitDrivers,
    /// Special remotes of git-annex.
    AnnexRemotes,
    /// A `sandbox.toml`.
    Policy,
}

impl ContentRule {
    /// Returns whether a project may well have a link here, whose target is classified by itself.
    pub(crate) fn is_of_any_build(&self) -> bool {
        matches!(self, Self::CompileCommands | Self::DotEnv | Self::EditorConfig | Self::GitAttributes)
    }

    /// Returns whether a file may pass and be a script all the same: the first line of one is a comment to most settings.
    pub(crate) fn is_of_text(&self) -> bool {
        matches!(self, Self::Opencode(_) | Self::Prompt(_) | Self::Settings(..) | Self::Text)
    }
}

/// The format a file should have.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileFormat {
    /// A configuration of git, see git-config(1).
    Git,
    /// JSON, with comments and trailing commas.
    Json,
    Toml,
    /// YAML, one mapping without anything unusual at its top.
    Yaml,
    /// Lines of `key = value`.
    Ini,
    /// Properties of Java, see `java.util.Properties.load`.
    Properties,
    /// Text in UTF-8.
    Text,
    /// An index of git, see gitformat-index(5).
    Index,
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Git => "a configuration of git",
            Self::Json => "JSON",
            Self::Toml => "TOML",
            Self::Yaml => "plain YAML",
            Self::Ini => "lines of `key = value`",
            Self::Properties => "properties of Java",
            Self::Text => "text",
            Self::Index => "an index of git",
        })
    }
}
