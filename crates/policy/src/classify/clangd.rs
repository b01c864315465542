//! What clangd takes options from beside `compile_commands.json`: its own settings (`.clangd`), and a list of options (`compile_flags.txt`),
//! which clang-tidy and other tools of clang take as well, and ccls in a file of its own (`.ccls`).
//!
//! Settings are YAML, of which a reader of another program makes something else where it can. So whatever stands in a place where an option
//! may be is taken for one, however it is quoted and listed, and what could be an option that is written otherwise is refused.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::compile_options::{Argument, compilers, of_options};
use super::reason::Reason;
use super::value::is_unclear;
use super::yaml::{Position, has_tag_or_anchor};
use crate::protect::table::content::FileFormat;

mod words;

use self::words::{Commas, Word, words};

/// Keys of which no value has clangd load, run or write something, see "Configuration" of clangd.
const HARMLESS: [&str; 44] = [
    "AllScopes", "AnalyzeAngledIncludes", "AngledHeaders", "ArgumentLists", "Background", "BlockEnd",
    "BuiltinHeaders", "ClangTidy", "CodePatterns", "CommentFormat", "CompileFlags", "Completion",
    "DeducedTypes", "DefaultArguments", "Designators", "Diagnostics", "DisabledKinds", "DisabledModifiers",
    "Documentation", "Enabled", "FastCheckFilter", "FullyQualifiedNamespaces", "HeaderInsertion", "Hover",
    "If", "IgnoreHeader", "Includes", "Index", "InlayHints", "MacroContentsLimit", "MacroFilter",
    "MissingIncludes", "ParameterNames", "PathExclude", "PathMatch", "QuotedHeaders", "Remove",
    "SemanticTokens", "ShowAKA", "StandardLibrary", "Style", "Suppress", "TypeNameLimit", "UnusedIncludes",
];

/// Where else clangd may be told to look for a `compile_commands.json`: there it is classified.
const DATABASES: [&str; 9] =
    [".", "Ancestors", "None", "bin", "bin/", "build", "build/", "build/Debug", "build/Release"];

/// What a value belongs to.
#[derive(Clone, Copy, Debug)]
enum Place {
    Options,
    Compiler,
    Database,
    Index,
    /// Options of checks of clang-tidy.
    Checks,
    /// A key of which no value counts.
    Elsewhere,
    /// A key that no list knows.
    Unknown,
}

/// Classifies settings: the first that counts, or that they cannot be read.
pub(super) fn classify(content: &[u8], shared: &[PathBuf]) -> Option<Reason> {
    match read(content, shared) {
        Some(found) => found.into_iter().next().map(|key| Reason::Setting { key }),
        None => Some(Reason::Unreadable { format: FileFormat::Yaml }),
    }
}

/// Returns what counts of settings.
pub(super) fn essence(content: &[u8], shared: &[PathBuf]) -> Option<Vec<u8>> {
    Some(read(content, shared)?.join("\n").into_bytes())
}

/// Classifies a list of options, one on each line: the first that counts.
pub(super) fn classify_flags(content: &[u8], shared: &[PathBuf]) -> Option<Reason> {
    flags(content, shared).into_iter().next().map(|key| Reason::Setting { key })
}

/// Returns what counts of a list of options.
pub(super) fn essence_of_flags(content: &[u8], shared: &[PathBuf]) -> Vec<u8> {
    flags(content, shared).join("\n").into_bytes()
}

fn flags(content: &[u8], shared: &[PathBuf]) -> Vec<String> {
    let text = String::from_utf8_lossy(content);
    let options: Vec<&str> = text.split('\n').map(option).filter(|option| !option.is_empty()).collect();
    counting(of_options(&options), shared).collect()
}

/// Returns the option of a line, without the languages that ccls takes before it (`%c %h -x`).
fn option(line: &str) -> &str {
    let mut option = line.trim();
    while let Some(language) = option.strip_prefix('%') {
        option = language.split_once(' ').map_or("", |(_, rest)| rest.trim());
    }
    option
}

fn counting(found: Vec<Argument>, shared: &[PathBuf]) -> impl Iterator<Item = String> {
    found.into_iter().filter(|argument| argument.counts(shared)).map(|argument| argument.shown)
}

/// Lists what counts of settings; `None` where they cannot be read.
fn read(content: &[u8], shared: &[PathBuf]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(content).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    if text.contains(is_unclear) {
        return None;
    }
    let lines: Vec<&str> = text.split('\n').map(without_comment).collect::<Option<_>>()?;
    let is_odd = |line: &&str| has_tag_or_anchor(line, &Position::default()) || begins_text(line);
    if lines.iter().any(is_odd) {
        return None;
    }
    // An option with commas is one in a list of lines, and several in brackets.
    let readings =
        [Commas::Everywhere, Commas::InBrackets].map(|commas| Some(of_words(words(&lines, commas)?, shared)));
    let found: Option<Vec<BTreeSet<String>>> = readings.into_iter().collect();
    Some(found?.into_iter().flatten().collect::<BTreeSet<_>>().into_iter().collect())
}

/// Returns a line without its comment; `None` where quotes go on after it, or where readers may differ about where some begin or what is in
/// them.
fn without_comment(line: &str) -> Option<&str> {
    let mut quote = None;
    let mut letters = line.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let before = &line[..at];
        match (quote, letter) {
            (None, '#') if before.is_empty() || before.ends_with(' ') => return Some(before),
            (None, '"' | '\'') if begins_value(before) => quote = Some(letter),
            (None, '"' | '\'') => return None,
            // Of letters that are written as others, only this one is ordinary.
            (Some('"'), '\\') if letters.next_if(|(_, next)| *next == '\\').is_none() => return None,
            (Some('\''), '\'') if letters.next_if(|(_, next)| *next == '\'').is_some() => {}
            (Some(open), _) if letter == open => quote = None,
            _ => {}
        }
    }
    quote.is_none().then_some(line)
}

/// Returns whether what follows this part of a line is the beginning of a value to every reader.
fn begins_value(before: &str) -> bool {
    let trimmed = before.trim_end_matches(' ');
    let is_apart = trimmed.len() < before.len();
    match trimmed.chars().next_back() {
        None | Some('[' | '{' | ',') => true,
        Some(':') => is_apart,
        Some('-') => {
            is_apart && trimmed.trim_start_matches(' ').bytes().all(|byte| matches!(byte, b'-' | b' '))
        }
        Some(_) => false,
    }
}

/// Returns whether lines of text follow a line, in which nothing is a comment.
fn begins_text(line: &str) -> bool {
    line.split(' ').rfind(|word| !word.is_empty()).is_some_and(|word| word.starts_with(['|', '>']))
}

/// Lists what counts of the words of settings.
fn of_words(words: Vec<Word<'_>>, shared: &[PathBuf]) -> BTreeSet<String> {
    let mut place = Place::Elsewhere;
    let (mut found, mut options) = (BTreeSet::new(), Vec::new());
    for word in words {
        match (word, place) {
            (Word::Key(key), _) => {
                place = Place::of(key, place);
                if matches!(place, Place::Unknown) {
                    found.insert(key.to_owned());
                }
            }
            (Word::Part(word), Place::Options) => options.push(word),
            (Word::Part(word), Place::Compiler) => found.extend(counting(compilers(&[word]), shared)),
            (Word::Part(word), Place::Database) if !DATABASES.contains(&word) => {
                found.insert(format!("CompilationDatabase: {word}"));
            }
            (Word::Part(word), Place::Index) if word != "None" => {
                found.insert(format!("External: {word}"));
            }
            (Word::Part(_), _) => {}
        }
    }
    found.extend(counting(of_options(&options), shared));
    found
}

impl Place {
    /// Returns the place of what belongs to a key that follows this place.
    fn of(key: &str, above: Self) -> Self {
        match key {
            "Add" => Self::Options,
            "Compiler" => Self::Compiler,
            "CompilationDatabase" => Self::Database,
            "External" => Self::Index,
            "CheckOptions" => Self::Checks,
            _ if HARMLESS.contains(&key) => Self::Elsewhere,
            _ if matches!(above, Self::Checks) && is_of_check(key) => Self::Checks,
            _ => Self::Unknown,
        }
    }
}

/// Returns whether a key is that of an option of a check of clang-tidy, of which those of the analyzer name files.
fn is_of_check(key: &str) -> bool {
    key.contains(['-', '.']) && !key.contains("clang-analyzer-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_found_however_it_is_written() {
        for text in [
            "CompileFlags:\n  Add: [-Xclang, -diagnostic-log-file, -Xclang, /home/me/x]\n",
            "CompileFlags: {Add: [\"-Xclang\",'-diagnostic-log-file']}",
            "CompileFlags:\n  Add:\n    - -Xclang=-dependency-file\n    - -Xclang=x\n",
            "CompileFlags:\n  Add:\n  - -Wp,-MD,x\n",
            "CompileFlags:\n  Add:\n    [-Wall,\n     -fplugin=p.so]\n",
            "CompileFlags:\n  Add: -fplugin=p.so\n",
            "CompileFlags:\n  Remove: [-W*]\n  Add: [-fplugin=p.so]\n",
            "{CompileFlags: {Remove: [x], Add: [-fplugin=p.so]}}",
            "If:\n  PathMatch: x\n---\nCompileFlags:\n  Add: [-Xclang]\n---\nCompileFlags:\n  Add: [-of-tomorrow]\n",
            "CompileFlags:\n  Compiler: ./tools/cc\n",
            "CompileFlags:\n  CompilationDatabase: out\n",
            "Index:\n  External:\n    Server: evil.example:1\n",
            "OfTomorrow: 1\n",
        ] {
            assert!(matches!(classify(text.as_bytes(), &[]), Some(Reason::Setting { .. })), "{text}");
        }
    }

    #[test]
    fn what_could_be_an_option_that_is_written_otherwise_is_refused() {
        for text in [
            "CompileFlags:\n  Add: [\"\\x2dfplugin=p.so\"]\n",
            "CompileFlags:\n  Add: [\"-fplu\\\n  gin=p.so\"]\n",
            "CompileFlags:\n  Add: [\"'\", '\n# x', -fplugin=p.so]\n",
            "CompileFlags:\n  Add: [foo \"a, \"b # c\", -fplugin=p.so]\n",
            "CompileFlags:\n  Add: [x:\"a, \"b # c\", -fplugin=p.so]\n",
            "CompileFlags:\n  Add: [foo - \"a, \"b # c\", -fplugin=p.so]\n",
            "CompileFlags:\n  Add: |\n    # -fplugin=p.so\n",
            "CompileFlags:\n  Add: &a [x]\n",
            "CompileFlags:\n  Add: !x [x]\n",
            "CompileFlags:\n  ? Add\n  : [-fplugin=p.so]\n",
            "CompileFlags:\n  Add : [-fplugin=p.so]\n",
            "CompileFlags: {\"Add\":[-fplugin=p.so], \"Remove\":\"x\"}\n",
            "CompileFlags:\n  Add: [x]\r  Compiler: y\n",
            "CompileFlags:\n  Add: [\"-DX=a:\", -Xclang, -fplugin=p.so]\n",
            "CompileFlags:\n  Add: ['Remove: ', -fplugin=p.so]\n",
            "CompileFlags:\n  Add: [Remove: x, -fplugin=p.so]\n",
            "CompileFlags:\n  Add: [{Remove: x}, -fplugin=p.so]\n",
            "CompileFlags:\n  Add:\n  - Suppress: x\n  - -fplugin=p.so\n",
            "CompileFlags:\n  Add:\n    -\n      Remove: x\n    - -fplugin=p.so\n",
            "CompileFlags:\n  Add: -fplugin=a:,b.so\n",
            "CompileFlags:\n  Add:\n    -DX:,\n    -fplugin=p.so\n",
            "CompileFlags:\n  Add: -Wall\n   Remove: x\n   -fplugin=p.so\n",
        ] {
            assert!(classify(text.as_bytes(), &[]).is_some(), "{text}");
        }
    }

    #[test]
    fn ordinary_settings_pass() {
        for text in [
            "",
            "# Ours: it's -fplugin=x\nCompileFlags:\n  Add: [-std=c++20, -Wall, \"-DX=1\", -I/w/include] # and: more\n  Remove: [-W*, -fplugin=*, '-m*', -Xcompiler*]\n",
            "CompileFlags:\n  Add:\n    - -xc++\n    - '-include'\n    - \"/w/my header.h\"\n  Compiler: clang++\n  CompilationDatabase: build/\n  BuiltinHeaders: QueryDriver\n",
            "If:\n  PathMatch: ['.*\\.h', \".*\\\\.hpp\"]\n  PathExclude: third_party/.*\nDiagnostics:\n  Suppress: ['*', unused-includes]\n  UnusedIncludes: Strict\n  ClangTidy:\n    Add: [modernize-*, bugprone-*]\n    Remove: modernize-use-trailing-return-type\n    CheckOptions:\n      readability-identifier-naming.VariableCase: CamelCase\n",
            "Index:\n  Background: Skip\n  External: None\n---\nInlayHints:\n  Enabled: Yes\n  ParameterNames: No\nHover:\n  ShowAKA: Yes\n---\nCompileFlags:\n  Compiler: /usr/bin/arm-none-eabi-gcc\n",
        ] {
            assert_eq!(classify(text.as_bytes(), &[]), None, "{text}");
        }
    }

    #[test]
    fn each_line_of_a_list_is_an_option() {
        for text in [
            "-Wall\n-fplugin=p.so\n",
            "-Xclang=-dependency-file\r\n-Xclang=x\r\n",
            "@x",
            "-Xclang\n\n -of-tomorrow\n",
            "-I.\n-Btools/\n",
            "clang\n%c %h -fplugin=p.so\n",
        ] {
            assert!(classify_flags(text.as_bytes(), &[]).is_some(), "{text}");
        }
        for text in [
            "",
            "clang++\n%compile_commands.json\n%cpp -std=c++20\n",
            "-Wall\n-std=c++20\n-I/w/include\n-I\nmy headers\n-DX=\"a b\"\n-xc++\n",
            "-B/usr/bin/\n",
        ] {
            assert_eq!(classify_flags(text.as_bytes(), &[]), None, "{text}");
        }
        assert!(classify_flags(b"-B/usr/bin/\n", &["/usr/bin".into()]).is_some());
    }

    #[test]
    fn only_what_counts_is_the_essence() {
        let flags = |text: &str| essence_of_flags(text.as_bytes(), &[]);
        assert_eq!(flags("-Bx\n-O2"), flags("-Bx\n-O3"));
        assert_ne!(flags("-Xclang\n-of-today"), flags("-Xclang\n-of-tomorrow"));
        let settings = |add: &str| essence(format!("CompileFlags:\n  Add: [{add}]\n").as_bytes(), &[]);
        assert_eq!(settings("-Bx, -O2"), settings("-Bx, -O3"));
        assert_ne!(settings("-Bx"), settings("-By"));
    }
}
