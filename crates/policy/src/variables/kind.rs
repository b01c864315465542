//! What a variable does: of which kind it is.

/// What a variable does, and so which of its values are harmless. An empty one is, of any kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum VariableKind {
    /// Whatever it is, a program may load or run something because of it.
    Runs,
    /// The same, except for what only switches something on or off, or is a number.
    Setting,
    /// The same, except for one plain word.
    Plain,
    /// Which version of a program runs: one plain word, or several. Everything else may be a directory.
    Version,
    /// An editor, which may have options.
    Editor,
    /// A pager, which may have options.
    Pager,
    Browser,
    Shell,
    /// A compiler, or what is started in the place of one.
    Compiler,
    /// `ENV`: a shell runs the file of this name, and many projects call `production` so.
    EnvironmentName,
    /// `APP_ENV`: a program loads the `.env` with this name at its end, too.
    EnvironmentFile,
    NodeOptions,
    JavaOptions,
    LessOptions,
    /// Warnings of Python: a category with a dot is in a module.
    Warnings,
    /// Where programs put what they need for a while, and may run it.
    TemporaryFiles,
    /// `NODE_TLS_REJECT_UNAUTHORIZED`, which is only harmful as `0`.
    TlsSwitch,
    /// Where a provider of models is, who gets keys and prompts.
    Provider,
    Proxy,
    /// Any other address: services of the project may be there.
    Address,
    /// A name that is put into the address of a service, such as that of a region.
    PartOfAddress,
    /// What a shell shows, and expands where it is told to. To other projects it is text for a model.
    Prompt,
    /// Settings that may be written in braces.
    Braces,
    /// A key of an agent's.
    Key,
    /// A model of an agent's.
    Model,
}

impl VariableKind {
    /// Returns whether a value of one letter may be the name of a file that a program loads.
    pub(crate) fn may_be_of_file(self) -> bool {
        matches!(self, Self::Runs | Self::Setting | Self::EnvironmentName | Self::TemporaryFiles)
    }

    /// Returns whether a value of this kind may go on over lines, because what it may not have counts wherever it is in it.
    pub(crate) fn is_of_lines(self) -> bool {
        matches!(self, Self::Prompt | Self::Braces)
    }
}
