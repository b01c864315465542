//! Where the egress proxy is reached inside a sandbox, and the variables that tell programs so.

use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Where it speaks HTTP and SOCKS5. Above the ports that the kernel hands out by itself (`ip_local_port_range`), so that no
/// program has it by chance.
pub const PROXY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 61080);

/// Where it answers DNS, over UDP and TCP. The address that systemd-resolved has made usual for a resolver on loopback.
pub const DNS: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 53), 53);

/// The name of a host that PID 1 asks for at the start, to see from inside that the proxy answers and refuses. It is no host
/// (RFC 6761, section 6.4), and this one question is not recorded.
pub const PROBE: &str = "probe.invalid";

/// Where the authority of a sandbox is that signs for hosts to which TLS is intercepted: in a tmpfs of the sandbox's own.
pub const AUTHORITY: &str = "/run/sandboxctl/ca.pem";

/// Where that authority is together with those that the sandbox has anyway.
pub const BUNDLE: &str = "/run/sandboxctl/ca-bundle.pem";

/// Where both are as Java reads them.
pub const TRUST_STORE: &str = "/run/sandboxctl/ca-bundle.jks";

/// The variable that Java virtual machines take options from (JVM Tool Interface): its last words win.
pub const JAVA_OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// Variables that name authorities, which are believed in place of all others.
const BUNDLE_VARIABLES: [&str; 8] = [
    "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT",
    "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "npm_config_cafile",
];

/// Variables that name authorities, which are believed beside those that the program has built in.
const EXTRA_VARIABLES: [&str; 2] = ["DENO_CERT", "NODE_EXTRA_CA_CERTS"];

/// Names of variables that programs find a proxy by. Programs differ in which case they read.
const PROXY_VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Returns whether this names one of [`variables`] or [`authority_variables`].
pub fn is_variable(name: &str) -> bool {
    let proxy = variables().map(|(variable, _)| variable);
    proxy.chain(authority_variables().map(|(variable, _)| variable)).any(|variable| variable == name)
}

/// Returns the variables of a sandbox whose way out is the proxy.
///
/// `ALL_PROXY` names it as an HTTP proxy too: as one of SOCKS, it would end programs that lack a library for that.
pub fn variables() -> impl Iterator<Item = (&'static str, String)> {
    let direct = || format!("localhost,{},::1", Ipv4Addr::LOCALHOST);
    PROXY_VARIABLES
        .into_iter()
        .map(|name| (name, format!("http://{PROXY}")))
        .chain([("NO_PROXY", direct()), ("no_proxy", direct())])
        // Node reads the others only where this is set.
        .chain([("NODE_USE_ENV_PROXY", "1".to_owned())])
}

/// Returns the variables of a sandbox that programs find its authority by.
pub fn authority_variables() -> impl Iterator<Item = (&'static str, String)> {
    let bundle = BUNDLE_VARIABLES.into_iter().map(|name| (name, BUNDLE.to_owned()));
    let extra = EXTRA_VARIABLES.into_iter().map(|name| (name, AUTHORITY.to_owned()));
    bundle.chain(extra).chain([(JAVA_OPTIONS, java_options())])
}

/// Returns whether this variable is that of Java with our options and nothing else: no value that somebody has set.
pub fn is_java_options(name: &str, value: &OsStr) -> bool {
    name == JAVA_OPTIONS && value == OsStr::new(&java_options())
}

/// Returns the options of Java that name the authority, with those of somebody else behind them, which win.
pub fn java_options_before(others: &OsStr) -> OsString {
    let mut all = OsString::from(java_options());
    if !others.is_empty() {
        all.push(" ");
        all.push(others);
    }
    all
}

fn java_options() -> String {
    format!("-Djavax.net.ssl.trustStore={TRUST_STORE}")
}
