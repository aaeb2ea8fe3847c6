"""`armillary cert`: the server's certificate in the form a trust store wants."""

from pathlib import Path

import click

from armillary.cli.options import add_settings, load_settings
from armillary.config import Settings
from armillary.server.certificate import Certificate, export_jks, export_pem, export_pfx
from armillary.server.keys import write_private

__all__ = ["command"]


def _option(name: str, text: str) -> click.Option:
    return click.Option([name], type=click.Path(path_type=Path), metavar="FILE", help=text)


@add_settings("data", "certificate", "private_key")
@click.command(
    name="cert",
    params=[
        _option("--pem", "Write the certificate as PEM: for Python, Node, Go, curl and most systems."),
        _option("--pfx", "Write certificate and private key as PKCS #12: for .NET and Windows."),
        _option("--jks", "Write a Java trust store."),
        click.Option(["--password"], default="changeit", help="Password of a PKCS #12 or Java file.  [changeit]"),
    ],
)
def command(config_file: Path | None, password: str, **options: Path | str | None) -> None:
    """Write the certificate of the server on this data folder; it is made when there is none yet.

    Without a file, the certificate is printed as PEM. A running server shows it at /_explorer/emulator.pem as well.

    \b
    Examples:
      armillary cert > armillary.pem
      armillary cert --pem armillary.pem --jks armillary.jks
      armillary cert --pfx armillary.pfx --password secret
    """
    files = {form: Path(file) for form in ("pem", "pfx", "jks") if (file := options.pop(form)) is not None}
    settings, _ = load_settings({name: str(value) for name, value in options.items() if value}, config_file)
    pair = find_certificate(settings).find_pair()
    if not files:
        click.echo(export_pem(pair), nl=False)
    if "pem" in files:
        files["pem"].write_bytes(export_pem(pair))
    if "pfx" in files:
        write_private(files["pfx"], export_pfx(pair, password))
    if "jks" in files:
        files["jks"].write_bytes(export_jks(pair, password))


def find_certificate(settings: Settings) -> Certificate:
    """Where the certificate of a server with these settings comes from."""
    if settings.certificate is not None and settings.private_key is not None:
        return Certificate(None, (settings.certificate, settings.private_key))
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Certificate(settings.data)
