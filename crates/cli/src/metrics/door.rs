// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who may read at the port: TLS, certificates of clients, and a bearer token.

use std::sync::Arc;

use anyhow::Context as _;
use ccctl_core::configuration::{MetricsPort, Tls};
use hyper::header::{HeaderMap, AUTHORIZATION};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

/// What a connection passes.
pub struct Door {
    /// None: it is not encrypted.
    pub tls: Option<TlsAcceptor>,
    /// Do clients prove who they are?
    pub knows_clients: bool,
    token: Option<String>,
}

impl Door {
    /// That of a port.
    ///
    /// # Errors
    /// Where the texts are not a certificate and its key, or not authorities.
    pub fn new(port: &MetricsPort) -> anyhow::Result<Self> {
        let tls = port.tls.as_ref().map(acceptor).transpose()?;
        Ok(Self { tls, knows_clients: port.knows_clients(), token: port.token.clone() })
    }

    /// Does the request bring the token, where one is asked for?
    pub fn lets_in(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        given.and_then(|value| value.strip_prefix("Bearer ")).is_some_and(|given| is_same(given.trim(), token))
    }
}

/// Takes as long for any text of the same length: how long a comparison takes must not tell how much of a guess is right.
fn is_same(given: &str, token: &str) -> bool {
    let difference = given.bytes().zip(token.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    given.len() == token.len() && std::hint::black_box(difference) == 0
}

fn acceptor(tls: &Tls) -> anyhow::Result<TlsAcceptor> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificates = certificates(&tls.certificate).context("tls_certificate")?;
    let key = PrivateKeyDer::from_pem_slice(&tls.key).context("tls_key")?;
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let builder = match &tls.client_ca {
        None => builder.with_no_client_auth(),
        Some(authorities) => {
            let mut roots = RootCertStore::empty();
            for authority in self::certificates(authorities).context("tls_client_ca")? {
                roots.add(authority).context("tls_client_ca")?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.context("tls_client_ca")?)
        }
    };
    let config = builder.with_single_cert(certificates, key).context("tls_certificate and tls_key")?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(pem: &[u8]) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let all: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>()?;
    anyhow::ensure!(!all.is_empty(), "there is no certificate in it");
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_opens() {
        let door = Door { tls: None, knows_clients: true, token: Some("0123456789abcdef".to_owned()) };
        let asks = |value: &str| {
            let value = value.parse().expect("a header's value");
            door.lets_in(&HeaderMap::from_iter([(AUTHORIZATION, value)]))
        };
        assert!(asks("Bearer 0123456789abcdef") && asks("Bearer  0123456789abcdef"));
        for wrong in [
            "0123456789abcdef",
            "Bearer",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdeff",
            "Basic 0123456789abcdef",
        ] {
            assert!(!asks(wrong), "{wrong}");
        }
        assert!(!door.lets_in(&HeaderMap::new()));
    }
}
