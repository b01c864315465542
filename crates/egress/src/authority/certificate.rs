//! Certificates (RFC 5280): that of an authority, which is good for some names alone, and those of servers that it signs.

use std::time::SystemTime;

use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::certificate::{CertificateInner, TbsCertificate, Version};
use x509_cert::der::asn1::{BitString, GeneralizedTime, Ia5String, OctetString, SetOfVec, UtcTime};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::oid::db::rfc4519::COMMON_NAME;
use x509_cert::der::oid::db::rfc5280::ID_KP_SERVER_AUTH;
use x509_cert::der::oid::db::rfc5912::{ECDSA_WITH_SHA_256, ID_EC_PUBLIC_KEY, SECP_256_R_1};
use x509_cert::der::{Any, DateTime, Encode, Result, Tag};
use x509_cert::ext::pkix::constraints::name::GeneralSubtree;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages, NameConstraints,
    SubjectAltName, SubjectKeyIdentifier,
};
use x509_cert::ext::{AsExtension, Extension, Extensions};
use x509_cert::name::{Name, RdnSequence, RelativeDistinguishedName};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};
use x509_cert::time::{Time, Validity};

/// What a certificate says.
pub(super) struct Certificate<'a> {
    /// Not negative, and not 0.
    pub(super) serial: &'a [u8],
    pub(super) issuer: &'a str,
    pub(super) subject: &'a str,
    pub(super) from: SystemTime,
    pub(super) until: SystemTime,
    /// A point of P-256, uncompressed.
    pub(super) key: &'a [u8],
    pub(super) kind: Kind<'a>,
}

/// Whom a certificate is for.
pub(super) enum Kind<'a> {
    /// An authority, which signs for these names and those below them, for no address and for no other authority.
    Authority { key_id: &'a [u8], names: &'a [&'a str] },
    /// The server of one name.
    Server { issuers_key_id: &'a [u8], name: &'a str },
}

impl Certificate<'_> {
    /// Returns it with its signature (ECDSA with SHA-256).
    pub(super) fn signed<E: From<x509_cert::der::Error>>(
        &self,
        sign: impl FnOnce(&[u8]) -> std::result::Result<Vec<u8>, E>,
    ) -> std::result::Result<Vec<u8>, E> {
        let algorithm = AlgorithmIdentifierOwned { oid: ECDSA_WITH_SHA_256, parameters: None };
        let tbs_certificate = self.to_be_signed(algorithm.clone())?;
        let signature = sign(&tbs_certificate.to_der()?)?;
        let signature = BitString::from_bytes(&signature)?;
        let certificate = CertificateInner { tbs_certificate, signature_algorithm: algorithm, signature };
        Ok(certificate.to_der()?)
    }

    fn to_be_signed(&self, signature: AlgorithmIdentifierOwned) -> Result<TbsCertificate> {
        let subject = name(self.subject)?;
        let curve = Any::encode_from(&SECP_256_R_1)?;
        Ok(TbsCertificate {
            version: Version::V3,
            serial_number: SerialNumber::new(self.serial)?,
            signature,
            issuer: name(self.issuer)?,
            validity: Validity { not_before: time(self.from)?, not_after: time(self.until)? },
            subject_public_key_info: SubjectPublicKeyInfoOwned {
                algorithm: AlgorithmIdentifierOwned { oid: ID_EC_PUBLIC_KEY, parameters: Some(curve) },
                subject_public_key: BitString::from_bytes(self.key)?,
            },
            issuer_unique_id: None,
            subject_unique_id: None,
            extensions: Some(self.kind.extensions(&subject)?),
            subject,
        })
    }
}

impl Kind<'_> {
    fn extensions(&self, subject: &Name) -> Result<Extensions> {
        let extension = |content: &dyn ToExtension| content.to(subject);
        match self {
            Self::Authority { key_id, names } => {
                let names = names.iter().map(|name| Ia5String::new(name).map(GeneralName::DnsName));
                let permitted = names.map(|name| name.map(subtree)).collect::<Result<_>>()?;
                // Every address, of both versions: an address and its mask.
                let addresses = [OctetString::new([0; 8])?, OctetString::new([0; 32])?];
                let excluded = addresses.map(|address| subtree(GeneralName::IpAddress(address))).to_vec();
                [
                    extension(&BasicConstraints { ca: true, path_len_constraint: Some(0) }),
                    extension(&KeyUsage(KeyUsages::KeyCertSign | KeyUsages::CRLSign)),
                    extension(&NameConstraints {
                        permitted_subtrees: Some(permitted),
                        excluded_subtrees: Some(excluded),
                    }),
                    extension(&SubjectKeyIdentifier(OctetString::new(*key_id)?)),
                ]
                .into_iter()
                .collect()
            }
            Self::Server { issuers_key_id, name } => {
                let key_identifier = Some(OctetString::new(*issuers_key_id)?);
                [
                    extension(&BasicConstraints { ca: false, path_len_constraint: None }),
                    extension(&KeyUsage(KeyUsages::DigitalSignature.into())),
                    extension(&ExtendedKeyUsage(vec![ID_KP_SERVER_AUTH])),
                    extension(&SubjectAltName(vec![GeneralName::DnsName(Ia5String::new(name)?)])),
                    extension(&AuthorityKeyIdentifier { key_identifier, ..Default::default() }),
                ]
                .into_iter()
                .collect()
            }
        }
    }
}

/// The contents of an extension, of any type.
trait ToExtension {
    fn to(&self, subject: &Name) -> Result<Extension>;
}

impl<T: AsExtension> ToExtension for T {
    fn to(&self, subject: &Name) -> Result<Extension> {
        self.to_extension(subject, &[])
    }
}

fn subtree(base: GeneralName) -> GeneralSubtree {
    GeneralSubtree { base, minimum: 0, maximum: None }
}

fn name(common_name: &str) -> Result<Name> {
    let value = Any::new(Tag::Utf8String, common_name.as_bytes())?;
    let oid: ObjectIdentifier = COMMON_NAME;
    let attributes = SetOfVec::try_from(vec![AttributeTypeAndValue { oid, value }])?;
    Ok(RdnSequence(vec![RelativeDistinguishedName(attributes)]))
}

/// Returns a time with two digits of the year until 2049, with four later (RFC 5280, section 4.1.2.5).
fn time(time: SystemTime) -> Result<Time> {
    let time = DateTime::from_system_time(time)?;
    let short = UtcTime::from_date_time(time).map(Time::UtcTime);
    Ok(short.unwrap_or_else(|_| Time::GeneralTime(GeneralizedTime::from_date_time(time))))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn the_year_has_four_digits_from_2050_on() {
        for (seconds, written) in [(2_524_607_999, "491231235959Z"), (2_524_608_000, "20500101000000Z")] {
            let time = time(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap().to_der().unwrap();
            assert_eq!(std::str::from_utf8(&time[2..]), Ok(written), "{seconds}");
        }
    }
}
