//! Tunnels to a host that was asked for by name: what passes first must mean the same host, as where the address stands for the name.

use std::io;
use std::sync::Arc;

use policy::rules::network::Host;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::audit::{Open, Via};
use crate::inside::Inside;
use crate::outside::Outside;
use crate::proxy::Proxy;
use crate::refusal::Refusal;
use crate::tunnel;

/// Passes bytes between a program inside and the host that it has asked for.
pub(crate) async fn pass<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    mut outside: Outside,
    via: Via,
    (host, port): (&str, u16),
    proxy: &Arc<Proxy>,
) -> io::Result<()> {
    let limits = proxy.limits();
    let Ok(Host::Name(name)) = host.parse() else {
        // An address has no name that another one could stand in for.
        return tunnel::pass(&mut stream, &mut outside, limits.idle).await;
    };
    pass_on(Inside::new(stream, name, port, limits.head), outside, via, (host, port), proxy).await
}

/// Passes bytes of a program whose first bytes are classified, or will be.
pub(crate) async fn pass_on<S: AsyncRead + AsyncWrite + Unpin>(
    mut inside: Inside<S>,
    mut outside: Outside,
    via: Via,
    (host, port): (&str, u16),
    proxy: &Arc<Proxy>,
) -> io::Result<()> {
    let limits = proxy.limits();
    let passed = tunnel::pass(&mut inside, &mut outside, limits.idle).await;
    let Some(reason) = inside.refusal() else { return passed };
    let refusal = Refusal::Mismatch(reason.to_owned());
    proxy.audit().refused(&Open::new(via, host, port), &refusal);
    let (protocol, mut stream) = inside.into_parts();
    stream.write_all(&refusal.spoken(protocol, proxy.sandbox(), host, port)).await?;
    stream.shutdown().await
}
