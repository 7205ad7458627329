//! TLS settings of the client: trusted certificates and offered protocols.
//!
//! On this machine any certificate is accepted (test servers use self-signed ones); on others the system's root
//! certificates decide unless `--insecure` was given.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;

/// The certificates that are trusted.
#[derive(Clone, Debug)]
pub(crate) enum Trust {
    /// Any certificate.
    Anyone,
    /// The system's certificate authorities.
    System,
    /// The certificate authorities in a PEM file.
    File(std::path::PathBuf),
}

/// Builds rustls' settings.
///
/// # Errors
/// If no root certificate could be read.
pub(crate) fn config(trust: &Trust, h2: bool, resume: bool) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS: {error}"))?;
    let builder = match trust {
        Trust::Anyone => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unverified(provider))),
        Trust::System => builder.with_root_certificates(system_roots()?),
        Trust::File(path) => builder.with_root_certificates(file_roots(path)?),
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = if h2 {
        vec![b"h2".to_vec()]
    } else {
        vec![b"http/1.1".to_vec()]
    };
    if !resume {
        config.resumption = rustls::client::Resumption::disabled();
    }
    Ok(config)
}

fn system_roots() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err("TLS: this system has no certificate authorities; install ca-certificates, or use --cacert FILE or --insecure".into());
    }
    Ok(roots)
}

fn file_roots(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(path)
        .map_err(|error| format!("--cacert {}: {error}", path.display()))?;
    for certificate in certificates {
        let certificate =
            certificate.map_err(|error| format!("--cacert {}: {error}", path.display()))?;
        roots
            .add(certificate)
            .map_err(|error| format!("--cacert {}: {error}", path.display()))?;
    }
    if roots.is_empty() {
        return Err(format!(
            "--cacert {}: the file contains no certificate",
            path.display()
        ));
    }
    Ok(roots)
}

/// A verifier that accepts every certificate but still checks that the peer holds its key.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
