//! The certificate authority of one sandbox: it signs for the hosts to which TLS is intercepted, and its key is nowhere but in the memory
//! of this process.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use policy::rules::network::{Host, HostPattern};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use rustls::crypto::ring::{default_provider, sign};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{ServerConfig, server};
use tokio_rustls::TlsAcceptor;

use self::certificate::{Certificate, Kind};

mod certificate;

/// What it is called.
const NAME: &str = "sandboxctl: one sandbox";

/// For how long before now certificates hold, and for how long after it: clocks differ, and a sandbox may live for long.
const BEFORE: Duration = Duration::from_secs(24 * 3600);
const AUTHORITY_LIFE: Duration = Duration::from_secs(5 * 365 * 24 * 3600);
const LEAF_LIFE: Duration = Duration::from_secs(48 * 3600);

/// After how long a leaf is issued again.
const LEAF_AGE: Duration = Duration::from_secs(12 * 3600);

/// How many leaves are kept. With a pattern such as `*.example.org` the sandbox chooses names.
const MAX_LEAVES: usize = 256;

/// How long a line of PEM is (RFC 7468).
const PEM_LINE: usize = 64;

/// Why there is no authority.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error("`{0}` is an address, and TLS is intercepted by names")]
    Address(HostPattern),
    #[error("making a key or a signature: {0}")]
    Cryptography(&'static str),
    #[error("writing a certificate: {0}")]
    Certificate(#[from] x509_cert::der::Error),
    /// The library of TLS does not take what was made.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

impl From<ring::error::Unspecified> for AuthorityError {
    fn from(_: ring::error::Unspecified) -> Self {
        Self::Cryptography("no reason is known")
    }
}

impl From<ring::error::KeyRejected> for AuthorityError {
    fn from(_: ring::error::KeyRejected) -> Self {
        Self::Cryptography("the key is rejected")
    }
}

/// An authority, good for some names alone.
pub struct Authority {
    hosts: Vec<HostPattern>,
    certificate: Vec<u8>,
    key: EcdsaKeyPair,
    key_id: Vec<u8>,
    /// The one key of all leaves.
    leaf_key: Arc<dyn SigningKey>,
    leaf_public: Vec<u8>,
    random: SystemRandom,
    leaves: Mutex<HashMap<String, (Instant, Arc<CertifiedKey>)>>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl Authority {
    /// Makes one for these hosts, with a key of its own.
    ///
    /// # Errors
    ///
    /// One of them is an address, or there is no randomness.
    pub fn new(hosts: Vec<HostPattern>) -> Result<Arc<Self>, AuthorityError> {
        let random = SystemRandom::new();
        let (_, key) = new_key(&random)?;
        let (leaf_pkcs8, leaf_key) = new_key(&random)?;
        let key_id = digest(&SHA256, key.public_key().as_ref()).as_ref()[..20].to_vec();
        let names: Vec<&str> = hosts.iter().map(constraint).collect::<Result<_, _>>()?;
        let kind = Kind::Authority { key_id: &key_id, names: &names };
        let certificate = issue(&random, &key, NAME, key.public_key().as_ref(), kind, AUTHORITY_LIFE)?;
        let leaf_public = leaf_key.public_key().as_ref().to_vec();
        let leaf_key = sign::any_ecdsa_type(&PrivateKeyDer::Pkcs8(leaf_pkcs8))?;
        let leaves = Mutex::default();
        Ok(Arc::new(Self { hosts, certificate, key, key_id, leaf_key, leaf_public, random, leaves }))
    }

    /// Returns its certificate in PEM (RFC 7468).
    pub fn to_pem(&self) -> String {
        let text = STANDARD.encode(&self.certificate);
        let lines: Vec<&str> = text
            .as_bytes()
            .chunks(PEM_LINE)
            // The alphabet of base64 is ASCII.
            .map(|line| std::str::from_utf8(line).unwrap_or_default())
            .collect();
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
    }

    /// Returns whether TLS to this host is intercepted.
    pub fn intercepts(&self, host: &str, port: u16) -> bool {
        host.parse().is_ok_and(|host: Host| self.hosts.iter().any(|pattern| pattern.matches(&host, port)))
    }

    /// Makes what answers TLS in place of these hosts.
    pub(crate) fn acceptor(self: &Arc<Self>) -> Result<TlsAcceptor, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(Leaves(Arc::clone(self))));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.session_storage = server::ServerSessionMemoryCache::new(MAX_LEAVES);
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Returns the certificate of a name, with its key.
    fn leaf(&self, name: &str) -> Result<Arc<CertifiedKey>, AuthorityError> {
        let name = name.to_ascii_lowercase();
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made, leaf)) = leaves.get(&name) {
            if made.elapsed() < LEAF_AGE {
                return Ok(Arc::clone(leaf));
            }
        }
        let kind = Kind::Server { issuers_key_id: &self.key_id, name: &name };
        let certificate = issue(&self.random, &self.key, "sandboxctl", &self.leaf_public, kind, LEAF_LIFE)?;
        let chain = vec![CertificateDer::from(certificate)];
        let leaf = Arc::new(CertifiedKey::new(chain, Arc::clone(&self.leaf_key)));
        if leaves.len() >= MAX_LEAVES {
            let oldest = leaves.iter().min_by_key(|(_, (made, _))| *made).map(|(name, _)| name.clone());
            oldest.map(|name| leaves.remove(&name));
        }
        leaves.insert(name, (Instant::now(), Arc::clone(&leaf)));
        Ok(leaf)
    }
}

/// What finds the leaf for the name that a client asks for.
#[derive(Debug)]
struct Leaves(Arc<Authority>);

impl ResolvesServerCert for Leaves {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.leaf(hello.server_name()?).ok()
    }
}

fn new_key(random: &SystemRandom) -> Result<(PrivatePkcs8KeyDer<'static>, EcdsaKeyPair), AuthorityError> {
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, random)?;
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), random)?;
    Ok((PrivatePkcs8KeyDer::from(pkcs8.as_ref().to_vec()), key))
}

/// Returns what is permitted for the names of a pattern: it permits those below it as well.
fn constraint(pattern: &HostPattern) -> Result<&str, AuthorityError> {
    match pattern {
        HostPattern::Exact { host: Host::Name(name), .. } | HostPattern::Below { suffix: name, .. } => {
            Ok(name)
        }
        HostPattern::Exact { host: Host::Address(_), .. } => Err(AuthorityError::Address(pattern.clone())),
    }
}

/// Makes a certificate that holds for so long.
fn issue(
    random: &SystemRandom,
    key: &EcdsaKeyPair,
    subject: &str,
    public: &[u8],
    kind: Kind<'_>,
    life: Duration,
) -> Result<Vec<u8>, AuthorityError> {
    let mut serial = [0; 16];
    random.fill(&mut serial)?;
    // Neither negative nor with a zero in front.
    serial[0] = serial[0] & 0x3f | 0x40;
    let now = SystemTime::now();
    let (from, until) = (now - BEFORE, now + life);
    let certificate = Certificate { serial: &serial, issuer: NAME, subject, from, until, key: public, kind };
    certificate.signed(|to_be_signed| Ok(key.sign(random, to_be_signed)?.as_ref().to_vec()))
}

#[cfg(test)]
mod tests {
    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{ServerName, UnixTime};

    use super::*;

    fn authority(hosts: &[&str]) -> Arc<Authority> {
        Authority::new(hosts.iter().map(|host| host.parse().unwrap()).collect()).unwrap()
    }

    /// Returns what a client says of the leaf for a name.
    fn verified(authority: &Authority, leaf: &CertifiedKey, name: &str) -> Result<(), rustls::Error> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.to_pem().as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(default_provider());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        verifier.verify_server_cert(&leaf.cert[0], &[], &name, &[], UnixTime::now()).map(drop)
    }

    #[test]
    fn a_leaf_is_believed_for_its_name_and_for_no_other() {
        let authority = authority(&["api.example.org", "*.wild.example.org:443"]);
        for name in ["api.example.org", "a.wild.example.org"] {
            let leaf = authority.leaf(name).unwrap();
            assert_eq!(verified(&authority, &leaf, name), Ok(()), "{name}");
            assert!(verified(&authority, &leaf, "other.wild.example.org").is_err(), "{name}");
        }
        assert!(Arc::ptr_eq(
            &authority.leaf("api.example.org").unwrap(),
            &authority.leaf("API.example.org").unwrap()
        ));
    }

    #[test]
    fn the_authority_is_good_for_its_hosts_alone() {
        let authority = authority(&["api.example.org"]);
        for name in ["example.org", "other.example.org", "xapi.example.org", "example.com"] {
            let leaf = authority.leaf(name).unwrap();
            let said = verified(&authority, &leaf, name).unwrap_err().to_string();
            assert!(said.contains("NameConstraintViolation"), "{name}: {said}");
        }
        let other = self::authority(&["api.example.org"]);
        assert!(verified(&other, &authority.leaf("api.example.org").unwrap(), "api.example.org").is_err());
        let address = vec!["192.0.2.1".parse().unwrap()];
        assert!(matches!(Authority::new(address), Err(AuthorityError::Address(_))));
    }

    #[test]
    fn leaves_are_bounded() {
        let authority = authority(&["*.example.org"]);
        for number in 0..MAX_LEAVES + 10 {
            authority.leaf(&format!("host{number}.example.org")).unwrap();
        }
        assert_eq!(authority.leaves.lock().unwrap().len(), MAX_LEAVES);
    }

    #[test]
    fn no_key_is_shown() {
        let shown = format!("{:?}", authority(&["api.example.org"]));
        assert!(shown.contains("api.example.org") && !shown.contains("key"), "{shown}");
    }
}
