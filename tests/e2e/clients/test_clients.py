"""Official clients of other languages against the live server: small tours, and the programs of the guide's pages.

What they need is fetched once into `.cache/clients` and used again. Where a language is not installed its tests are
skipped and say so; on a build server (CI=true) that is a failure.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import pytest
from tests.e2e.live import Live

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[2]
CACHE: Final = ROOT / ".cache" / "clients"
GUIDE: Final = ROOT / "docs" / "guide" / "clients"
NODE_LEAST: Final = 22
NODE_FETCHED: Final = "node@22"
AZCORE: Final = "github.com/Azure/azure-sdk-for-go/sdk/azcore"

TOUR: Final = {
    "javascript": (
        *("database 200", "upsert 201 42.5", "read 200 größe 日本 1", "replace 200 45", "stale 412", "taken 409"),
        *("no key 1002", "ranges 1", "list 2", "query 1", "delete 204", "missing 404 404", "listed true"),
        "gone 404",
    ),
    "go": (
        *("database 409", "upsert 201 42.5", "read 200 größe 日本 1", "replace 200 45", "stale 412", "taken 409"),
        *("query 1", "delete 204", "missing 404", "gone 404"),
    ),
    "java": (
        *("database 200", "upsert 201 42.5", "read 200 größe 日本 1.0", "replace 200 45.0", "stale 412", "taken 409"),
        *("ranges 1", "query 1", "delete 204", "missing 404", "direct 400 true", "gone 404"),
    ),
}

Command: TypeAlias = Sequence[str | Path]
Trusts: TypeAlias = tuple[dict[str, str], ...]


class Place(NamedTuple):
    """Where a program finds the server, and the files it may trust."""

    live: Live
    folder: Path

    @property
    def pem(self) -> Path:
        return self.folder / "armillary.pem"

    @property
    def jks(self) -> Path:
        return self.folder / "armillary.jks"

    def run(self, command: Command, **more: str) -> "subprocess.CompletedProcess[str]":
        environment = {
            **os.environ,
            **self.live.server.environment,
            "TOUR_DATABASE": f"tour-{uuid.uuid4().hex[:12]}",
            **more,
        }
        return run(command, environment, self.folder)

    def must_run(self, command: Command, **more: str) -> tuple[str, ...]:
        done = self.run(command, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return tuple(done.stdout.splitlines())


@pytest.fixture
def place(live: Live, tmp_path: Path) -> Place:
    place = Place(live, tmp_path)
    files: Command = ["--data", live.folder, "--pem", place.pem, "--jks", place.jks]
    made = run([sys.executable, "-P", "-m", "armillary.cli", "cert", *files], os.environ, tmp_path)
    assert made.returncode == 0, made.stderr
    return place


def run(
    command: Command, environment: Mapping[str, str], folder: Path, timeout: float = 300
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False
    )


def need(*programs: str) -> None:
    """Skip where a program is not installed; on a build server that is a failure."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"{' and '.join(missing)} must be installed here")
    if missing:
        pytest.skip(f"{' and '.join(missing)} is not installed")


def fetch_once(name: str, sources: Sequence[Path], fetch: Callable[[Path], None]) -> Path:
    """A folder made from these files, made again only when they have changed."""
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    folder = CACHE / name
    stamp = folder / "made-from"
    if not stamp.is_file() or stamp.read_text() != digest:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        fetch(folder)
        stamp.write_text(digest)
    return folder


def must(command: Command, folder: Path) -> None:
    done = run(command, os.environ, folder, 600)
    assert done.returncode == 0, f"{command}: {done.stdout} {done.stderr}"


def guide_programs(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (GUIDE / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)


# ---- JavaScript


class Node(NamedTuple):
    """The program, and the folder of its modules."""

    program: str
    modules: Path


@pytest.fixture(scope="module")
def node() -> Node:
    need("npm")
    sources = [HERE / "javascript" / "package.json", HERE / "javascript" / "package-lock.json"]

    def fetch(folder: Path) -> None:
        for source in sources:
            shutil.copy(source, folder)
        must(["npm", "ci", "--silent", "--no-audit", "--no-fund"], folder)

    modules = fetch_once("javascript", sources, fetch) / "node_modules"
    program = shutil.which("node")
    version = run([program, "--version"], os.environ, HERE).stdout if program else "v0"
    if program is None or int(version.strip().removeprefix("v").split(".")[0]) < NODE_LEAST:
        program = str(fetch_once("node", sources, fetch_node) / "node_modules" / "node" / "bin" / "node")
    return Node(program, modules)


def fetch_node(folder: Path) -> None:
    (folder / "package.json").write_text("{}")
    must(["npm", "install", "--silent", "--no-audit", "--no-fund", NODE_FETCHED], folder)


def test_javascript(place: Place, node: Node) -> None:
    command: Command = [node.program, HERE / "javascript" / "tour.js"]
    modules = {"NODE_PATH": str(node.modules)}
    http, https = {"TOUR_ENDPOINT": place.live.http}, {"TOUR_ENDPOINT": place.live.https}
    trusts: Trusts = ({}, {"NODE_EXTRA_CA_CERTS": str(place.pem)}, {"TOUR_TRUST": str(place.pem)})
    for endpoint, trust in zip((http, https, https), trusts, strict=True):
        assert place.must_run(command, **modules, **endpoint, **trust) == TOUR["javascript"], trust
    distrusted = place.run(command, **modules, **https)
    assert distrusted.returncode == 1
    assert "DEPTH_ZERO_SELF_SIGNED_CERT" in distrusted.stderr


def test_the_javascript_page(place: Place, node: Node) -> None:
    first, second = guide_programs("javascript.md", "js")
    listing = first[first.index("\n\nclient.") :]
    more = {"NODE_PATH": str(node.modules)}
    for program in (first, 'const { CosmosClient } = require("@azure/cosmos");\n' + second + listing):
        (place.folder / "app.js").write_text(program, encoding="utf-8")
        assert place.must_run([node.program, "app.js"], **more)[0].startswith("[")


def test_the_javascript_example(place: Place, node: Node) -> None:
    command: Command = [node.program, ROOT / "examples" / "javascript" / "vin-and-date.js"]
    made, found, refused = place.must_run(command, NODE_PATH=str(node.modules))
    assert re.fullmatch(r"1HGCM82633A004352 is under 2018-08-09\.356: 5\.\d\d RU", made)
    assert found == "one item by VIN and date: 1 RU"
    assert refused.startswith("a change of a source is refused: ")


# ---- Go


@pytest.fixture(scope="module")
def go_tour() -> Path:
    need("go")
    sources = [HERE / "go" / name for name in ("go.mod", "go.sum", "main.go")]
    return (
        fetch_once("go", sources, lambda folder: must(["go", "build", "-o", folder / "tour", "."], HERE / "go"))
        / "tour"
    )


def test_go(place: Place, go_tour: Path) -> None:
    http, https = {"TOUR_ENDPOINT": place.live.http}, {"TOUR_ENDPOINT": place.live.https}
    trusts: Trusts = ({}, {"SSL_CERT_FILE": str(place.pem)}, {"TOUR_TRUST": str(place.pem)})
    for endpoint, trust in zip((http, https, https), trusts, strict=True):
        assert place.must_run([go_tour], **endpoint, **trust) == TOUR["go"], trust
    distrusted = place.run([go_tour], **https)
    assert (distrusted.returncode, "failed to verify certificate" in distrusted.stderr) == (1, True)


def test_the_go_page(place: Place, go_tour: Path) -> None:
    first, second = guide_programs("go.md", "go")
    sources = [HERE / "go" / "go.mod", HERE / "go" / "go.sum", GUIDE / "go.md"]

    def fetch(folder: Path) -> None:
        for source in sources[:2]:
            shutil.copy(source, folder)
        for name, program in (("http", first), ("https", join_programs(first, second))):
            (folder / "main.go").write_text(program, encoding="utf-8")
            must(["go", "build", "-o", name, "main.go"], folder)

    folder = fetch_once("go-page", sources, fetch)
    for name in ("http", "https"):
        assert place.must_run([folder / name]) == ("shop",)
        drop_shop(place)


def join_programs(whole: str, https: str) -> str:
    """The page's program with its lines for https in place of how it makes the client."""
    names = ('"crypto/tls"', '"crypto/x509"', '"fmt"', '"net/http"', '"os"\n', f'"{AZCORE}"')
    whole = whole.replace('"fmt"\n\t"os"\n', "\n\t".join(names))
    start = whole.index("\tclient, err := ")
    stop = whole.index("\n", start) + 1
    return whole[:start] + https + whole[stop:]


def drop_shop(place: Place) -> None:
    with place.live.caller() as caller:
        caller.must("DELETE", "/dbs/shop")


# ---- Java


@pytest.fixture(scope="module")
def java_path() -> str:
    """The class path of the tour and of the guide's program."""
    need("mvn", "java", "javac")
    pom = HERE / "java" / "pom.xml"
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

    def fetch(folder: Path) -> None:
        must(["mvn", "-q", "-B", "-f", pom, plugin, f"-DoutputDirectory={folder}", "-DincludeScope=runtime"], HERE)

    def compile_programs(folder: Path) -> None:
        (app,) = guide_programs("java.md", "java")
        (folder / "App.java").write_text(app, encoding="utf-8")
        must(["javac", "-nowarn", "-cp", f"{jars}/*", "-d", folder, HERE / "java" / "Tour.java", "App.java"], folder)

    jars = fetch_once("java", [pom], fetch)
    sources = [pom, HERE / "java" / "Tour.java", GUIDE / "java.md"]
    return f"{fetch_once('java-classes', sources, compile_programs)}:{jars}/*"


def test_java(place: Place, java_path: str) -> None:
    """Both endpoints in one process: this client starts slowly."""
    trust = [f"-Djavax.net.ssl.trustStore={place.jks}", "-Djavax.net.ssl.trustStorePassword=changeit"]
    plain = "-DCOSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED=true"
    command = ["java", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", *trust, plain, "-cp", java_path, "Tour"]
    lines = place.must_run(command, TOUR_ENDPOINT=f"{place.live.https},{place.live.http}")
    assert lines == TOUR["java"] * 2


def test_the_java_page(place: Place, java_path: str) -> None:
    trust = ["-Djavax.net.ssl.trustStore=armillary.jks", "-Djavax.net.ssl.trustStorePassword=changeit"]
    with place.live.caller() as caller:
        caller.create("java-page")
        assert "java-page" in place.must_run(["java", *trust, "-cp", java_path, "App"])
        caller.must("DELETE", "/dbs/java-page")


# ---- Python


def test_the_python_page(place: Place) -> None:
    programs = guide_programs("python.md", "python")
    assert len(programs) >= 2
    for program in programs:
        (place.folder / "app.py").write_text(program, encoding="utf-8")
        assert place.must_run([sys.executable, "app.py"])[-1].startswith("[")
