//! Routes of the egress proxy, made of what its client sends.

use anyhow::{Context as _, anyhow, bail};
use confine::protocol::{RouteCredential, RouteSpec};
use egress::credited::Credited;
use egress::route::{Allowed, Credential, Route};
use egress::secret::Secret;
use policy::plan::{CreditedServer, RouteUpstream};
use policy::rules::provider::CredentialProvider;
use zeroize::Zeroizing;

/// What a server that somebody names themselves may be asked.
const METHODS: [&str; 7] = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];

/// Makes a route, with the credential that only this process has now.
pub(super) fn route(spec: RouteSpec) -> anyhow::Result<Route> {
    let RouteSpec { name, upstream, credential } = spec;
    let (value, token) = match credential {
        Some(RouteCredential { value, token }) => (Some(secret(&value)?), Some(secret(&token)?)),
        None => (None, None),
    };
    Ok(match upstream {
        RouteUpstream::Provider(provider) => {
            let provider = CredentialProvider::named(&provider)
                .with_context(|| format!("no provider \"{provider}\""))?;
            Route::of(provider, value, token)?
        }
        RouteUpstream::Custom { url, header, template } => Route {
            credential: value.map(|value| Credential::new(&header, &template, value)).transpose()?,
            token,
            // Whoever names a server of their own says what it is for by naming it.
            allowed: vec![Allowed::new(&METHODS, "/")?, Allowed::new(&METHODS, "/*")?],
            ..Route::new(&name, &url)?
        },
        RouteUpstream::Intercepted(_) => bail!("`{name}` is no route"),
    })
}

/// Makes the servers that get a credential which only this process has now.
pub(super) fn credited(spec: RouteSpec) -> anyhow::Result<Vec<Credited>> {
    let (RouteUpstream::Intercepted(servers), Some(held)) = (spec.upstream, spec.credential) else {
        bail!("`{}` has no credential", spec.name)
    };
    let (value, token) = (secret(&held.value)?, secret(&held.token)?);
    let credited = |server: CreditedServer| {
        let credential = Credential::new(&server.header, &server.template, value.clone())?;
        Ok(Credited::new(&spec.name, &server.url, credential, token.clone())?)
    };
    servers.into_iter().map(credited).collect()
}

/// Takes a value over. The bytes that it came in are cleared.
fn secret(bytes: &[u8]) -> anyhow::Result<Secret> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| anyhow!("a credential is no text, so no header can hold it"))?;
    Ok(Secret::from(Zeroizing::new(text.to_owned())))
}
