// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where Prometheus scrapes, and how it proves who it is. The contents of files are read here: what a reload brings is another
//! port where a certificate was renewed.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use toml::Spanned;

use super::file::{self, wrong, Place};
use crate::trust::{self, Trust, Unread};

/// Certificates and tokens are smaller.
const MOST_BYTES: u64 = 1 << 20;

/// Where to listen.
#[derive(Clone, PartialEq, Eq)]
pub struct MetricsPort {
    /// Address and port.
    pub address: SocketAddr,
    /// How it is encrypted; none: it is not, which only the loopback may be.
    pub tls: Option<Tls>,
    /// What clients must send as bearer token.
    pub token: Option<String>,
}

/// PEM texts.
#[derive(Clone, PartialEq, Eq)]
pub struct Tls {
    /// Certificate, and those between it and its authority.
    pub certificate: Vec<u8>,
    /// Its key.
    pub key: Vec<u8>,
    /// Authorities whose clients may read; none: any client may connect.
    pub client_ca: Option<Vec<u8>>,
}

/// Without the secrets.
impl fmt::Debug for MetricsPort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (TLS: {}, token: {})", self.address, self.tls.is_some(), self.token.is_some())
    }
}

impl MetricsPort {
    /// Where it is, as one types it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}/metrics", if self.tls.is_some() { "https" } else { "http" }, self.address)
    }

    /// Does a client prove who it is?
    #[must_use]
    pub fn knows_clients(&self) -> bool {
        self.token.is_some() || self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some())
    }
}

/// The port of a file. Metrics tell of cgroups and what they do: the network gets them encrypted, and only who may.
pub(super) fn check(place: &Place<'_>, metrics: &file::Metrics) -> anyhow::Result<Option<MetricsPort>> {
    let tls = tls(place, metrics)?;
    let token = metrics.token_file.as_ref().map(|file| token(place, file)).transpose()?;
    let Some(listen) = &metrics.listen else {
        let files = [&metrics.tls_certificate, &metrics.token_file];
        if let Some(file) = files.into_iter().flatten().next() {
            return Err(wrong(
                place,
                file.span().start,
                "this is for a port, and there is no listen",
                "listen = \"[::]:9877\"",
            ));
        }
        return Ok(None);
    };
    let text = listen.get_ref();
    let Some(address) = text.parse::<SocketAddr>().ok().filter(|address| address.port() > 0) else {
        let cause = format!("{text:?} is not an address and port");
        return Err(wrong(place, listen.span().start, cause, "listen = \"127.0.0.1:9877\", or \"[::1]:9877\""));
    };
    let port = MetricsPort { address, tls, token };
    if !address.ip().is_loopback() && (port.tls.is_none() || !port.knows_clients()) {
        let cause = format!("{text} is not a loopback address: it needs TLS, and a token or client certificates");
        let remedy = "tls_certificate, tls_key, and token_file or tls_client_ca; or listen = \"127.0.0.1:9877\"";
        return Err(wrong(place, listen.span().start, cause, remedy));
    }
    Ok(Some(port))
}

fn tls(place: &Place<'_>, metrics: &file::Metrics) -> anyhow::Result<Option<Tls>> {
    match (&metrics.tls_certificate, &metrics.tls_key) {
        (Some(certificate), Some(key)) => Ok(Some(Tls {
            certificate: read(place, "tls_certificate", certificate)?,
            key: read(place, "tls_key", key)?,
            client_ca: metrics.tls_client_ca.as_ref().map(|file| read(place, "tls_client_ca", file)).transpose()?,
        })),
        (Some(alone), None) => Err(without(place, alone, "tls_certificate", "tls_key")),
        (None, Some(alone)) => Err(without(place, alone, "tls_key", "tls_certificate")),
        (None, None) => match &metrics.tls_client_ca {
            Some(alone) => Err(without(place, alone, "tls_client_ca", "tls_certificate")),
            None => Ok(None),
        },
    }
}

fn without(place: &Place<'_>, file: &Spanned<PathBuf>, key: &str, missing: &str) -> anyhow::Error {
    let cause = format!("{key} is given without {missing}");
    wrong(place, file.span().start, cause, format!("{missing} = \"/etc/ccctl/...\""))
}

/// A token is one line.
fn token(place: &Place<'_>, file: &Spanned<PathBuf>) -> anyhow::Result<String> {
    let text = String::from_utf8(read(place, "token_file", file)?).unwrap_or_default();
    let token = text.trim();
    if token.len() < 16 || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let cause = format!("token_file: {} has no token of 16 characters or more", file.get_ref().display());
        return Err(wrong(place, file.span().start, cause, "openssl rand -hex 32 makes one"));
    }
    Ok(token.to_owned())
}

/// Others than root must not be able to change what is read here.
fn read(place: &Place<'_>, key: &str, file: &Spanned<PathBuf>) -> anyhow::Result<Vec<u8>> {
    trust::read(file.get_ref(), MOST_BYTES, Trust::of_option(false)).map_err(|unread| {
        let (cause, remedy) = match unread {
            Unread::Failed(error) => (error.to_string(), format!("{key} is the absolute path of a PEM file or token")),
            Unread::Refused(fault) => (fault.cause.clone(), fault.remedy.clone().unwrap_or_default()),
        };
        wrong(place, file.span().start, format!("{key}: read {}: {cause}", file.get_ref().display()), remedy)
    })
}
