"""A signed PDF: a reader finds the signature good, and any change of what was signed.

Not here: the PDF itself (`test_render`).
"""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pypdf
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID
from pyhanko.keys import load_certs_from_pemder_data
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.fields import SigSeedSubFilter
from pyhanko.sign.validation import validate_pdf_signature
from pyhanko_certvalidator import ValidationContext

from ops.reports.building import ReportError
from ops.reports.signing import sign_pdf

PASSPHRASE = b"correct horse"
DAY = timedelta(days=1)


class Signer(NamedTuple):
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate


def signer(begin: timedelta = -DAY, end: timedelta = DAY) -> Signer:
    """A person with a certificate of his own, valid from and until so long after now."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Ревизор")])
    usage = x509.KeyUsage(True, True, False, False, False, False, False, False, False)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(7).not_valid_before(now + begin).not_valid_after(now + end)
        .add_extension(usage, critical=True).sign(key, hashes.SHA256())
    )  # fmt: skip
    return Signer(key, certificate)


def in_pkcs12(of: Signer, passphrase: bytes | None = PASSPHRASE) -> bytes:
    encryption = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase)
    return pkcs12.serialize_key_and_certificates(b"reports", of.key, of.certificate, None, encryption)


def in_pem(of: Signer, passphrase: bytes | None = PASSPHRASE) -> bytes:
    encryption = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase)
    key = of.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    return key + of.certificate.public_bytes(Encoding.PEM)


def a_pdf() -> bytes:
    writer, out = pypdf.PdfWriter(), io.BytesIO()
    writer.add_blank_page(100, 100)
    writer.add_metadata({"/Title": "Gaming revenue"})
    writer.write(out)
    return out.getvalue()


def signed(tmp_path: Path, key_file: bytes, passphrase: bytes | None = PASSPHRASE) -> bytes:
    (tmp_path / "key").write_bytes(key_file)
    if passphrase is None:
        return sign_pdf(a_pdf(), tmp_path / "key", None, "Gaming revenue")
    (tmp_path / "passphrase").write_bytes(passphrase + b"\n")
    return sign_pdf(a_pdf(), tmp_path / "key", tmp_path / "passphrase", "Gaming revenue")


def is_good(pdf: bytes, of: Signer) -> bool:
    """What a reader finds who trusts this certificate."""
    [root] = load_certs_from_pemder_data(of.certificate.public_bytes(Encoding.PEM))
    [signature] = PdfFileReader(io.BytesIO(pdf)).embedded_signatures
    status = validate_pdf_signature(signature, ValidationContext(trust_roots=[root]))
    return bool(status.bottom_line)


@pytest.mark.parametrize("packed", [in_pkcs12, in_pem])
@pytest.mark.parametrize("passphrase", [PASSPHRASE, None])
def test_a_signed_pdf_is_found_good(packed: object, passphrase: bytes | None, tmp_path: Path) -> None:
    person = signer()
    assert callable(packed)
    pdf = signed(tmp_path, packed(person, passphrase), passphrase)
    assert pdf.startswith(a_pdf()), "what was signed stands there as it was"
    assert is_good(pdf, person)
    assert not is_good(pdf, signer()), "another person's certificate is trusted, not this one"


def test_a_signature_is_pades_over_the_whole_file(tmp_path: Path) -> None:
    [signature] = PdfFileReader(io.BytesIO(signed(tmp_path, in_pkcs12(signer())))).embedded_signatures
    assert signature.sig_object["/SubFilter"] == SigSeedSubFilter.PADES.value
    assert signature.sig_object["/Reason"] == "Gaming revenue"
    assert signature.compute_integrity_info() is None
    assert signature.coverage is not None
    assert signature.coverage.name == "ENTIRE_FILE"


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    person = signer()
    pdf = signed(tmp_path, in_pkcs12(person))
    changed = pdf.replace(b"(Gaming revenue)", b"(Gaming refunds)", 1)
    assert changed != pdf
    assert len(changed) == len(pdf)
    assert not is_good(changed, person)


def test_a_wrong_passphrase_is_one_line_that_does_not_say_it(tmp_path: Path) -> None:
    for packed in (in_pkcs12, in_pem):
        with pytest.raises(ReportError) as error:
            signed(tmp_path, packed(signer()), b"battery staple")
        assert str(error.value) == (
            f"--sign: {tmp_path / 'key'} is no PKCS#12 or PEM file with a key and a certificate, "
            "or needs another passphrase (--passphrase-file)"
        )
        assert error.value.__cause__ is None
        assert error.value.__suppress_context__


@pytest.mark.parametrize(
    ("data", "passphrase"),
    [
        (b"", None),
        (b"%PDF-1.7", None),
        (in_pem(signer(), None).replace(b"MI", b"IM"), None),  # not what it says
        (in_pkcs12(signer()), None),  # no passphrase was given
        (in_pem(signer()), None),
        (in_pem(signer(), None), PASSPHRASE),  # one was given that it doesn't need
        (in_pem(signer(), None).partition(b"-----BEGIN CERT")[0], None),  # a key alone
    ],
)
def test_a_file_that_is_no_key_is_refused(data: bytes, passphrase: bytes | None, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="is no PKCS#12 or PEM file with a key and a certificate, or needs another"):
        signed(tmp_path, data, passphrase)


def test_a_certificate_of_another_key_is_refused(tmp_path: Path) -> None:
    mixed = Signer(signer().key, signer().certificate)
    with pytest.raises(ReportError, match="has no certificate of its key"):
        signed(tmp_path, in_pem(mixed))


def test_a_key_of_a_kind_that_readers_do_not_know_is_refused(tmp_path: Path) -> None:
    key = ed25519.Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(ReportError, match="has a key that is not RSA or EC"):
        signed(tmp_path, key + signer().certificate.public_bytes(Encoding.PEM), None)


@pytest.mark.parametrize(
    ("begin", "end", "reason"), [(-2 * DAY, -DAY, "expired at 2"), (DAY, 2 * DAY, "begins only at 2")]
)
def test_a_certificate_that_is_not_valid_now_is_refused(
    begin: timedelta, end: timedelta, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ReportError, match=reason):
        signed(tmp_path, in_pkcs12(signer(begin, end)))


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        sign_pdf(a_pdf(), tmp_path / "nowhere", None, "")
