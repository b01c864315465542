//! The preset `java`: a JDK, and what builds with it, as SDKMAN! installs them or from an archive.

use super::error::ToolchainError;
use super::prefix::Form;
use super::search::{HostContext, Toolchains, canonical, in_system_tree, variable};

const NAME: &str = "java";

/// A JDK of Java 9 and newer, or of Java 8. Of its settings those are shown without which it does not start, and not those of
/// its management, which may hold passwords.
const JDK: Form = Form {
    preset: NAME,
    is_program: |name| name == "java",
    is_prefix: |prefix| prefix.join("lib/modules").is_file() || prefix.join("lib/tools.jar").is_file(),
    expected: "`bin/java`, and `lib/modules` or `lib/tools.jar`",
    more: &[
        "conf/jaxp.properties", "conf/logging.properties", "conf/net.properties", "conf/sdp",
        "conf/security", "jmods", "jre", "release",
    ],
};

/// Programs that are looked for beside a JDK. Each is a script with the rest beside its `bin`.
const TOOLS: [&str; 6] = ["ant", "gradle", "kotlinc", "mvn", "sbt", "scala"];

const TOOL: Form = Form {
    preset: NAME,
    is_program: |name| TOOLS.contains(&name),
    is_prefix: |prefix| prefix.join("lib").is_dir() || prefix.join("bin/sbt-launch.jar").is_file(),
    expected: "`bin`, and `lib` or `bin/sbt-launch.jar`",
    // Of Maven and of Scala.
    more: &["boot", "maven2"],
};

pub(crate) fn find(host: &HostContext<'_>, found: &mut Toolchains) -> Result<(), ToolchainError> {
    let java = host.programs(NAME).next().ok_or_else(|| host.not_found(NAME, "`java`"))?;
    let real = canonical(NAME, &java)?;
    if !in_system_tree(&real) {
        // Of Java 8, a whole JDK is above the runtime.
        let runtime = real.ancestors().find(|path| path.ends_with("jre")).and_then(|jre| jre.parent());
        let of_jdk = runtime.map(|jdk| jdk.join("bin/java")).filter(|java| java.is_file());
        let bin = found.show_installation(&JDK, &of_jdk.unwrap_or(real), host)?;
        let home = bin.parent().unwrap_or(&bin);
        found.env.push(variable("JAVA_HOME", home));
        found.path.push(bin);
    }
    for name in TOOLS {
        let Some(program) = host.programs(name).next() else { continue };
        let real = canonical(NAME, &program)?;
        if !in_system_tree(&real) {
            let bin = found.show_installation(&TOOL, &real, host)?;
            found.path.push(bin);
        }
    }
    Ok(())
}
