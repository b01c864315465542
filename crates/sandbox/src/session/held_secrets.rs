//! The values of secrets while this process holds them, closed to others.

use std::ops::Deref;
use std::{io, mem};

use confine::protocol::{RouteCredential, RouteSpec};
use policy::plan::{Plan, Route, RouteUpstream};
use policy::rules::provider::{CredentialProvider, HostedProvider};
use rustix::rand::{GetRandomFlags, getrandom};
use zeroize::Zeroizing;

use crate::secrets::{SecretReader, SecretValue};
use crate::session::closed::Closed;
use crate::session::error::StartError;

/// How long the random part of a token is.
const TOKEN_BYTES: usize = 32;

const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";

/// The values of a plan's secrets, for as long as it takes to hand them over.
///
/// Until they are gone nobody but root can look into this process, neither in `/proc` nor with ptrace(2). Of root's own
/// process that is true in any case. A process that is made meanwhile is closed in the same way, and could then not map its user.
pub(crate) struct HeldSecrets {
    /// What the agent gets: values of secrets, and tokens for others.
    values: Vec<(String, SecretValue)>,
    /// What the egress proxy gets.
    routes: Vec<RouteSpec>,
    /// Goes last.
    _closed: Option<Closed>,
}

impl HeldSecrets {
    /// Closes this process, and reads the values.
    pub(crate) fn read(plan: &Plan, read: &mut SecretReader<'_>) -> Result<Self, StartError> {
        let mut held = Self { values: Vec::new(), routes: Vec::new(), _closed: None };
        if plan.credentials().next().is_none() {
            held.routes = plan.routes.iter().map(|route| spec(route, None)).collect();
            return Ok(held);
        }
        let closed = Closed::close().map_err(|errno| StartError::Step {
            step: "closing this process to others before it reads secrets".into(),
            source: errno.into(),
            remedy: None,
        })?;
        held = Self { _closed: Some(closed), ..held };
        held.values = read()?;
        let mut proxied = held.values.split_off(plan.secrets.len().min(held.values.len())).into_iter();
        for route in &plan.routes {
            let credential = match route.credential.as_ref().and_then(|_| proxied.next()) {
                None => None,
                Some((variable, value)) => {
                    let token = token(route, &value).map_err(StartError::step("making a token"))?;
                    held.values.push((variable, SecretValue::from(token.clone())));
                    Some(RouteCredential { value: Zeroizing::new(value.as_bytes().to_vec()), token })
                }
            };
            held.routes.push(spec(route, credential));
        }
        Ok(held)
    }

    /// Takes what the egress proxy gets.
    pub(crate) fn take_routes(&mut self) -> Vec<RouteSpec> {
        mem::take(&mut self.routes)
    }
}

fn spec(route: &Route, credential: Option<RouteCredential>) -> RouteSpec {
    RouteSpec { name: route.name.clone(), upstream: route.upstream.clone(), credential }
}

/// Makes a token of this one sandbox's, which begins like the credential that it stands for: clients look.
fn token(route: &Route, credential: &SecretValue) -> io::Result<Zeroizing<Vec<u8>>> {
    // What is no text begins like nothing.
    let text = std::str::from_utf8(credential.as_bytes()).unwrap_or_default();
    let prefix = match &route.upstream {
        RouteUpstream::Provider(name) => {
            let form = CredentialProvider::named(name).and_then(|provider| provider.form(text));
            form.map_or("", |form| form.token_prefix)
        }
        RouteUpstream::Intercepted(_) => HostedProvider::token_prefix(text),
        RouteUpstream::Custom { .. } => "",
    };
    let mut random = [0; TOKEN_BYTES];
    getrandom(&mut random, GetRandomFlags::empty())?;
    // All at once: nothing grows, and leaves a copy behind.
    let mut token = Zeroizing::new(Vec::with_capacity(prefix.len() + 2 * TOKEN_BYTES));
    token.extend_from_slice(prefix.as_bytes());
    token.extend(
        random
            .iter()
            .flat_map(|byte| [HEXADECIMAL[usize::from(byte >> 4)], HEXADECIMAL[usize::from(byte & 15)]]),
    );
    Ok(token)
}

impl Deref for HeldSecrets {
    type Target = [(String, SecretValue)];

    fn deref(&self) -> &Self::Target {
        &self.values
    }
}
