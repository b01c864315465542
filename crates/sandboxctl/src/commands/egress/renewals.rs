//! Credentials that a server has refused: the client is asked what their sources have now, in a thread of the proxy's own.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use confine::protocol::{ControlSocket, RenewedValue, RouteCredential, RouteSpec};
use egress::proxy::Proxy;
use policy::plan::RouteUpstream;
use zeroize::Zeroizing;

use super::routes::{credited, route};

/// How many refusals may wait. They are for the same few routes.
const MAX_WAITING: usize = 16;

/// What asks for values.
pub(super) struct Renewals {
    /// Leads to the client, which reads them, and says how often.
    client: ControlSocket,
    rejected: Receiver<String>,
    /// The routes that have a credential, with the token and no value.
    routes: Vec<(RouteSpec, Zeroizing<Vec<u8>>)>,
}

impl Renewals {
    /// Makes it, and what takes the names of routes whose credential was refused.
    pub(super) fn new(client: ControlSocket, routes: &[RouteSpec]) -> (SyncSender<String>, Self) {
        let bare = |route: &RouteSpec| {
            let token = route.credential.as_ref()?.token.clone();
            let (name, upstream) = (route.name.clone(), route.upstream.clone());
            Some((RouteSpec { name, upstream, credential: None }, token))
        };
        let (sender, rejected) = sync_channel(MAX_WAITING);
        (sender, Self { client, rejected, routes: routes.iter().filter_map(bare).collect() })
    }

    /// Asks for as long as there is a client who answers.
    pub(super) fn serve(mut self, proxy: &Proxy) {
        while let Ok(name) = self.rejected.recv() {
            match self.ask(&name) {
                // One that cannot stand in a header is no better than the one that was refused.
                Ok(Some(renewed)) if matches!(renewed.upstream, RouteUpstream::Intercepted(_)) => {
                    drop(credited(renewed).map(|credited| proxy.renew_credited(&name, credited)));
                }
                Ok(Some(renewed)) => drop(route(renewed).map(|route| proxy.renew(route))),
                Ok(None) => {}
                Err(_) => return,
            }
        }
    }

    fn ask(&mut self, name: &str) -> io::Result<Option<RouteSpec>> {
        let Some((bare, token)) = self.routes.iter().find(|(route, _)| route.name == name) else {
            return Ok(None);
        };
        self.client.send(&name, &[])?;
        let value: RenewedValue = self.client.receive()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(value.map(|value| RouteSpec {
            name: bare.name.clone(),
            upstream: bare.upstream.clone(),
            credential: Some(RouteCredential { value, token: token.clone() }),
        }))
    }
}
