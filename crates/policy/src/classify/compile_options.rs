//! Options of compilers: which of them have one load or run something, or write where they say.
//!
//! An ordinary build has hundreds of options, and compilers have thousands. So what a compiler itself takes passes unless it is known to do
//! such a thing. What is handed over to a part of a compiler, which no manual of the compiler lists, passes only if builds have it.

use std::path::PathBuf;

/// How much of an argument is shown.
const SHOWN: usize = 100;

/// What has a compiler load a plugin or more arguments, or run another program in its place.
const LOADING: [&str; 20] = [
    "--config", "--for-assembler", "--for-linker", "--load", "--options-file", "--via", "-Qinstall",
    "-Qlocation", "-Qoption", "-cc1", "-ccc-", "-fpass-plugin", "-fplugin", "-gcc-name", "-gnu-prefix",
    "-gxx-name", "-iplugindir", "-load", "-optf", "@",
];

/// The same, with the program and its arguments.
const WRAPPER: &str = "-wrapper";

/// What has one write to a file that the value names, or into a directory. A value without a slash is enough: the file says in which
/// directory a compiler is started.
const WRITING: [&str; 41] = [
    "--serialize-diagnostics", "--symbol-graph-dir", "--time", "--write-", "-MJ", "-analyze:", "-aux-info",
    "-coverage-", "-dependency-dot", "-dependency-file", "-diagnostic-", "-dumpbase", "-dumpdir",
    "-fcodegen-data-generate=", "-fdeps-file", "-fdiagnostics-add-output", "-fdiagnostics-set-output",
    "-fdump-", "-fmodule-output=", "-fmodules-cache-path", "-fmodules-user-build-path", "-fopt-info-",
    "-fopt-info=", "-foptimization-record-file", "-fproc-stat-report=", "-fprofile-note", "-ftime-trace=",
    "-gen-cdb-fragment-path", "-gen-reproducer", "-header-include-file", "-index-store-path",
    "-index-unit-output-path", "-module-dependency-dir", "-opt-record", "-opt-report-file",
    "-qopt-report-file", "-serialize-diagnostics", "-sourceDependencies", "-split-dwarf-", "-stats-file",
    "-time=",
];

/// The same as compilers for Windows write it.
const WRITING_OF_WINDOWS: [&str; 2] = ["/analyze:", "/sourceDependencies"];

/// Where a compiler looks for programs, if anything but a directory of the system follows.
const PREFIXES: [&str; 2] = ["-B", "--prefix"];

/// The same, if a path follows: without a slash it is the name of a program of the system.
const PROGRAMS: [&str; 11] = [
    "--compiler-bindir", "--cuda-path", "--gcc-install-dir", "--gcc-toolchain", "--hip-path", "--ld-path",
    "--ptxas-path", "--rocm-path", "-ccbin", "-fuse-ld", "-gcc-toolchain",
];

const SPECS: [&str; 2] = ["-specs", "--specs"];

/// Those that toolchains for microcontrollers bring.
const KNOWN_SPECS: [&str; 5] =
    ["nano.specs", "nosys.specs", "picolibc.specs", "rdimon.specs", "semihost.specs"];

/// Options that begin with `-f`, and whose value is a path from which a compiler only reads, or which it writes into what it makes.
const WITH_PATHS: [&str; 22] = [
    "auto-profile", "build-session-file", "canon-prefix-map", "coverage-compilation-dir",
    "coverage-prefix-map", "debug-compilation-dir", "debug-prefix-map", "file-compilation-dir",
    "file-prefix-map", "macro-prefix-map", "module-file", "module-map-file", "prebuilt-module-path",
    "profile-instr-use", "profile-list", "profile-prefix-map", "profile-sample-use", "profile-use",
    "random-seed", "sanitize-ignorelist", "sanitize-blacklist", "use-ld",
];

/// Options of GCC that begin with `-f`, and whose value may be a program, a directory to write to, or more options.
const OF_GCC: [&str; 7] = [
    "callgraph-info", "compare-debug", "module-mapper", "offload", "offload-options", "profile-dir",
    "profile-generate",
];

/// Where a crash is written down, and where Chromium has that.
const CRASHES: (&str, &str) = ("-fcrash-diagnostics-dir", "tools/clang/crashreports");

/// How the names of files end in which builds have a compiler write what a source depends on.
const DEPENDENCIES: [&str; 10] = ["P", "Plo", "Po", "Td", "Tplo", "Tpo", "d", "dep", "deps", "tmp"];

/// Programs that run the compiler that comes after them.
const LAUNCHERS: [&str; 8] =
    ["buildcache", "ccache", "distcc", "env", "fccache", "gomacc", "icecc", "sccache"];

/// Where systems have their compilers.
const OF_SYSTEM: [&str; 16] = [
    "/Applications/", "/Library/", "/app/", "/bin/", "/emsdk/", "/gnu/store/", "/home/linuxbrew/.linuxbrew/",
    "/lib/", "/lib64/", "/nix/store/", "/opt/", "/run/current-system/", "/sbin/", "/snap/", "/usr/",
    "/var/lib/flatpak/",
];

/// Where tools put compilers into a home directory.
const OF_HOMES: [&str; 9] = [
    ".arduino15", ".conan", ".conan2", ".espressif", ".local", ".nix-profile", ".platformio", ".rustup",
    "Android",
];

/// What the frontend of clang may be handed over: each of these, and what begins so.
const OF_FRONTEND: [&str; 40] = [
    "-D", "-I", "-O", "-P", "-R", "-U", "-W", "-add-plugin", "-aux-triple", "-building-pch-with-obj", "-cl-",
    "-debug-info-kind=", "-detailed-preprocessing-record", "-disable-", "-dwarf-version=", "-emit-pch", "-f",
    "-g", "-include", "-internal-externc-isystem", "-internal-isystem", "-iquote", "-isystem", "-m",
    "-no-opaque-pointers", "-nostd", "-opaque-pointers", "-pedantic", "-pic-is-pie", "-pic-level",
    "-plugin-arg-", "-pthread", "-relaxed-aliasing", "-std=", "-target-", "-triple", "-undef", "-verify",
    "-w", "-x",
];

/// What a preprocessor may be handed over.
const OF_PREPROCESSOR: [&str; 16] = [
    "-C", "-D", "-I", "-P", "-U", "-W", "-f", "-imacros", "-include", "-iquote", "-isystem", "-nostdinc",
    "-std=", "-traditional", "-undef", "-w",
];

/// What an assembler may be handed over.
const OF_ASSEMBLER: [&str; 30] = [
    "--32", "--64", "--auto-litpools", "--compress-debug", "--defsym", "--divide", "--fatal-warnings",
    "--gdwarf", "--gstabs", "--longcalls", "--no-", "--noexecstack", "--text-section", "--trap", "--warn",
    "--x32", "-A", "-EB", "-EL", "-I", "-L", "-O", "-W", "-defsym", "-fatal", "-force_cpusubtype_ALL", "-g",
    "-k", "-m", "-x",
];

/// What a linker may be handed over, though nothing that reads the file links.
const OF_LINKER: [&str; 45] = [
    "--allow-", "--as-needed", "--build-id", "--color", "--compress", "--defsym", "--disable-", "--eh-frame",
    "--enable-", "--end-group", "--entry", "--exclude-", "--export", "--fatal-warnings", "--gc-sections",
    "--hash-style", "--icf", "--no-", "--pack-dyn", "--print-", "--relax", "--rpath", "--soname", "--sort",
    "--start-group", "--strip", "--threads", "--undefined", "--version-script", "--warn", "--whole-archive",
    "--wrap", "-B", "-L", "-O", "-R", "-S", "-T", "-dead_strip", "-l", "-pie", "-rpath", "-s", "-u", "-z",
];

/// What any other part may be handed over, such as an assembler of a graphics card.
const OF_OTHERS: [&str; 22] = [
    "--allow-expensive", "--diag", "--display", "--generate-line-info", "--gpu-name", "--maxrregcount",
    "--suppress", "--verbose", "--warn", "-D", "-I", "-O", "-U", "-W", "-dlcm=", "-dscm=", "-f", "-g", "-m",
    "-suppress", "-v", "-warn",
];

/// An argument that counts, or may.
pub(super) struct Argument {
    pub(super) shown: String,
    /// The path in it, if it leads to a place of the system's: then it counts where that is shared.
    of_system: Option<PathBuf>,
}

impl Argument {
    pub(super) fn certain(argument: &str) -> Self {
        Self { shown: shown(argument), of_system: None }
    }

    /// Makes one of an argument with a path in which a compiler finds programs.
    fn with_path(argument: &str, path: &str) -> Self {
        Self { shown: shown(argument), of_system: is_of_system(path).then(|| path.into()) }
    }

    /// Returns whether it counts where these directories are shared.
    pub(super) fn counts(&self, shared: &[PathBuf]) -> bool {
        let is_shared = |path: &PathBuf| shared.iter().any(|directory| path.starts_with(directory));
        self.of_system.as_ref().is_none_or(is_shared)
    }
}

/// Returns as much of an argument as is shown.
pub(super) fn shown(argument: &str) -> String {
    argument.chars().take(SHOWN).collect()
}

/// Lists what counts of options, or may.
pub(super) fn of_options(words: &[&str]) -> Vec<Argument> {
    let target = if words.iter().any(|word| names_target(word)) { Target::Named } else { Target::Object };
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied().unwrap_or_default();
        let with =
            |value: &str| if word.contains(value) { (*word).to_owned() } else { format!("{word} {next}") };
        if loads_or_writes(word, next) {
            found.push(Argument::certain(word));
        }
        let handed_over = HandedOver::of(word, next).filter(|it| it.counts(target));
        found.extend(handed_over.map(|it| Argument::certain(&with(it.value))));
        found.extend(programs(word, next).map(|path| Argument::with_path(&with(path), path)));
    }
    found
}

/// Lists the compiler that a command names, and what runs it.
pub(super) fn compilers(words: &[&str]) -> Vec<Argument> {
    let is_launcher = |word: &&str| LAUNCHERS.contains(&word.rsplit('/').next().unwrap_or_default());
    let launchers = words.iter().take_while(|word| is_launcher(word)).count();
    let named = words.iter().take(launchers + 1).filter(|word| word.contains('/'));
    named.map(|compiler| Argument::with_path(compiler, compiler)).collect()
}

/// Returns whether a path leads to where systems and tools have their compilers.
fn is_of_system(path: &str) -> bool {
    let is_plain = path.split('/').all(|name| name != "..");
    is_plain && (OF_SYSTEM.iter().any(|directory| path.starts_with(directory)) || is_of_home(path))
}

fn is_of_home(path: &str) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    match names.as_slice() {
        ["", "home", _, tool, _, ..] | ["", "root", tool, _, ..] => OF_HOMES.contains(tool),
        _ => false,
    }
}

/// What a file of dependencies says depends on them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Target {
    /// What the compiler makes.
    Object,
    /// Any text.
    Named,
}

fn names_target(word: &str) -> bool {
    ["-MT", "-MQ"].iter().any(|option| word.starts_with(option))
}

/// Returns whether an argument, with the next one, has a compiler load or run something, or write where it says.
fn loads_or_writes(word: &str, next: &str) -> bool {
    let has_value_but = |option, is_harmless: fn(&str) -> bool| {
        value(option, word, next).is_some_and(|value| !is_harmless(value))
    };
    is_known(word)
        || word.strip_prefix("--").is_some_and(does_as_flag)
        || SPECS.iter().any(|option| has_value_but(option, |name| KNOWN_SPECS.contains(&name)))
        || has_value_but(CRASHES.0, |directory| directory.ends_with(CRASHES.1))
        || has_value_but("-MF", is_of_dependencies)
        || word.strip_prefix("-f").and_then(|option| option.split_once('=')).is_some_and(writes)
}

/// Returns whether an argument that begins with `--` does what it does with `-f` in its place, as GCC takes it (`option_map` in its source).
fn does_as_flag(option: &str) -> bool {
    let with_value = option.split_once('=').filter(|(name, _)| OF_GCC.contains(name));
    is_known(&format!("-f{option}")) || with_value.is_some_and(writes)
}

/// Returns whether an argument is known to load or run something, or to write where it says, whatever comes next.
fn is_known(word: &str) -> bool {
    let mut prefixes = LOADING.iter().chain(&WRITING).chain(&WRITING_OF_WINDOWS).chain([&WRAPPER]);
    prefixes.any(|option| word.starts_with(option))
}

/// Returns whether the value of an option holds options. GCC compiles once more with those of `-fcompare-debug`, and hands over those of
/// `-foffload-options`.
fn has_options(value: &str) -> bool {
    value.split([' ', '\t', '=']).any(|word| word.starts_with(['-', '@']))
}

/// Returns whether a build names a file of dependencies so.
fn is_of_dependencies(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    matches!(path, "" | "-" | "/dev/null")
        || extension(name).is_some_and(|extension| DEPENDENCIES.contains(&extension))
}

/// Returns where an argument, with the next one, has a compiler look for programs.
fn programs<'a>(word: &'a str, next: &'a str) -> impl Iterator<Item = &'a str> {
    let of = move |option: &&str| value(option, word, next);
    let named = PROGRAMS.iter().filter_map(of).filter(|path| path.contains('/'));
    PREFIXES.iter().filter_map(of).chain(named)
}

/// Returns the value of an option, which may be the next argument.
fn value<'a>(option: &str, word: &'a str, next: &'a str) -> Option<&'a str> {
    let rest = word.strip_prefix(option)?;
    Some(if rest.is_empty() { next } else { rest.strip_prefix('=').unwrap_or(rest) })
}

/// Returns whether the value of an option that begins with `-f` may be a file that is written, a program, or more options.
fn writes((name, value): (&str, &str)) -> bool {
    if name == "module-mapper" {
        return !value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/+-".contains(&byte));
    }
    has_options(value) || value.contains('/') && !WITH_PATHS.contains(&name) && !CRASHES.0.ends_with(name)
}

/// A part of a compiler that an option hands arguments over to.
#[derive(Clone, Copy, Debug)]
enum Part {
    Frontend,
    Preprocessor,
    Assembler,
    Linker,
    /// What makes code in LLVM.
    Backend,
    /// Another compiler, or the same for one of several machines.
    Compiler,
    Other,
}

/// Options after which arguments are separated by commas.
const WITH_COMMAS: [(&str, Part); 4] = [
    ("-Wp,", Part::Preprocessor),
    ("-Wa,", Part::Assembler),
    ("-Wl,", Part::Linker),
    ("/clang:", Part::Compiler),
];

/// Options whose value is an argument for a part, the first of these that fits.
const WITH_VALUE: [(&str, Part); 9] = [
    ("-Xclang", Part::Frontend),
    ("-Xpreprocessor", Part::Preprocessor),
    ("-Xassembler", Part::Assembler),
    ("-Xlinker", Part::Linker),
    ("-mllvm", Part::Backend),
    ("-Xcompiler", Part::Compiler),
    ("--compiler-options", Part::Compiler),
    ("-Xarch_", Part::Compiler),
    ("-X", Part::Other),
];

/// Arguments that an option hands over.
struct HandedOver<'a> {
    part: Part,
    /// All of them, as they are written.
    value: &'a str,
    arguments: Vec<&'a str>,
}

impl<'a> HandedOver<'a> {
    fn of(word: &'a str, next: &'a str) -> Option<Self> {
        let with_commas =
            WITH_COMMAS.iter().find_map(|(option, part)| Some((*part, word.strip_prefix(option)?)));
        if let Some((part, value)) = with_commas {
            return Some(Self { part, value, arguments: value.split(',').collect() });
        }
        let (_, part) = WITH_VALUE.iter().find(|(option, _)| word.starts_with(option))?;
        // After the name of a machine, the argument is the next one.
        let value = word
            .split_once('=')
            .map(|(_, value)| value)
            .filter(|value| value.starts_with(['-', '@', '"', '/']));
        let value = value.unwrap_or(next);
        let arguments = match part {
            Part::Compiler | Part::Other => {
                value.split([',', ' ', '"']).filter(|one| !one.is_empty()).collect()
            }
            _ => vec![value],
        };
        Some(Self { part: *part, value, arguments })
    }

    /// Returns whether one of the arguments is not known to be harmless.
    fn counts(&self, target: Target) -> bool {
        let mut arguments = self.arguments.iter();
        while let Some(argument) = arguments.next() {
            let passes = match (self.part, *argument) {
                (Part::Preprocessor, "-MD" | "-MMD") => {
                    target == Target::Object && arguments.next().is_some_and(|path| is_of_kbuild(path))
                }
                (part, argument) => part.takes(argument),
            };
            if !passes {
                return true;
            }
        }
        false
    }
}

impl Part {
    /// Returns whether an argument for this part is known to be harmless.
    fn takes(self, argument: &str) -> bool {
        let begins = |known: &[&str]| known.iter().any(|known| argument.starts_with(known));
        let is_word = !argument.starts_with(['-', '@', '/']);
        let hands_on = HandedOver::of(argument, "").is_some();
        match self {
            Self::Backend => is_number(argument) || is_of_backend(argument),
            Self::Compiler => {
                // A program that leaves out where dependencies are written does not find that here.
                let names_dependencies = argument.starts_with("-MF") || names_target(argument);
                let is_harmless = !hands_on && !loads_or_writes(argument, "") && !names_dependencies;
                is_harmless && programs(argument, "").next().is_none()
            }
            // The option before says whether it is written, and is one of these.
            Self::Frontend if !argument.starts_with(['-', '@']) => true,
            _ if is_word => true,
            _ if hands_on || loads_or_writes(argument, "") => false,
            Self::Frontend => begins(&OF_FRONTEND),
            Self::Preprocessor => begins(&OF_PREPROCESSOR),
            Self::Assembler => begins(&OF_ASSEMBLER) || is_listing(argument),
            Self::Linker => begins(&OF_LINKER) || argument.starts_with('/'),
            Self::Other => begins(&OF_OTHERS),
        }
    }
}

/// Returns whether the build of Linux, and others that are made like it, name a file of dependencies so: nothing obeys one of this name.
fn is_of_kbuild(path: &str) -> bool {
    let is_plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/+-".contains(&byte));
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_within = !path.starts_with('/') && path.split('/').all(|name| name != "..");
    is_plain && is_within && name.starts_with('.') && extension(name) == Some("d")
}

/// Returns whether an option of an assembler has it list what it does, in a file that is called so if it is named.
fn is_listing(argument: &str) -> bool {
    let Some(rest) = argument.strip_prefix("-a") else { return false };
    let (kinds, path) = rest.split_once('=').unwrap_or((rest, ".lst"));
    kinds.bytes().all(|byte| b"cdghilmns".contains(&byte)) && extension(path) == Some("lst")
}

/// Returns whether an option of LLVM has no value but a number: else it may be a file, or a plugin.
fn is_of_backend(argument: &str) -> bool {
    let (name, value) = argument.split_once('=').unwrap_or((argument, "true"));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_name = name.starts_with('-') && !loads_or_writes(name, "") && name.bytes().all(is_plain);
    is_name && (is_number(value) || matches!(value, "true" | "false") || name == "-x86-asm-syntax")
}

fn extension(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(_, extension)| extension)
}

fn is_number(value: &str) -> bool {
    let (digits, is_digit): (&str, fn(&u8) -> bool) = match value.strip_prefix("0x") {
        Some(digits) => (digits, u8::is_ascii_hexdigit),
        None => (value.strip_prefix('-').unwrap_or(value), |byte| byte.is_ascii_digit() || *byte == b'.'),
    };
    !digits.is_empty() && digits.as_bytes().iter().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(options: &str) -> bool {
        let words: Vec<&str> = options.split(' ').collect();
        of_options(&words).iter().any(|argument| argument.counts(&[]))
    }

    #[test]
    fn what_has_a_part_of_a_compiler_write_or_load_something_is_found() {
        for options in [
            "-Wp,-MD,/home/me/.bashrc",
            "-Wp,-MMD,.bashrc",
            "-Wp,-MMD,/home/me/.x.d",
            "-Wp,-MMD,../../.x.d",
            "-Wp,-MMD,.bashrc.d/x.d",
            "-Wp,-MMD,a/.x.o.d -MT text",
            "-Wp,-MMD,a/.x.o.d -Wp,-MT,text",
            "-Wp,-MMD",
            "-Wp,-dependency-file,x",
            "-Wp,-MF,x",
            "-Xpreprocessor -MD -Xpreprocessor .x.d",
            "-Xpreprocessor -dependency-file -Xpreprocessor x",
            "-Xclang -dependency-file -Xclang x",
            "-Xclang=-dependency-file -Xclang=x",
            "-Xclang -diagnostic-log-file -Xclang x",
            "-H -Xclang -header-include-file -Xclang x",
            "-Xclang -of-tomorrow -Xclang x",
            "-Xclang @x",
            "-Xclang=@x",
            "-Xclang -fplugin=x",
            "-Xclang -mllvm -Xclang -load=x",
            "-Xclang -opt-record-file -Xclang x",
            "-Xclang -stats-file=x",
            "-Xclang -ftime-trace=x",
            "-Xclang -o -Xclang x",
            "-Xclang -analyzer-config",
            "-Xassembler -o",
            "-Wa,-o,x",
            "-Wa,-alms=/home/me/.bashrc",
            "-Wa,--MD,x",
            "-Wa,@x",
            "-Wl,-plugin,x.so",
            "-Xlinker --plugin=x",
            "-Xlinker -o",
            "-mllvm -info-output-file=x",
            "-mllvm -info-output-file -mllvm x",
            "-mllvm -load -mllvm x",
            "-mllvm=-load=x",
            "-Xarch_host -fplugin=x",
            "-Xarch_x86_64 -Xclang",
            "-Xcompiler=-fplugin=x",
            "-Xcompiler -Wall,-fplugin=x",
            "-Xcompiler -Wp,-MD",
            "-Xcuda-ptxas -o",
            "-Xopenmp-target -of-tomorrow",
            "-Xopenmp-target=nvptx64 -of-tomorrow",
            "-Xanalyzer -analyzer-output=x",
            "/clang:-fplugin=x",
            "/clang:-MD /clang:-MFx.d",
            "/clang:-MTtext",
        ] {
            assert!(found(options), "{options}");
        }
    }

    #[test]
    fn what_has_a_compiler_itself_write_or_load_something_is_found() {
        for options in [
            "-fmodules-cache-path=/home/me/x",
            "-fmodules-cache-path=x",
            "-fcrash-diagnostics-dir=/home/me/.bashrc.d",
            "-fcrash-diagnostics-dir=x",
            "-dependency-dot x",
            "-MJ x",
            "-MJx",
            "-gen-cdb-fragment-path x",
            "--serialize-diagnostics x",
            "-serialize-diagnostics x",
            "-aux-info x",
            "-dumpdir x",
            "-dumpbase x",
            "-ftime-trace=x",
            "-foptimization-record-file=x",
            "-fdiagnostics-add-output=sarif:file=x",
            "-fdiagnostics-set-output=sarif:file=x",
            "-fproc-stat-report=x",
            "-fmodule-output=x",
            "-cc1 -of-tomorrow",
            "-ccc-gcc-name x",
            "-ccbin ./tools",
            "-ccbin=tools/cc",
            "--gcc-toolchain=/w/tools",
            "--cuda-path=tools/cuda",
            "-fuse-ld=tools/ld",
            "--ld-path=tools/ld",
            "-optf x",
            "--options-file x",
            "-Qoption,cpp,-x",
            "-Qlocation,ld,x",
            "-qopt-report-file=x",
            "--for-assembler=-o",
            "--write-dependencies --output=x",
            "--write-user-dependencies",
            "-MF /home/me/.bashrc",
            "-MF.bashrc",
            "-MD -MF authorized_keys",
            "/sourceDependencies x",
            "-analyze:plugin x",
            "-split-dwarf-output x",
            "-time=x",
            "--plugin=p.so",
            "--module-mapper=|x",
            "--profile-dir=/x",
            "--opt-info-all=x",
            "--dump-tree-all=x",
            "-fcompare-debug=-iplugindir=x",
            "--compare-debug=-iplugindir=x",
            "-foffload-options=nvptx-none=-of-tomorrow",
            "-foffload=-of-tomorrow",
        ] {
            assert!(found(options), "{options}");
        }
    }

    #[test]
    fn options_of_ordinary_builds_pass() {
        for options in [
            "--depend=out/a.o.d --dlib_config=/opt/iar/inc/c/full.h --sysroot=/opt/sdk --target=arm-none-eabi --std=c11 --param=ssp-buffer-size=4 --coverage -fcompare-debug",
            // CMake, with headers that are compiled before.
            "-Winvalid-pch -Xclang -include-pch -Xclang /w/build/cmake_pch.hxx.pch -Xclang -include -Xclang /w/build/cmake_pch.hxx",
            "-Winvalid-pch -fpch-instantiate-templates -Xclang -emit-pch -Xclang -include -Xclang /w/cmake_pch.hxx -x c++-header",
            "-MD -MT CMakeFiles/x.dir/a.cpp.o -MF CMakeFiles/x.dir/a.cpp.o.d -o CMakeFiles/x.dir/a.cpp.o -c /w/a.cpp",
            // Meson, automake, Bazel.
            "-fdiagnostics-color=always -D_GLIBCXX_ASSERTIONS=1 -MD -MQ x.p/a.c.o -MF x.p/a.c.o.d -o x.p/a.c.o -c ../a.c",
            "-DHAVE_CONFIG_H -I. -MT a.lo -MD -MP -MF .deps/a.Tpo -c a.c -fPIC -DPIC -o .libs/a.o",
            "-U_FORTIFY_SOURCE -fstack-protector -iquote . -MD -MF bazel-out/k8/a.d -frandom-seed=bazel-out/k8/a.o -no-canonical-prefixes -D__DATE__=redacted",
            // Linux, and what is built like it.
            "-Wp,-MMD,scripts/mod/.empty.o.d -nostdinc -Wa,--noexecstack -Wa,-mx86-used-note=no -mllvm -asan-mapping-offset=0xdffffc0000000000",
            "-Wp,-MD,applets/.applets.o.d -std=gnu99 -Wa,-gdwarf-2 -fmacro-prefix-map=./= -fzero-init-padding-bits=all",
            // Distributions.
            "-O2 -flto=auto -ffat-lto-objects -fexceptions -Wp,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=3 -Wp,-D_GLIBCXX_ASSERTIONS -specs=nano.specs -Wl,-O1,--sort-common,--as-needed,-z,relro,-z,now",
            // Chromium.
            "-fcrash-diagnostics-dir=../../tools/clang/crashreports -mllvm -instcombine-lower-dbg-declare=0 -Xclang -fuse-ctor-homing -Xclang -fdebug-compilation-dir -Xclang . -Xclang -add-plugin -Xclang find-bad-constructs -Xclang -plugin-arg-find-bad-constructs -Xclang check-ipc",
            // OpenMP, CUDA, HIP, and microcontrollers.
            "-Xpreprocessor -fopenmp -Xclang -fopenmp -Xclang -target-feature -Xclang +avx2 -Xclang -disable-O0-optnone",
            "-ccbin g++-12 -ccbin=/usr/bin/g++ -Xcompiler=-fPIC,-Wall -Xcompiler -fopenmp -Xptxas -v -Xptxas=-O3,-v -Xcudafe --diag_suppress=177 --cuda-path=/usr/local/cuda",
            "-Xopenmp-target=nvptx64-nvidia-cuda -march=sm_70 -Xarch_device -O3 -Xarch_host -fno-stack-protector -mllvm -amdgpu-early-inline-all=true",
            "-mcpu=cortex-m4 -Wa,-a,-ad,-alms=build/main.lst -MMD -MP -MF\"build/main.d\"",
            "-mlongcalls -Wa,--longcalls -fuse-ld=lld -fuse-ld=/usr/bin/mold -fsave-optimization-record=yaml -save-temps=obj",
            "/nologo /TP /DWIN32 /EHsc /MD /FoCMakeFiles\\x.obj /FdCMakeFiles\\ /clang:-O3 -c C:\\w\\a.cpp",
        ] {
            let options = options.replace('"', "");
            let words: Vec<&str> = options.split(' ').collect();
            let shown: Vec<String> =
                of_options(&words).into_iter().filter(|one| one.counts(&[])).map(|one| one.shown).collect();
            assert_eq!(shown, Vec::<String>::new(), "{options}");
        }
    }
}
