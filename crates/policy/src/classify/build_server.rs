//! What starts a build server: a file that sbt writes at each start may stay, if it starts sbt.

use serde::Deserialize;

use super::reason::Reason;
use super::settings;
use crate::protect::table::content::FileFormat;
use crate::protect::table::harmless::SBT;

/// Where distributions and images have Java, and only root writes.
const JAVA: [&str; 2] = ["/usr/lib/jvm/", "/opt/java/"];

/// Where their packages have sbt.
const LAUNCHER: [&str; 2] = ["/usr/share/sbt/", "/usr/local/sbt/"];

#[derive(Deserialize)]
struct Connection {
    #[serde(default)]
    argv: Vec<String>,
}

/// Classifies the details of a connection, see the Build Server Protocol.
pub(super) fn classify(content: &[u8]) -> Option<Reason> {
    settings::classify(content, FileFormat::Json, SBT).or_else(|| {
        // One that is there twice cannot be read so, nor one with comments.
        let read = serde_json::from_slice::<Connection>(content);
        let is_harmless = content.trim_ascii().is_empty()
            || read.is_ok_and(|connection| connection.argv.is_empty() || is_sbt(&connection.argv));
        (!is_harmless).then(|| Reason::Setting { key: "argv".to_owned() })
    })
}

/// Returns whether this is the command that sbt writes, see `BuildServerConnection` of its source.
fn is_sbt(argv: &[String]) -> bool {
    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    let [java, options @ .., "xsbt.boot.Boot", "-bsp"] = argv.as_slice() else { return false };
    let mut options = options.iter();
    let mut are_known = true;
    while let Some(option) = options.next() {
        are_known &= match *option {
            "-classpath" => options
                .next()
                .is_some_and(|path| lies_in(path, &LAUNCHER) && path.ends_with("/sbt-launch.jar")),
            option if option.starts_with("-Dsbt.script=") => {
                lies_in(&option["-Dsbt.script=".len()..], &LAUNCHER)
            }
            option => ["-Xms", "-Xmx", "-Xss"].iter().any(|known| {
                option
                    .strip_prefix(known)
                    .is_some_and(|size| size.bytes().all(|byte| byte.is_ascii_alphanumeric()))
            }),
        };
    }
    lies_in(java, &JAVA) && java.ends_with("/bin/java") && are_known
}

/// Returns whether a path lies in one of these directories, and names one thing.
fn lies_in(path: &str, directories: &[&str]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
        && !path.contains([':', '*'])
        && path.split('/').all(|name| name != "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SBT: &str = r#"{"name":"sbt","version":"1.10.7","bspVersion":"2.1.0-M1","languages":["scala"],"argv":["/usr/lib/jvm/java-17/bin/java","-Xms100m","-Xmx100m","-classpath","/usr/share/sbt/bin/sbt-launch.jar","-Dsbt.script=/usr/share/sbt/bin/sbt","xsbt.boot.Boot","-bsp"]}"#;

    #[test]
    fn what_sbt_writes_passes() {
        assert_eq!(classify(SBT.as_bytes()), None);
        assert_eq!(classify(b"{}"), None);
        assert_eq!(classify(b""), None);
    }

    #[test]
    fn what_starts_anything_else_is_found() {
        for (from, to) in [
            ("/usr/lib/jvm/java-17", "./java"),
            ("/usr/lib/jvm/java-17", "/usr/lib/jvm/../../../workspace"),
            ("bin/java", "bin/jshell"),
            ("/usr/share/sbt/bin/sbt-launch.jar", "/workspace/sbt-launch.jar"),
            ("/usr/share/sbt/bin/sbt-launch.jar", "/usr/share/sbt/x:/workspace/sbt-launch.jar"),
            ("-Xms100m", "-javaagent:evil.jar"),
            ("-Xms100m", "-XX:OnOutOfMemoryError=evil"),
            ("xsbt.boot.Boot", "Evil"),
            ("\"argv\"", "\"argv\":[],\"argv\""),
            ("\"name\"", "\"command\""),
        ] {
            let content = SBT.replace(from, to);
            assert_ne!(content, SBT);
            assert!(matches!(classify(content.as_bytes()), Some(Reason::Setting { .. })), "{content}");
        }
    }
}
