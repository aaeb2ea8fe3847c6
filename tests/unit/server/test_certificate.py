"""The certificate and its exports, as other programs read them."""

import os
import shutil
import socket
import ssl
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12

from armillary.errors import Refusal
from armillary.server.certificate import Certificate, Pair, export_jks, export_pem, export_pfx, make_pair

PASSWORD = "changeit"


@pytest.fixture(scope="module")
def pair() -> Pair:
    return make_pair()


def test_it_names_this_machine(pair: Pair) -> None:
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "localhost" in names.get_values_for_type(x509.DNSName)
    assert socket.gethostname() in names.get_values_for_type(x509.DNSName)
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    left = certificate.not_valid_after_utc - datetime.now(UTC)
    assert timedelta(days=365) < left < timedelta(days=825)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1"])
def test_a_strict_client_trusts_it(pair: Pair, tmp_path: Path, name: str) -> None:
    file = tmp_path / "pair.pem"
    file.write_bytes(pair.certificate + pair.key)
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(file)
    client_context = ssl.create_default_context(cadata=export_pem(pair).decode())
    client_context.verify_flags |= ssl.VERIFY_X509_STRICT
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(incoming, outgoing, server_hostname=name)
    server = server_context.wrap_bio(outgoing, incoming, server_side=True)
    for end in (client, server, client, server):
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    assert client.getpeercert()


def test_a_kept_pair_is_made_once_and_is_private(tmp_path: Path) -> None:
    first = Certificate(tmp_path).find_pair()
    assert Certificate(tmp_path).find_pair() == first
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Certificate(tmp_path).find_context().minimum_version == ssl.TLSVersion.TLSv1_2


def test_many_processes_end_with_one_pair(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from armillary.config import Settings\n"
        "from armillary.server.certificate import Certificate; from armillary.server.keys import find_keys\n"
        "sys.stdin.read(1); folder = Path(sys.argv[1])\n"
        "print(hash((Certificate(folder).find_pair(), find_keys(Settings(data=folder)))))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, tmp_path], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(6)
    ]
    for process in processes:
        assert process.stdin
        process.stdin.write(b"x")
        process.stdin.flush()
    found = {process.communicate(timeout=60)[0] for process in processes}
    assert len(found) == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["certificate.pem", "keys.json"]


def test_threads_end_with_one_pair(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        pairs = list(pool.map(lambda _: Certificate(tmp_path).find_pair(), range(8)))
    assert len(set(pairs)) == 1


@pytest.mark.parametrize("days", [-1, 20])
def test_a_pair_that_ends_soon_is_made_anew(tmp_path: Path, days: int) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    end = datetime.now(UTC) + timedelta(days=days)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, end - timedelta(days=99), end)
    old = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "certificate.pem").write_bytes(old + private)
    assert Certificate(tmp_path).find_pair().certificate != old


def test_a_given_pair_is_used(pair: Pair, tmp_path: Path) -> None:
    files = tmp_path / "c.pem", tmp_path / "k.pem"
    for file, data in zip(files, pair, strict=True):
        file.write_bytes(data)
    given = Certificate(None, files)
    assert given.find_pair() == pair
    assert given.find_context() is given.find_context()
    files[1].write_bytes(make_pair().key)
    with pytest.raises(Refusal):
        Certificate(None, files).find_context()
    files[0].unlink()
    with pytest.raises(Refusal):
        Certificate(None, files).find_pair()


@pytest.fixture
def keytool() -> str:
    """Java's own reader of trust stores; in CI it must be there."""
    found = shutil.which("keytool")
    if found is None and not os.environ.get("CI"):
        pytest.skip("needs Java: keytool is not on the path")
    assert found is not None
    return found


def test_java_reads_the_trust_store(pair: Pair, tmp_path: Path, keytool: str) -> None:
    store = tmp_path / "trust.jks"
    store.write_bytes(export_jks(pair, PASSWORD))
    listed = subprocess.run(
        [keytool, "-list", "-rfc", "-keystore", store, "-storepass", PASSWORD],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Entry type: trustedCertEntry" in listed.stdout
    assert "".join(pair.certificate.decode().split()) in "".join(listed.stdout.split())


def test_the_pfx_holds_both(pair: Pair) -> None:
    key, certificate, others = pkcs12.load_key_and_certificates(export_pfx(pair, PASSWORD), PASSWORD.encode())
    assert certificate is not None
    assert certificate.public_bytes(serialization.Encoding.PEM) == pair.certificate
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.public_key() == certificate.public_key()
    assert others == []
