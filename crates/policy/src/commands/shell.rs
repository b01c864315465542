//! From the text of a shell script to the commands in it.
//!
//! The grammar is the crate brush-parser's, and [`super::readable`] says which texts are given to it. Of all others nothing is known, so they
//! count as running programs.

use std::collections::BTreeSet;

use brush_parser::ast::{
    AndOr, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem, CompoundCommand,
    CompoundList, ExtendedTestExpr, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline,
    RedirectList, SubshellCommand,
};
use brush_parser::word::{Parameter, ParameterExpr, WordPiece, WordPieceWithSource};
use brush_parser::{ParserOptions, SourceInfo};

use super::class::CommandClass;
use super::readable::{self, Shell, ShellError};
use super::simple::{SimpleCommand, Word};
use super::variables::of_variable;

/// How many commands a text has at most.
const MAX_COMMANDS: usize = 512;

/// Lists the commands of a shell text, those in substitutions included.
///
/// # Errors
///
/// Nothing is known of the text.
pub(super) fn commands(text: &str, shell: Shell) -> Result<Vec<SimpleCommand>, ShellError> {
    let mut reader = Reader {
        commands: Vec::new(),
        levels: 0,
        shell,
        may_connect: text.contains("/dev/tcp") || text.contains("/dev/udp"),
    };
    reader.program(text)?;
    Ok(reader.commands)
}

struct Reader {
    commands: Vec<SimpleCommand>,
    /// How many substitutions lie around what is read.
    levels: usize,
    shell: Shell,
    /// Whether the text names one of the files to which bash connects.
    may_connect: bool,
}

type Read<T = ()> = Result<T, ShellError>;

impl Reader {
    fn program(&mut self, text: &str) -> Read {
        let text = readable::check_text(text, self.shell, self.levels)?;
        let tokens =
            brush_parser::uncached_tokenize_str(&text, &ParserOptions::default().tokenizer_options());
        let tokens = tokens.map_err(|_| ShellError::Syntax)?;
        readable::check_tokens(&tokens)?;
        let options = ParserOptions::default();
        let program = brush_parser::parse_tokens(&tokens, &options, &SourceInfo::default());
        for list in &program.map_err(|_| ShellError::Syntax)?.complete_commands {
            self.list(list)?;
        }
        Ok(())
    }

    /// Returns what opening a file for a redirection does.
    fn opened_file(&self, file: &Word, written: Option<CommandClass>) -> BTreeSet<CommandClass> {
        let mut classes = opened_file(file, written);
        // It may be one of those to which bash connects.
        if self.may_connect && file.known().is_none() {
            classes.insert(CommandClass::Network);
        }
        classes
    }

    fn add(&mut self, command: SimpleCommand) -> Read {
        if self.commands.len() == MAX_COMMANDS {
            return Err(ShellError::TooLarge);
        }
        self.commands.push(command);
        Ok(())
    }

    fn list(&mut self, list: &CompoundList) -> Read {
        list.0.iter().try_for_each(|item| {
            self.pipeline(&item.0.first)?;
            item.0.additional.iter().try_for_each(|more| match more {
                AndOr::And(pipeline) | AndOr::Or(pipeline) => self.pipeline(pipeline),
            })
        })
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Read {
        pipeline.seq.iter().try_for_each(|command| match command {
            Command::Simple(simple) => {
                let mut command = SimpleCommand::default();
                for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
                    self.item(item, &mut command, Place::Before)?;
                }
                if let Some(name) = &simple.word_or_name {
                    let word = self.word(&name.value)?;
                    command.words.push(word);
                }
                for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
                    self.item(item, &mut command, Place::Behind)?;
                }
                self.add(command)
            }
            Command::Compound(compound, redirects) => {
                self.redirects(redirects.as_ref())?;
                self.compound(compound)
            }
            // Whatever calls it runs what it holds, under whatever name.
            Command::Function(function) => {
                self.redirects(function.body.1.as_ref())?;
                self.compound(&function.body.0)
            }
            Command::ExtendedTest(test) => self.test(test),
        })
    }

    fn compound(&mut self, compound: &CompoundCommand) -> Read {
        match compound {
            // In these bash finds commands where this grammar finds numbers.
            CompoundCommand::Arithmetic(_) | CompoundCommand::ArithmeticForClause(_) => {
                Err(ShellError::Syntax)
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.0),
            CompoundCommand::Subshell(SubshellCommand(list)) => self.list(list),
            CompoundCommand::ForClause(clause) => {
                for value in clause.values.iter().flatten() {
                    self.word(&value.value)?;
                }
                self.assigned(&clause.variable_name)?;
                self.list(&clause.body.0)
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value.value)?;
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.word(&pattern.value)?;
                    }
                    case.cmd.iter().try_for_each(|list| self.list(list))?;
                }
                Ok(())
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition)?;
                self.list(&clause.then)?;
                clause.elses.iter().flatten().try_for_each(|other| {
                    other.condition.iter().try_for_each(|list| self.list(list))?;
                    self.list(&other.body)
                })
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0)?;
                self.list(&clause.1.0)
            }
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) -> Read {
        let mut operand = |word: &brush_parser::ast::Word| {
            // What is compared as a number is evaluated once more.
            let is_evaluated = may_substitute(&word.value) && word.value.contains('\'');
            if is_evaluated || assigns(&word.value) {
                Err(ShellError::Syntax)
            } else {
                self.word(&word.value).map(drop)
            }
        };
        match test {
            ExtendedTestExpr::UnaryTest(_, word) => operand(word),
            ExtendedTestExpr::BinaryTest(_, left, right) => operand(left).and_then(|()| operand(right)),
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left)?;
                self.test(right)
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
        }
    }

    fn item(&mut self, item: &CommandPrefixOrSuffixItem, command: &mut SimpleCommand, place: Place) -> Read {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                let classes = self.redirect(redirect)?;
                command.classes.extend(classes);
                command.put_around(&redirect.to_string());
            }
            CommandPrefixOrSuffixItem::Word(word) => {
                let word = self.word(&word.value)?;
                command.words.push(word);
            }
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => match place {
                Place::Before => {
                    command.classes.extend(self.assignment(assignment)?);
                    command.put_around(&word.value);
                }
                Place::Behind => {
                    self.assignment(assignment)?;
                    let word = self.word(&word.value)?;
                    command.words.push(word);
                }
            },
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, SubshellCommand(list)) => {
                self.list(list)?;
                command.words.push(Word::Known("/dev/fd/63".to_owned()));
            }
        }
        Ok(())
    }

    /// Reads what is assigned, and returns what assigning it may change.
    fn assignment(&mut self, assignment: &Assignment) -> Read<BTreeSet<CommandClass>> {
        match &assignment.value {
            AssignmentValue::Scalar(word) => drop(self.word(&word.value)?),
            AssignmentValue::Array(values) => {
                for (index, value) in values {
                    index.iter().try_for_each(|index| self.word(&index.value).map(drop))?;
                    self.word(&value.value)?;
                }
            }
        }
        match &assignment.name {
            AssignmentName::VariableName(name) => Ok(of_variable(name).into_iter().collect()),
            AssignmentName::ArrayElementName(name, index) if !may_substitute(index) => {
                Ok(of_variable(name).into_iter().collect())
            }
            AssignmentName::ArrayElementName(..) => Err(ShellError::Syntax),
        }
    }

    /// Notes a variable that the shell itself assigns.
    fn assigned(&mut self, name: &str) -> Read {
        match of_variable(name) {
            None => Ok(()),
            Some(class) => {
                let around = format!("{name}=…");
                self.add(SimpleCommand {
                    classes: BTreeSet::from([class]),
                    around,
                    ..SimpleCommand::default()
                })
            }
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) -> Read {
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            let classes = self.redirect(redirect)?;
            if !classes.is_empty() {
                let around = redirect.to_string();
                self.add(SimpleCommand { classes, around, ..SimpleCommand::default() })?;
            }
        }
        Ok(())
    }

    /// Returns what a redirection does.
    fn redirect(&mut self, redirect: &IoRedirect) -> Read<BTreeSet<CommandClass>> {
        let (kind, target) = match redirect {
            IoRedirect::File(_, kind, target) => (kind, target),
            IoRedirect::HereDocument(_, document) => {
                // Quotes mean nothing in it, and everything to whoever reads words. And a line that is joined with the next may be its end.
                let body = &document.doc.value;
                let is_run = document.requires_expansion && (may_substitute(body) || body.contains("\\\n"));
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                let end = document.here_end.value.trim_start_matches('\\').trim_matches(['\'', '"']);
                let is_plain_end = !end.is_empty() && end.bytes().all(is_plain);
                return if is_run || !is_plain_end { Err(ShellError::Syntax) } else { Ok(BTreeSet::new()) };
            }
            IoRedirect::HereString(_, word) => {
                self.word(&word.value)?;
                return Ok(BTreeSet::new());
            }
            IoRedirect::OutputAndError(word, _) => {
                let word = self.word(&word.value)?;
                return Ok(self.opened_file(&word, Some(CommandClass::Write)));
            }
        };
        let written = match kind {
            IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => None,
            _ => Some(CommandClass::Write),
        };
        match target {
            IoFileRedirectTarget::Filename(word) => {
                let word = self.word(&word.value)?;
                Ok(self.opened_file(&word, written))
            }
            IoFileRedirectTarget::Duplicate(word) => {
                let word = self.word(&word.value)?;
                let is_descriptor =
                    |text: &str| text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit());
                let is_file = !word.known().is_some_and(is_descriptor);
                Ok(if is_file { self.opened_file(&word, written) } else { BTreeSet::new() })
            }
            IoFileRedirectTarget::Fd(_) => Ok(BTreeSet::new()),
            IoFileRedirectTarget::ProcessSubstitution(_, SubshellCommand(list)) => {
                self.list(list)?;
                Ok(BTreeSet::new())
            }
        }
    }

    fn word(&mut self, text: &str) -> Read<Word> {
        // The program. Only with more of the word after it does it begin a pattern of file names.
        if text == "[" {
            return Ok(Word::Known(text.to_owned()));
        }
        let pieces = brush_parser::word::parse(text, &ParserOptions::default());
        let mut known = Some(String::new());
        self.pieces(&pieces.map_err(|_| ShellError::Syntax)?, Quoted::No, &mut known)?;
        Ok(known.map_or(Word::Unknown, Word::Known))
    }

    /// Adds what pieces say to what is known of a word, if all of it is.
    fn pieces(&mut self, pieces: &[WordPieceWithSource], quoted: Quoted, known: &mut Option<String>) -> Read {
        // What the grammar takes for text comes in parts.
        let mut run = String::new();
        for WordPieceWithSource { piece, .. } in pieces {
            match piece {
                WordPiece::Text(text) => run.push_str(text),
                _ => run.clear(),
            }
            if is_missed(&run, quoted) {
                return Err(ShellError::Syntax);
            }
            match piece {
                WordPiece::Text(text) if quoted == Quoted::No && is_expanded(text) => {
                    *known = None;
                }
                WordPiece::SingleQuotedText(text) | WordPiece::AnsiCQuotedText(text)
                    if text.contains('[') && may_substitute(text) =>
                {
                    // As a subscript, it would be evaluated once more.
                    return Err(ShellError::Syntax);
                }
                // What the escapes mean is not worked out.
                WordPiece::AnsiCQuotedText(text) if text.contains('\\') => *known = None,
                WordPiece::Text(text)
                | WordPiece::SingleQuotedText(text)
                | WordPiece::AnsiCQuotedText(text) => {
                    add(known, text);
                }
                WordPiece::EscapeSequence(text) => {
                    add(known, text.strip_prefix('\\').unwrap_or(text).trim_start_matches('\n'));
                }
                WordPiece::TildePrefix(user)
                    if !user.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.+-".contains(&b)) =>
                {
                    return Err(ShellError::Syntax);
                }
                WordPiece::TildePrefix(user) => {
                    add(known, "~");
                    add(known, user);
                }
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    self.pieces(inner, Quoted::Yes, known)?;
                }
                WordPiece::CommandSubstitution(text) => {
                    *known = None;
                    self.substituted(text)?;
                }
                WordPiece::BackquotedCommandSubstitution(text) if !text.contains('\\') => {
                    *known = None;
                    self.substituted(text)?;
                }
                WordPiece::BackquotedCommandSubstitution(_) => return Err(ShellError::Syntax),
                WordPiece::ParameterExpansion(expansion) => {
                    *known = None;
                    self.expansion(expansion)?;
                }
                WordPiece::ArithmeticExpression(expression) => {
                    *known = None;
                    if may_substitute(&expression.value) || assigns(&expression.value) {
                        return Err(ShellError::Syntax);
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads an expansion of a variable. Nothing is known of one that is evaluated once more, as `${!x}` and `${x@P}` are.
    fn expansion(&mut self, expansion: &ParameterExpr) -> Read {
        let shown = format!("{expansion:?}");
        let again = shown.contains("indirect: true") || matches!(expansion, ParameterExpr::Transform { .. });
        if again || may_substitute(&shown) {
            return Err(ShellError::Syntax);
        }
        match expansion {
            ParameterExpr::AssignDefaultValues { parameter: Parameter::Named(name), .. } => {
                self.assigned(name)
            }
            ParameterExpr::AssignDefaultValues { .. } => Err(ShellError::Syntax),
            _ => Ok(()),
        }
    }

    fn substituted(&mut self, text: &str) -> Read {
        self.levels += 1;
        let read = self.program(text);
        self.levels -= 1;
        read
    }
}

/// Where an assignment stands.
#[derive(Clone, Copy)]
enum Place {
    /// Before the program, for which it holds.
    Before,
    /// Among its arguments.
    Behind,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Quoted {
    Yes,
    No,
}

fn add(known: &mut Option<String>, text: &str) {
    if let Some(known) = known {
        known.push_str(text);
    }
}

/// Returns whether a shell could find a substitution of commands in a text, if it evaluates it.
pub(super) fn may_substitute(text: &str) -> bool {
    text.contains("$(") || text.contains('`') || text.contains("<(") || text.contains(">(")
}

/// Returns whether unquoted text may become other words: names of files, or what is in braces. `{}` is itself.
fn is_expanded(text: &str) -> bool {
    text.contains(['*', '?', '[', '(']) || text.replace("{}", "").contains('{')
}

/// Returns whether the grammar has taken for text what a shell substitutes.
fn is_missed(text: &str, quoted: Quoted) -> bool {
    let of_processes = || quoted == Quoted::No && (text.contains("<(") || text.contains(">("));
    text.contains("$(") || text.contains('`') || text.contains("${") || of_processes()
}

/// Returns whether arithmetic may assign a variable that is obeyed: names of those are in capitals.
fn assigns(text: &str) -> bool {
    text.contains('=') && text.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Returns what opening a file for a redirection does.
fn opened_file(file: &Word, written: Option<CommandClass>) -> BTreeSet<CommandClass> {
    let Some(path) = file.known() else { return written.into_iter().collect() };
    // Bash connects when it opens these.
    if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
        return BTreeSet::from([CommandClass::Network]);
    }
    let is_no_file = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"].contains(&path);
    written.filter(|_| !is_no_file).into_iter().collect()
}
