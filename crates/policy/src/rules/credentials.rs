//! Where servers take a credential from, and the method of a request, beside where everybody looks.
//!
//! Data from the references of those who do, as of 2026-11. What is added to a request is to be the one credential in it.

use super::provider::HOSTED;

/// Headers, in lower case: of GitHub, GitLab, Azure, Amazon, Anthropic, Google, Cloudflare, `OpenStack`, Kong, Supabase, Artifactory, Docker, Brave,
/// `ElevenLabs` and others. A name with `_` in it is taken for the one with `-` by some servers, and is no concern of this list.
pub const HEADERS: &[&str] = &[
    "api-key", "apikey", "authorization", "circle-token", "cookie", "cookie2", "dd-api-key",
    "dd-application-key", "deploy-token", "fastly-key", "job-token", "ocp-apim-subscription-key",
    "private-token", "x-access-token", "x-amz-security-token", "x-api-key", "x-api-token", "x-auth",
    "x-auth-key", "x-auth-token", "x-authorization", "x-figma-token", "x-functions-key", "x-github-token",
    "x-gitlab-token", "x-goog-api-key", "x-goog-iam-authorization-token", "x-jfrog-art-api",
    "x-nuget-apikey", "x-original-authorization", "x-rapidapi-key", "x-redmine-api-key", "x-registry-auth",
    "x-session-token", "x-shopify-access-token", "x-subscription-token", "x-vault-token", "xi-api-key",
];

/// Parts of a query, by their [common spelling](common), of a server of which nothing is known.
const PARAMETERS: &[&str] = &[
    "access_token", "api_key", "apikey", "auth", "auth_token", "authorization", "client_secret",
    "deploy_token", "job_token", "key", "oauth_token", "private_token", "sig", "subscription_key", "token",
    "x_amz_credential", "x_amz_security_token", "x_amz_signature", "x_api_key", "x_goog_credential",
    "x_goog_signature",
];

/// Parts of a query by which some servers take a request for one of another method: Google's `$httpMethod`, Salesforce's `_HttpMethod`, and
/// those that frameworks read.
const METHODS: &[&str] = &[
    "_http_method", "_httpmethod", "_method", "http_method", "httpmethod", "method_override",
    "x_http_method", "x_http_method_override", "x_method_override",
];

/// Returns whether a server of this name may take this part of a query for a credential.
pub fn is_parameter(host: &str, name: &str) -> bool {
    let known = HOSTED.iter().find(|provider| provider.servers.iter().any(|server| server.host == host));
    has_reading(name, known.map_or(PARAMETERS, |provider| provider.parameters))
}

/// Returns whether a server may take this part of a query for the method.
pub fn is_method(name: &str) -> bool {
    has_reading(name, METHODS)
}

/// Returns whether a server may take this name of a part for one of these.
fn has_reading(name: &str, known: &[&str]) -> bool {
    let name = with_units(name);
    // PHP ends a name at a NUL.
    let name = name.split('\0').next().unwrap_or_default().trim();
    // Google's may begin with `$`.
    let name = name.trim_start_matches('$');
    let is_list = name.split_once('[').is_some_and(|(_, rest)| rest.contains(']'));
    // Frameworks read lists. In PHP a `[` that nothing closes is `_`.
    let before = if is_list { name.split('[').next() } else { Some(name) };
    // Rack, and Node's `qs`, which Express has: the first that is not a bracket.
    let within = name.split(['[', ']']).find(|part| !part.is_empty());
    [before, within].into_iter().flatten().any(|name| known.contains(&common(name).as_str()))
}

/// Returns the common one of the spellings of a name that frameworks read alike.
fn common(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '.', ' ', '['], "_")
}

/// Returns a name with the characters that `%uXXXX` stands for, by which ASP.NET and Jetty before 10 read UTF-16.
fn with_units(name: &str) -> String {
    let mut rest = name;
    let mut read = String::new();
    while let Some((before, after)) = rest.split_once("%u") {
        let digits = after.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
        read.push_str(before);
        match unit {
            Some(unit) => read.push(unit),
            None => read.push_str("%u"),
        }
        rest = if unit.is_some() { &after[4..] } else { after };
    }
    read + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_query_is_known_in_every_spelling() {
        for name in [
            "key", "KEY", "$key", "api-key", "api_key", "access.token", "access_token[]", "private_token",
            "access[token", "X-Api-Key", "deploy_token", "subscription-key", "access_token\0a", " key\0",
            "[access_token]", "[access_token][]", "[[access_token]", "access_token]", "access[token\0]",
            "access%u005ftoken", "%u006b%u0065%u0079", "[%u006bey]", "key%u0000x",
        ] {
            assert!(is_parameter("issues.example.org", name), "{name}");
        }
        for name in [
            "page", "keys", "tokens", "q", "", "client_id", "filter[key]", "filter[token][]", "a\0key",
            "\0key", "[filter][key]", "[]", "%u006", "%u006bé", "%u", "%ud800key", "k%u00e9y",
        ] {
            assert!(!is_parameter("issues.example.org", name), "{name}");
        }
        // Names of caches, and links to files that GitHub has signed.
        for name in ["key", "token"] {
            assert!(!is_parameter("api.github.com", name), "{name}");
        }
        assert!(is_parameter("api.github.com", "access_token"));
        for name in [
            "$httpMethod", "_method", "_HttpMethod", "http-method", "X-Method-Override", "_method\0a",
            "[_method]", "%u005fmethod",
        ] {
            assert!(is_method(name), "{name}");
        }
        // The name of what is called, at some servers (Flickr's).
        assert!(!is_method("method"));
    }

    #[test]
    fn headers_are_as_they_are_compared() {
        for name in HEADERS {
            assert!(
                name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            );
        }
        assert!(HEADERS.is_sorted());
    }
}
