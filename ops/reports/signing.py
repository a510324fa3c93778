"""Sign a PDF with a person's or the house's certificate, as PAdES has it, so that every reader sees who made it.

The key is a PKCS#12 file (.p12, .pfx), or a PEM file with the key and its certificate; its passphrase comes from a file
or from nowhere; no message says it.  A signature names its time, so a signed report is not the same bytes twice; what
was signed is.

Not here: making a certificate (openssl does), the PDF itself (`ops.reports.render.pdf`).
"""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import NoEncryption, load_pem_private_key, pkcs12

from ops.reports.building import ReportError

if TYPE_CHECKING:
    from pyhanko.sign.signers import SimpleSigner


class _Identity(NamedTuple):
    key: RSAPrivateKey | EllipticCurvePrivateKey
    certificate: x509.Certificate
    chain: list[x509.Certificate]


def sign_pdf(pdf: bytes, key_file: Path, passphrase_file: Path | None, reason: str) -> bytes:
    """The PDF with a signature over all of it.  Raises ReportError, OSError."""
    passphrase = None if passphrase_file is None else passphrase_file.read_bytes().rstrip(b"\r\n")
    identity = _identity(key_file, passphrase)
    try:
        from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
        from pyhanko.sign import fields, signers
    except ModuleNotFoundError as error:
        raise ReportError(f"--sign: needs the package {error.name}: pip install 'dealproof[reports]'") from None
    metadata = signers.PdfSignatureMetadata(
        field_name="Dealproof", reason=reason, subfilter=fields.SigSeedSubFilter.PADES, md_algorithm="sha256"
    )
    signed = signers.sign_pdf(IncrementalPdfFileWriter(io.BytesIO(pdf)), metadata, _signer(identity))
    return bytes(signed.getvalue())


def _signer(identity: _Identity) -> SimpleSigner:
    """pyHanko takes a key as PKCS#12; here it never leaves memory."""
    from pyhanko.sign.signers import SimpleSigner

    data = pkcs12.serialize_key_and_certificates(
        None, identity.key, identity.certificate, identity.chain, NoEncryption()
    )
    signer: SimpleSigner = SimpleSigner.load_pkcs12_data(data, other_certs=[])
    return signer


def _identity(path: Path, passphrase: bytes | None) -> _Identity:
    """Key and certificate that belong together and are valid now.  Raises ReportError, OSError."""
    data = path.read_bytes()
    try:
        key, certificates = _pem(data, passphrase) if b"-----BEGIN" in data else _pkcs12(data, passphrase)
    except (ValueError, TypeError):
        # Its own words differ from version to version, and may be about the passphrase.
        text = "is no PKCS#12 or PEM file with a key and a certificate, or needs another passphrase (--passphrase-file)"
        raise ReportError(f"--sign: {path} {text}") from None
    if not isinstance(key, RSAPrivateKey | EllipticCurvePrivateKey):
        raise ReportError(f"--sign: {path} {'lacks the key' if key is None else 'has a key that is not RSA or EC'}")
    own = [each for each in certificates if each.public_key() == key.public_key()]
    if not own:
        lack = "has no certificate of its key" if certificates else "lacks the certificate"
        raise ReportError(f"--sign: {path} {lack}")
    _require_valid_now(path, own[0])
    return _Identity(key, own[0], [each for each in certificates if each != own[0]])


def _pem(data: bytes, passphrase: bytes | None) -> tuple[object, list[x509.Certificate]]:
    return load_pem_private_key(data, passphrase), x509.load_pem_x509_certificates(data)


def _pkcs12(data: bytes, passphrase: bytes | None) -> tuple[object, list[x509.Certificate]]:
    key, certificate, others = pkcs12.load_key_and_certificates(data, passphrase)
    return key, [*([] if certificate is None else [certificate]), *others]


def _require_valid_now(path: Path, certificate: x509.Certificate) -> None:
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    now = datetime.now(UTC)
    if now > end:
        raise ReportError(f"--sign: the certificate in {path} expired at {end:%Y-%m-%d %H:%M} UTC")
    if now < begin:
        raise ReportError(f"--sign: the certificate in {path} begins only at {begin:%Y-%m-%d %H:%M} UTC")
