"""The certificate of HTTPS: made once for this machine and kept in the data folder, or handed in.

It names localhost, the host name, 127.0.0.1 and ::1, and signs itself, so that it can be put into a trust store as it
is. It is made at the first TLS connection or when somebody asks for it: starting does not wait for it. Workers that
want it at the same time end with the same one. In memory it lives as long as the process. A server that starts shortly
before its end makes it anew, and none changes it while it runs.

`export_pem`, `export_pfx` and `export_jks` are what `armillary cert` writes. A Java trust store of one certificate is a
short file, so it is written here, in the JKS format every Java reads.
"""

import hashlib
import socket
import ssl
import struct
import tempfile
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from armillary.errors import Kind, Refusal
from armillary.server.keys import take_turns, write_private

__all__ = ["Certificate", "Pair", "export_jks", "export_pem", "export_pfx", "make_pair"]

_LIFE: Final = timedelta(days=820)  # some systems trust no longer ones
_RENEWED_BEFORE: Final = timedelta(days=30)
_ALIAS: Final = "armillary"


class Pair(NamedTuple):
    """A certificate and its private key, in PEM."""

    certificate: bytes
    key: bytes


class Certificate:
    """Where the pair comes from. Its methods may make it, so they are slow once; any thread may call them."""

    def __init__(self, folder: Path | None, given: tuple[Path, Path] | None = None) -> None:
        self._since = datetime.now(UTC)
        self._folder = folder
        self._given = given
        self._lock = Lock()
        self._pair: Pair | None = None
        self._context: ssl.SSLContext | None = None

    def find_pair(self) -> Pair:
        with self._lock:
            return self._find_pair()

    def find_context(self) -> ssl.SSLContext:
        with self._lock:
            if self._context is None:
                self._context = _build_context(self._find_pair())
            return self._context

    def _find_pair(self) -> Pair:
        if self._pair is None:
            if self._given is not None:
                self._pair = _read_given(*self._given)
            elif self._folder is not None:
                self._pair = _load_or_make(self._folder, self._since)
            else:
                self._pair = make_pair()
        return self._pair


def _read_given(certificate: Path, key: Path) -> Pair:
    try:
        return Pair(certificate.read_bytes(), key.read_bytes())
    except OSError as error:
        raise Refusal(Kind.BAD_DEFINITION, what="certificate", reason=str(error)) from None


def _load_or_make(folder: Path, since: datetime) -> Pair:
    """The kept pair; certificate and key are one file, so they cannot part.

    Whether it is still good is judged by the moment at which the server started, which all its workers share.
    """
    file = folder / "certificate.pem"
    with take_turns(folder):
        if file.exists():
            certificate, mark, key = file.read_bytes().partition(b"-----BEGIN PRIVATE KEY-----")
            if mark and not _ends_soon(certificate, since):
                return Pair(certificate, mark + key)
        pair = make_pair()
        write_private(file, pair.certificate + pair.key)
        return pair


def _ends_soon(certificate: bytes, since: datetime) -> bool:
    from cryptography import x509  # late: heavy, and only TLS needs it

    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc - since < _RENEWED_BEFORE


def make_pair() -> Pair:
    """A new key and a certificate of it, signed by itself, for every name of this machine."""
    from cryptography import x509  # late: heavy, and only TLS needs it
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName(host) for host in dict.fromkeys(("localhost", _host_name()))]
    addresses = [x509.IPAddress(ip_address(address)) for address in ("127.0.0.1", "::1")]
    subject = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    # It signs itself and nothing else: as an authority of one certificate, every trust store takes it.
    usage = x509.KeyUsage(True, False, False, False, False, True, False, False, False)
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectAlternativeName([*names, *addresses]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(subject, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier(subject.digest, None, None), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Pair(certificate.public_bytes(serialization.Encoding.PEM), private)


def _host_name() -> str:
    """The host name where it can stand in a certificate."""
    name = socket.gethostname()
    return name if name.isascii() and 0 < len(name) < 64 else "localhost"


def _build_context(pair: Pair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # The module reads pairs from files only; a folder of our own is closed to others.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pair.pem")
        write_private(file, pair.certificate + pair.key)
        try:
            context.load_cert_chain(file)
        except ssl.SSLError as error:
            raise Refusal(Kind.BAD_DEFINITION, what="certificate", reason=str(error)) from None
    return context


def export_pem(pair: Pair) -> bytes:
    """The certificate alone."""
    return pair.certificate


def export_pfx(pair: Pair, password: str) -> bytes:
    """Certificate and private key in one PKCS #12 file."""
    from cryptography import x509  # late: heavy, and only TLS needs it
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    from cryptography.hazmat.primitives.serialization import pkcs12

    key = serialization.load_pem_private_key(pair.key, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey):
        raise Refusal(Kind.BAD_DEFINITION, what="private key", reason="its kind has no place in a PFX file")
    return pkcs12.serialize_key_and_certificates(
        _ALIAS.encode(),
        key,
        x509.load_pem_x509_certificate(pair.certificate),
        None,
        serialization.BestAvailableEncryption(password.encode()),
    )


def export_jks(pair: Pair, password: str) -> bytes:
    """A Java trust store that holds the certificate.

    magic, version 2, count | tag 2 (trusted), alias, milliseconds, "X.509", length, DER | SHA-1 over password and all
    """
    der = ssl.PEM_cert_to_DER_cert(pair.certificate.decode())
    made = int(datetime.now(UTC).timestamp() * 1000)
    store = struct.pack(">IIII", 0xFEEDFEED, 2, 1, 2) + _write_text(_ALIAS) + struct.pack(">Q", made)
    store += _write_text("X.509") + struct.pack(">I", len(der)) + der
    seal = hashlib.sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + store, usedforsecurity=False)
    return store + seal.digest()


def _write_text(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()
