//! How each file is compiled (`compile_commands.json`): ALE for Vim runs a compiler with most of what it says when a file is opened, and
//! other editors run the compilers that it names.
//!
//! Builds write such a file at every configuration, and it has the options of anybody's build.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::compile_options::{self, Argument, shown};
use super::json::{Comments, plain_json};
use super::reason::Reason;
use crate::protect::table::content::FileFormat;

/// The most that is read of one: those of compilers and kernels have some megabytes.
pub(super) const MOST: usize = 32 << 20;

/// The longest command that is split: as much as Linux gives a program as its arguments, see execve(2).
const LONGEST: usize = 2 << 20;

/// The most arguments that count, each different, of which the first is named. A file with more counts as one that cannot be read.
const MAX_FOUND: usize = 1000;

/// What a shell works out where it is not quoted.
const SPECIAL: &str = "`$#;|&<>(){[*?";

/// Classifies a file: the first argument that counts, or that it cannot be read. A compiler in one of the shared directories counts, also
/// where these lie in a place of the system's.
pub(super) fn classify(content: &[u8], shared: &[PathBuf]) -> Option<Reason> {
    match read(content, shared) {
        Some(found) => found.into_iter().next().map(|key| Reason::Setting { key }),
        None => Some(Reason::Unreadable { format: FileFormat::Json }),
    }
}

/// Returns what counts of a file: whoever configures the build again changes nothing by it.
pub(super) fn essence(content: &[u8], shared: &[PathBuf]) -> Option<Vec<u8>> {
    let found = read(content, shared)?;
    Some(found.join("\n").into_bytes())
}

/// Returns each argument that counts, once and in order; `None` where it cannot be read.
fn read(content: &[u8], shared: &[PathBuf]) -> Option<Vec<String>> {
    let text = String::from_utf8_lossy(content);
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    // clangd and the tools of clang read it as YAML, to which `//` begins no comment.
    let found = parse(&text, shared)
        .or_else(|()| parse(&plain_json(&text, Comments::Refused).ok_or(())?, shared))
        .ok()?;
    Some(found.into_iter().collect())
}

/// Parses JSON. What ends before its end is still being written; clang obeys what is there.
fn parse(text: &str, shared: &[PathBuf]) -> Result<BTreeSet<String>, ()> {
    let mut found = Found { arguments: BTreeSet::new(), shared };
    let mut json = serde_json::Deserializer::from_str(text);
    let read = json.deserialize_seq(Entries(&mut found)).and_then(|()| json.end());
    match read {
        Err(error) if !error.is_eof() => Err(()),
        _ => Ok(found.arguments),
    }
}

/// What counts, as far as it is read.
struct Found<'a> {
    arguments: BTreeSet<String>,
    shared: &'a [PathBuf],
}

impl Found<'_> {
    /// Remembers those of some arguments that count.
    ///
    /// # Errors
    ///
    /// There are too many.
    fn add<E: serde::de::Error>(&mut self, arguments: impl IntoIterator<Item = Argument>) -> Result<(), E> {
        let counting = arguments.into_iter().filter(|argument| argument.counts(self.shared));
        self.arguments.extend(counting.map(|argument| argument.shown));
        if self.arguments.len() > MAX_FOUND {
            return Err(E::custom("too many arguments"));
        }
        Ok(())
    }
}

/// The list of commands.
struct Entries<'a, 'f>(&'f mut Found<'a>);

impl<'de> Visitor<'de> for Entries<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of commands")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while entries.next_element_seed(Entry(&mut *self.0))?.is_some() {}
        Ok(())
    }
}

/// A command.
struct Entry<'a, 'f>(&'f mut Found<'a>);

impl<'de> DeserializeSeed<'de> for Entry<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Entry<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a command")
    }

    /// Reads one, also where a key is there twice: of two some programs take the first, others the last.
    fn visit_map<A: MapAccess<'de>>(self, mut keys: A) -> Result<(), A::Error> {
        while let Some(key) = keys.next_key::<String>()? {
            match key.as_str() {
                "command" => self.0.add(of_command(&keys.next_value::<String>()?))?,
                "arguments" => {
                    let mut arguments = Vec::new();
                    // It counts, too, where its end is missing.
                    let read = keys.next_value_seed(Arguments(&mut arguments));
                    let expanded = arguments.iter().filter(|one| is_expanded(one));
                    self.0.add(expanded.map(|one| Argument::certain(one)))?;
                    self.0.add(of_words(&arguments.iter().map(String::as_str).collect::<Vec<_>>()))?;
                    read?;
                }
                _ => {
                    keys.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The arguments of one command, as many as Linux gives a program.
struct Arguments<'f>(&'f mut Vec<String>);

impl<'de> DeserializeSeed<'de> for Arguments<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Arguments<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of arguments")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut length = 0;
        while let Some(argument) = list.next_element::<String>()? {
            // With the pointer that each takes.
            length += argument.len() + 1 + size_of::<usize>();
            if length > LONGEST {
                return Err(serde::de::Error::custom("too many arguments"));
            }
            self.0.push(argument);
        }
        Ok(())
    }
}

/// Returns whether an argument may run something although a program quotes it for a shell: ALE leaves out the quotes where it sees no
/// character that asks for them, and it knows neither of these.
fn is_expanded(argument: &str) -> bool {
    argument.contains(|letter: char| letter == '`' || letter.is_control())
}

/// Lists what counts in a command for a shell. One that is longer than execve(2) takes counts as it is.
fn of_command(command: &str) -> Vec<Argument> {
    if command.len() > LONGEST {
        return vec![Argument::certain(command)];
    }
    match split(command) {
        Ok(words) => of_words(&words.iter().map(String::as_str).collect::<Vec<_>>()),
        Err(mark) => vec![Argument::certain(&mark)],
    }
}

/// Splits a command into words. ALE gives a shell those that it knows as they are, so nothing in them may be left for a shell to work out.
/// Else the part of the command that counts.
fn split(command: &str) -> Result<Vec<String>, String> {
    let mut words = vec![String::new()];
    let (mut quote, mut is_escaped, mut is_torn) = (None, false, false);
    let mut ale = AleReader::default();
    for (at, letter) in command.char_indices() {
        let odd = || Err(shown(&command[at..]));
        if letter.is_control() && letter != '\t' {
            return odd();
        }
        is_torn |= ale.ends_word(letter) && quote.is_some();
        match (letter, quote) {
            // Where a space is escaped, ALE ends the word all the same.
            (' ' | '\t', None) => {
                words.push(String::new());
                is_escaped = false;
            }
            (letter, _) if is_escaped => {
                is_escaped = false;
                push(&mut words, letter);
            }
            ('\\', None | Some('"')) => is_escaped = true,
            ('"' | '\'', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            ('`' | '$', None | Some('"')) => return odd(),
            ('#', None) if words.last().is_some_and(|word| !word.is_empty()) => push(&mut words, letter),
            (letter, None) if is_special(letter) => return odd(),
            (letter, _) => push(&mut words, letter),
        }
    }
    if quote.is_some() || is_escaped {
        return Err(shown(command));
    }
    if is_torn {
        // Without the words that it leaves out, quotes end elsewhere, and a word may begin at any space.
        if let Some(word) = ale.given().find(|word| word.contains(is_special)) {
            return Err(shown(word));
        }
        words.extend(command.split(' ').map(|word| word.replace(['"', '\'', '\\'], "")));
    }
    Ok(words.into_iter().filter(|word| !word.is_empty()).collect())
}

fn is_special(letter: char) -> bool {
    SPECIAL.contains(letter)
}

fn push(words: &mut [String], letter: char) {
    if let Some(word) = words.last_mut() {
        word.push(letter);
    }
}

/// How ALE splits a command, see `ale#c#ShellSplit`: to it no quote is escaped, and brackets are quotes.
#[derive(Default)]
struct AleReader {
    open: Vec<char>,
    words: Vec<String>,
    word: String,
}

impl AleReader {
    /// Reads a letter. Returns whether a word ends with it.
    fn ends_word(&mut self, letter: char) -> bool {
        let open = &mut self.open;
        if letter == ' ' && open.is_empty() {
            self.words.push(std::mem::take(&mut self.word));
            return true;
        }
        self.word.push(letter);
        let last = open.last().copied();
        let opening = match letter {
            ')' => Some('('),
            ']' => Some('['),
            '}' => Some('{'),
            _ => None,
        };
        match letter {
            '\'' if last == Some('\'') => drop(open.pop()),
            '\'' if last != Some('"') => open.push(letter),
            '"' | '`' if last == Some(letter) => drop(open.pop()),
            '"' | '`' | '(' | '[' | '{' if last != Some('\'') => open.push(letter),
            _ if opening.is_some() && last == opening => drop(open.pop()),
            _ => {}
        }
        false
    }

    /// Lists the words that it may give to a shell: options, and what follows some.
    fn given(&self) -> impl Iterator<Item = &str> {
        let mut is_taken = false;
        let words = self.words.iter().chain([&self.word]).filter(|word| !word.is_empty());
        words.map(String::as_str).filter(move |word| {
            let is_given = is_taken || word.starts_with('-');
            is_taken = matches!(*word, "-B" | "-D" | "-I") || word.starts_with("-i");
            is_given
        })
    }
}

/// Lists what counts of the words of a command, or may.
fn of_words(words: &[&str]) -> Vec<Argument> {
    let mut found = compile_options::compilers(words);
    found.extend(compile_options::of_options(words));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_command(command: &str) -> Option<Reason> {
        let command = serde_json::to_string(command).unwrap();
        classify(
            format!(r#"[{{"directory":"/w/build","command":{command},"file":"/w/a.c","output":"a.o"}}]"#)
                .as_bytes(),
            &[],
        )
    }

    fn of_arguments(arguments: &[&str]) -> Option<Reason> {
        let arguments = serde_json::to_string(arguments).unwrap();
        classify(format!(r#"[{{"directory":"/w","arguments":{arguments},"file":"a.c"}}]"#).as_bytes(), &[])
    }

    #[test]
    fn what_has_a_compiler_run_or_load_something_is_found() {
        for options in [
            "-Bbuild/tools/", "-B build/tools/", "-Bstatic", "-B/usr/../w/tools", "--prefix=tools",
            "-fplugin=./src/p.so", "-fplugin=p", "-fpass-plugin=p.so", "-iplugindir=tools",
            "-Xclang -load -Xclang p.so", "-Xclang=-load", "-mllvm -load=p.so", "-Wp,-fplugin=p.so",
            "@options", "-D @options", "-wrapper sh,-c,id", "-specs=evil.specs", "--specs evil.specs",
            "--config=evil.cfg", "-fopt-info-all=/home/me/.bashrc", "-fdump-tree-all=x",
            "-fsave-it-in=/home/me/.bashrc", "-fmodule-mapper=|id", "-fmodules-ts '-fmodule-mapper=|id'",
            "-fpl\"ug\"in=./p.so", "-fpl\\ugin=./p.so", "-DX=a\\ -fplugin=p.so", "-DX=a\t-fplugin=p.so",
        ] {
            assert!(
                matches!(of_command(&format!("cc {options} -c a.c")), Some(Reason::Setting { .. })),
                "{options}"
            );
        }
        assert!(of_arguments(&["cc", "-B", "tools", "a.c"]).is_some());
        assert!(of_arguments(&["cc", "-fplugin=p.so", "a.c"]).is_some());
        let twice =
            r#"[{"file":"a.c","command":"cc -Bx","command":"cc"},{"arguments":["cc","@x"],"arguments":[]}]"#;
        assert_eq!(read(twice.as_bytes(), &[]), Some(vec!["-Bx".to_owned(), "@x".to_owned()]));
    }

    #[test]
    fn what_a_shell_would_work_out_is_found() {
        for options in [
            "-W$(id)", "-W`id`", "-W;id", "-DX=\"$(id)\"", "-DX=\"`id`\"", "-DX|id", "-D X&id", "-DX >y",
            "-f*", "-f[p]lugin=x", "-f{plugin=x,y}", "-DX\nid", "-DX # y", "-DX='a", "-DX=\"a", "-DX \\",
            // Of these ALE takes a part.
            "-DX=\"\\\"a -Bevil\\\"\"", "\"-DX=\\\"a -fplugin=x\\\"\"", "-DX=\"\\\"a -D;id \\\"\"",
            "-DX=\"('\" x ')\" -Bevil \"'",
        ] {
            assert!(
                matches!(of_command(&format!("cc {options}")), Some(Reason::Setting { .. })),
                "{options}"
            );
        }
        for argument in ["-W`id`", "-W\nid", "-W\nsh\tx.sh"] {
            assert!(of_arguments(&["cc", argument]).is_some(), "{argument}");
        }
    }

    #[test]
    fn more_than_a_program_can_be_given_counts_without_being_kept() {
        let unreadable =
            |text: &str| matches!(classify(text.as_bytes(), &[]), Some(Reason::Unreadable { .. }));
        let many: Vec<String> = (0..=MAX_FOUND).map(|number| format!("\"@{number}\"")).collect();
        assert!(unreadable(&format!("[{{\"arguments\": [{}]}}]", many.join(","))));
        assert!(!unreadable(&format!("[{{\"arguments\": [{}]}}]", many[..10].join(","))), "the control");
        let long = format!("[{{\"arguments\": [{}\"\"]}}]", "\"\",".repeat(LONGEST / 4));
        assert!(unreadable(&long));
        let command = format!("[{{\"command\": \"{}\"}}]", "cc ".repeat(LONGEST / 2));
        assert!(matches!(classify(command.as_bytes(), &[]), Some(Reason::Setting { .. })));
    }

    #[test]
    fn a_compiler_that_no_system_has_is_found() {
        for compiler in [
            "./cc", "tools/cc", "/workspace/cc", "/usr/../w/cc", "/home/me/p/cc", "ccache ./cc",
            "/usr/bin/env x/cc",
        ] {
            assert!(of_command(&format!("{compiler} -c a.c")).is_some(), "{compiler}");
        }
    }

    #[test]
    fn what_builds_write_passes() {
        for command in [
            "/usr/bin/cc -c a.c",
            "ccache /usr/bin/c++ -std=gnu++17 -o CMakeFiles/x.dir/a.cpp.o -c /w/a.cpp",
            "/usr/bin/c++ -DFOO=\\\"bar\\\" -DBAZ=\"\\\"two words\\\"\" -DQ=\"\\\"Copyright (c) Me <me@example.org>\\\"\" -I\"/w/my include\" -isystem /usr/include/x -O3 -DNDEBUG -std=gnu++20 -fPIC -Wall -Wextra -Werror=return-type -march=native -fvisibility=hidden -MD -MT a.o -MF a.o.d -o a.o -c /w/a.cpp",
            "/usr/bin/clang++ -fcolor-diagnostics -fdiagnostics-color=always -ffile-prefix-map=/w/=. -fsanitize=address,undefined -fsanitize-ignorelist=/w/x.txt -fuse-ld=/usr/bin/mold -stdlib=libc++ --target=x86_64-linux-gnu --sysroot=/opt/x -c a.cpp",
            "gcc -Wp,-MMD,init/.main.o.d -nostdinc -I./arch/x86/include -include ./include/linux/kconfig.h -D__KERNEL__ -fmacro-prefix-map=./= -mindirect-branch=thunk-extern -fstack-protector-strong -DKBUILD_MODFILE='\"init/main\"' -DKBUILD_BASENAME='\"main\"' -D__KBUILD_MODNAME=kmod_main -c -o init/main.o init/main.c",
            "/home/me/.espressif/tools/xtensa-esp-elf/bin/xtensa-esp32-elf-gcc --specs=nano.specs -mlongcalls -c a.c",
            "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb --specs=nosys.specs -specs=nano.specs -c a.c",
            "c++ '-DX=\"a b\"' -Ilibx.p -fdiagnostics-color=always -D_FILE_OFFSET_BITS=64 -o a.o -c ../a.cpp",
            "/usr/bin/g++ -fmodules-ts -fmodule-mapper=CMakeFiles/x.dir/a.cpp.o.modmap -MD -fdeps-format=p1689r5 -x c++ -c a.cpp",
            "/usr/bin/c++ \"-DF(x)=x*2\" \"-DG=\\\"a|b&c\\\"\" -DH=a#b -c a.cpp",
            "/usr/local/cuda/bin/nvcc -forward-unknown-to-host-compiler -Xcompiler=-fPIC \"--generate-code=arch=compute_75,code=[compute_75,sm_75]\" -x cu -c a.cu",
            "",
        ] {
            assert_eq!(of_command(command), None, "{command}");
        }
        assert_eq!(of_arguments(&["/usr/bin/gcc", "-c", "-DX=\"(a b)\"", "-DY=$z", "-I.", "a.c"]), None);
        assert_eq!(classify(b"[\n]\n", &[]), None);
        // Another program may write it as it goes.
        assert_eq!(classify(br#"[{"directory":"/w","command":"cc -c"#, &[]), None);
        assert_eq!(classify(br#"[{"command":"cc -c a.c"},]"#, &[]), None);
        assert!(classify(br#"[{"command":"cc -Bx"},{"command":"cc -c"#, &[]).is_some());
        assert!(matches!(classify(b"[{x}]", &[]), Some(Reason::Unreadable { .. })));
    }

    #[test]
    fn what_clang_reads_as_yaml_is_found() {
        let unreadable =
            |text: &str| matches!(classify(text.as_bytes(), &[]), Some(Reason::Unreadable { .. }));
        assert!(unreadable(
            "[{\"output\": // , \"command\": \"cc -Bx\" }]\n\"a.o\", \"command\": \"cc -c a.c\"}]"
        ));
        assert!(unreadable("[{\"command\": \"cc\"} /* , */ ]"));
        for cut in [
            r#"[{"directory":"/w","command":"cc -Bx","file":"a.c""#,
            r#"[{"command":"cc -Bx""#,
            r#"[{"file":"a.c","arguments":["cc","-Bx""#,
            r#"[{"file":"a.c","arguments":["cc","-Bx","-c"#,
        ] {
            assert!(matches!(classify(cut.as_bytes(), &[]), Some(Reason::Setting { .. })), "{cut}");
        }
    }

    #[test]
    fn what_is_shared_is_not_of_the_system() {
        for (shared, path) in [
            ("/opt/w", "/opt/w/tools/"),
            ("/opt/w", "/opt//w/./tools"),
            ("/opt/w", "/opt/w"),
            ("/usr/local/src/w", "/usr/local/src/w/cc"),
            ("/home/me/.local/w", "/home/me/.local/w/bin/cc"),
        ] {
            let shared = [PathBuf::from(shared)];
            for arguments in [
                &["cc", &format!("-B{path}")][..],
                &["cc", "-B", path],
                &["cc", &format!("--prefix={path}")],
                &["cc", &format!("--gcc-toolchain={path}")],
                &["ccache", path, "-c"],
            ] {
                let text = serde_json::to_string(&[serde_json::json!({ "arguments": arguments })]).unwrap();
                let counts = |shared| classify(text.as_bytes(), shared).is_some();
                assert!(counts(&shared), "{arguments:?}");
                assert!(
                    !counts(&[]) && !counts(&["/opt/wx".into(), "/w".into()]),
                    "the control: {arguments:?}"
                );
                assert_ne!(essence(text.as_bytes(), &shared), essence(text.as_bytes(), &[]));
            }
        }
    }

    #[test]
    fn only_what_counts_is_the_essence() {
        let with = |options: &str| {
            essence(format!(r#"[{{"command":"cc {options} -c a.c"}}]"#).as_bytes(), &[]).unwrap()
        };
        assert_eq!(with("-Bx -O2"), with("-Bx -O3"));
        assert_ne!(with("-Bx"), with("-By"));
    }
}
