//! Error messages of Docker, Podman and buildx that anything is decided on: one table of patterns, and nothing else searches
//! what they print.
//!
//! What they print as a table or in a form of its own is parsed where it is requested: `image/builder.rs` and `image/failure.rs`.

use tracing::debug;

/// What an engine, or buildx, gives as the cause of a failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FailureCause {
    DiskFull,
    /// The engine does not see a path. The value is the path.
    Unseen,
    Limit,
    /// There is a container of this name. The value is the name.
    NameInUse,
    /// There is no such runtime.
    Runtime,
    /// There is no such image, or none for the platform.
    NoImage,
    NoContainer,
    /// The container is just being removed.
    BeingRemoved,
    /// This user may not do that.
    Forbidden,
    /// There is no way to an engine or a registry.
    Unreachable,
    /// A program is for a processor that nothing here emulates.
    Processor,
    Push,
    /// An image cannot be fetched. The value is the image, and the rest says why.
    Fetch,
    /// A certificate is not trusted.
    Certificate,
    /// A registry has no such image.
    NotInRegistry,
    /// A registry cannot do it now.
    Fault,
}

/// The patterns, in lower case, who prints them, and what they mean. `{}` stands for anything on the same line, and `\n` for the
/// beginning or the end of a line.
const TABLE: &[(&str, &str, FailureCause)] = &[
    ("no space left on device", "Linux", FailureCause::DiskFull),
    ("bind source path does not exist: ", "Docker 26 to 29", FailureCause::Unseen),
    ("statfs {}: no such file or directory", "Podman 4 and 5", FailureCause::Unseen),
    // Nothing of another mount namespace can be mounted (mount(2)).
    ("failed to mount local volume: mount {}:{}: invalid argument", "Docker 26 to 29", FailureCause::Unseen),
    ("range of cpus is from", "Docker 26 to 29", FailureCause::Limit),
    ("controller `cpu` is not available", "crun", FailureCause::Limit),
    ("controller 'cpu' is not available", "crun", FailureCause::Limit),
    ("requested cgroup controller", "Podman 4 and 5", FailureCause::Limit),
    ("name \"{}\" is already in use", "Docker 26 to 29, Podman 4 and 5", FailureCause::NameInUse),
    ("unknown or invalid runtime name", "Docker 26 to 29", FailureCause::Runtime),
    ("no such runtime", "Docker", FailureCause::Runtime),
    ("invalid runtime name", "Docker", FailureCause::Runtime),
    ("requested oci runtime", "Podman 4 and 5", FailureCause::Runtime),
    ("default oci runtime \"", "Podman 4 and 5", FailureCause::Runtime),
    ("no such image", "Docker 26 to 29", FailureCause::NoImage),
    ("does not provide the specified platform", "Docker 28 and 29", FailureCause::NoImage),
    ("does not match the specified platform", "Docker 26", FailureCause::NoImage),
    ("image not known", "Podman 4 and 5", FailureCause::NoImage),
    ("no such container", "Docker 26 to 29, Podman 4 and 5", FailureCause::NoContainer),
    ("no such object", "Docker 26 to 29, Podman 4 and 5", FailureCause::NoContainer),
    ("already in progress", "Docker 26 to 29", FailureCause::BeingRemoved),
    // What it has unpaused to remove it has ended by itself.
    ("container state improper: stopped", "Podman 4 and 5", FailureCause::BeingRemoved),
    ("permission denied", "Docker 20 to 29, ssh", FailureCause::Forbidden),
    ("cannot connect to the docker daemon", "Docker 20 to 28", FailureCause::Unreachable),
    ("failed to connect to the docker api", "Docker 29", FailureCause::Unreachable),
    ("error during connect", "Docker 20 to 28", FailureCause::Unreachable),
    ("exec format error", "Linux", FailureCause::Processor),
    // Where the engine itself pushes, buildx calls that a step.
    ("\npushing ", "buildx 0.13 to 0.30", FailureCause::Push),
    ("failed to push", "buildx 0.13 to 0.30", FailureCause::Push),
    ("server message: insufficient_scope", "registries", FailureCause::Push),
    ("failed to resolve source metadata for {}: ", "buildx 0.13 to 0.30", FailureCause::Fetch),
    ("failed to load cache key: {}: ", "buildx 0.13 to 0.30", FailureCause::Fetch),
    // Every program has another message for it.
    ("certificate{}unknown authority", "Go", FailureCause::Certificate),
    ("certificate{}self-signed", "curl", FailureCause::Certificate),
    ("self-signed certificate", "npm", FailureCause::Certificate),
    ("certificate{}self signed", "curl before 8", FailureCause::Certificate),
    ("self signed certificate", "OpenSSL before 3", FailureCause::Certificate),
    ("certificate{}verify failed", "OpenSSL, apk", FailureCause::Certificate),
    ("certificate{}verification failed", "apt, git", FailureCause::Certificate),
    ("certificate{}not trusted", "apt, wget", FailureCause::Certificate),
    ("local issuer certificate", "npm, curl", FailureCause::Certificate),
    ("no such host", "Go", FailureCause::Unreachable),
    ("connection refused", "Linux", FailureCause::Unreachable),
    ("i/o timeout", "Go", FailureCause::Unreachable),
    ("is unreachable", "Linux", FailureCause::Unreachable),
    ("deadline exceeded", "Go", FailureCause::Unreachable),
    (": not found\n", "buildx 0.13 to 0.30", FailureCause::NotInRegistry),
    ("429 too many requests", "registries", FailureCause::Fault),
    ("500 internal server error", "registries", FailureCause::Fault),
    ("502 bad gateway", "registries", FailureCause::Fault),
    ("503 service unavailable", "registries", FailureCause::Fault),
    ("504 gateway timeout", "registries", FailureCause::Fault),
];

/// A pattern that was found.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Match {
    pub(crate) cause: FailureCause,
    /// What stands for the first `{}`; where there is none, what follows.
    pub(crate) value: String,
    /// What follows on the same line.
    pub(crate) rest: String,
}

/// Finds the first row of the table whose pattern is in what was printed and that means one of `causes`.
pub(crate) fn find(printed: &str, causes: &[FailureCause]) -> Option<Match> {
    let lines: Vec<String> = printed.lines().map(|line| format!("\n{line}\n")).collect();
    TABLE.iter().filter(|(.., cause)| causes.contains(cause)).find_map(|(pattern, by, cause)| {
        let (value, rest) = lines.iter().find_map(|line| matched(pattern, line))?;
        debug!(pattern, by, ?cause, "known error message");
        Some(Match { cause: *cause, value: value.trim().to_owned(), rest: rest.trim().to_owned() })
    })
}

/// Finds the cause alone.
pub(crate) fn cause(printed: &str, causes: &[FailureCause]) -> Option<FailureCause> {
    find(printed, causes).map(|found| found.cause)
}

/// Returns what stands for the first `{}` of the pattern, and what follows.
fn matched<'a>(pattern: &str, line: &'a str) -> Option<(&'a str, &'a str)> {
    // Byte for byte as long as the line.
    let lower = line.to_ascii_lowercase();
    let (mut end, mut value) = (0, None);
    for (number, part) in pattern.split("{}").enumerate() {
        let start = end + lower[end..].find(part)?;
        if number == 1 {
            value = Some(&line[end..start]);
        }
        end = start + part.len();
    }
    let rest = &line[end..];
    Some((value.unwrap_or(rest), rest))
}

/// Returns the last paragraph of what was printed, without the advice to look into the manual.
pub(crate) fn message(stderr: &str) -> String {
    let lines = stderr.lines().map(str::trim).filter(|line| {
        !line.is_empty()
            && !line.starts_with("See '")
            && !line.starts_with("Run '")
            && !line.starts_with("WARNING")
            // What its parts log, and it prints again by itself.
            && (!line.starts_with("time=\"") || line.contains(" level=fatal "))
    });
    let all: Vec<&str> = lines.collect();
    let text = all[all.len().saturating_sub(3)..].join("; ");
    let text = ["docker: ", "Error: ", "ERROR: "]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(&text);
    if text.is_empty() {
        "it failed without an error message".to_owned()
    } else {
        text.trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cause is looked for among those that the same question may have.
    const OF_REGISTRIES: [FailureCause; 4] = [
        FailureCause::Certificate,
        FailureCause::Unreachable,
        FailureCause::NotInRegistry,
        FailureCause::Fault,
    ];

    #[test]
    fn patterns_are_matched_as_they_are_written() {
        for (pattern, ..) in TABLE {
            assert_eq!(*pattern, pattern.to_lowercase());
        }
        assert_eq!(matched("a {} b", "x A 1 B y"), Some(("1", " y")));
        assert_eq!(matched("a ", "x a y"), Some(("y", "y")));
        assert_eq!(matched("b{}a", "a b"), None);
        assert_eq!(cause("what was not found:\nsay", &[FailureCause::NotInRegistry]), None);
        assert_eq!(
            cause("certificate\nis not trusted", &[FailureCause::Certificate]),
            None,
            "on one line alone"
        );
    }

    #[test]
    fn what_keeps_a_registry_from_being_reached_is_distinguished() {
        for (printed, meant) in [
            ("dial tcp: lookup a on 10.0.0.53:53: no such host", Some(FailureCause::Unreachable)),
            ("dial tcp 127.0.0.1:5001: connect: connection refused", Some(FailureCause::Unreachable)),
            ("failed to push a/b: dial tcp: lookup a: no such host", Some(FailureCause::Unreachable)),
            ("localhost:5000/nosuch:1: not found", Some(FailureCause::NotInRegistry)),
            (
                "unexpected status from HEAD request to http://a/v2/b: 503 Service Unavailable",
                Some(FailureCause::Fault),
            ),
            ("pull access denied, repository does not exist or may require authorization", None),
            ("failed to authorize: 401 Unauthorized", None),
        ] {
            assert_eq!(cause(printed, &OF_REGISTRIES), meant, "{printed}");
        }
    }

    #[test]
    fn a_certificate_that_is_not_trusted_is_known_by_everybodys_words() {
        for printed in [
            "tls: failed to verify certificate: x509: certificate signed by unknown authority",
            "curl: (60) SSL certificate problem: self-signed certificate in certificate chain",
            "x509: certificate signed by unknown authority",
            "error:0A000086:SSL routines:tls_post_process_server_certificate:certificate verify failed",
            "Certificate verification failed: The certificate is NOT trusted.",
            "npm error code UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unable to get local issuer certificate",
        ] {
            assert_eq!(cause(printed, &OF_REGISTRIES), Some(FailureCause::Certificate), "{printed}");
        }
    }

    #[test]
    fn what_a_call_was_for_may_be_gone() {
        let all = [FailureCause::NoImage, FailureCause::NoContainer, FailureCause::BeingRemoved];
        for (printed, meant) in [
            ("Error response from daemon: No such image: box:1", FailureCause::NoImage),
            ("Error: inspecting object: box: image not known", FailureCause::NoImage),
            ("Error: No such container: 5f", FailureCause::NoContainer),
            ("Error: inspecting object: no such container \"5f\"", FailureCause::NoContainer),
            (
                "Error response from daemon: removal of container 5f is already in progress",
                FailureCause::BeingRemoved,
            ),
            ("Error: container state improper: stopped", FailureCause::BeingRemoved),
        ] {
            assert_eq!(cause(printed, &all), Some(meant), "{printed}");
        }
    }
}
