//! Any first line of a request: the host and the port that are decided about are those that stand in it, and no path on a route
//! leads out of what the route allows.
#![no_main]

use egress::request::{Target, target};
use egress::route::{Allowed, Route};
use http::{Method, Uri};
use libfuzzer_sys::fuzz_target;

/// Returns the path as the most generous of servers would read it: decoded, and with its steps up taken.
fn as_served(path: &str) -> String {
    let mut decoded = Vec::new();
    let mut rest = path.as_bytes();
    while let [byte, after @ ..] = rest {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *byte == b'%') {
            Some(value) => {
                decoded.push(value);
                rest = &after[2..];
            }
            None => {
                decoded.push(*byte);
                rest = after;
            }
        }
    }
    let text = String::from_utf8_lossy(&decoded).replace('\\', "/");
    let mut parts = Vec::new();
    for part in text.split('/').map(|part| part.split(';').next().unwrap_or_default()) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

fuzz_target!(|line: &str| {
    let (method, uri) = line.split_once(' ').unwrap_or(("GET", line));
    let (Ok(method), Ok(uri)) = (method.parse::<Method>(), uri.parse::<Uri>()) else { return };
    if let Ok(Target::Host { host, port }) = target(&method, &uri) {
        assert_ne!(port, 0);
        let written = uri.authority().map(ToString::to_string).unwrap_or_default();
        let bracketed = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let rest = written.strip_prefix(&bracketed).or_else(|| written.strip_prefix(&host));
        let rest = rest.unwrap_or_else(|| panic!("{host} is not what stands in {written}"));
        match rest.strip_prefix(':') {
            Some(digits) => assert_eq!(digits.parse(), Ok(port), "{written}"),
            None => assert!(rest.is_empty() && port == 80 && method != Method::CONNECT, "{written}"),
        }
    }
    let mut route = Route::new("model", "https://api.example.org/base").expect("a route");
    route.allowed = vec![Allowed::new(&["GET"], "/v1/models/*").expect("what is allowed")];
    if let Ok(sent) = route.resolve(&Method::GET, uri.path(), uri.query()) {
        assert_eq!(sent.authority().map(|authority| authority.as_str()), Some("api.example.org"));
        let served = as_served(sent.path());
        assert!(served.starts_with("/base/v1/models"), "{} is served as {served}", sent.path());
    }
});
