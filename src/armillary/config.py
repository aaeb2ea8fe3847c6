"""Settings: one frozen value, and the one table that options, environment, file and documentation are made from.

`SETTINGS` is that table: one row for each field of `Settings`, with its section, its reader and its help. A value is
looked for in this order: flag, environment variable `ARMILLARY_<NAME>`, TOML file, default; `load` says where each was
found. All sources speak the same text (`8MB`, `64KiB`, `10s`, `true`) to the same reader: none knows more than another.
What a value means is the business of whoever uses it; this module only promises its type and its range.
"""

import base64
import binascii
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from armillary.errors import Kind, Refusal

__all__ = ["DEFAULT_FILE", "SETTINGS", "Setting", "Settings", "find_file", "load", "show_value"]

Value: TypeAlias = str | int | float | Path | None

DEFAULT_FILE: Final = "armillary.toml"
_SIZES: Final = (
    {"b": 1}
    | {f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)}
    | {f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)}
)
_DURATIONS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_FLAGS: Final = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


class Reader(NamedTuple):
    """How the text of one type of value is read: what the help calls it, and the function (ValueError says why not)."""

    hint: str
    read: Callable[[str], Value]
    secret: bool = False


def _split_unit(text: str, units: Mapping[str, float], bare: str) -> tuple[float, float]:
    """The number and the factor of its unit; `bare` is the unit of a number alone."""
    digits = text.strip().replace("_", "")
    number = digits.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    unit = digits[len(number) :].strip().lower() or bare
    if unit not in units:
        raise ValueError(f"{text!r} has an unknown unit; use one of {', '.join(units)}")
    try:
        return float(number), units[unit]
    except ValueError:
        raise ValueError(f"{text!r} is not a number with a unit") from None


def _bound(value: float, low: float, high: float, show: Callable[[float], str]) -> None:
    if not low <= value <= high:
        raise ValueError(f"{show(value)} is outside {show(low)} to {show(high)}")


def _count(low: int, high: int) -> Reader:
    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError(f"{text!r} is not a whole number") from None
        _bound(value, low, high, lambda number: str(int(number)))
        return value

    return Reader("NUMBER", read)


def _size(low: int, high: int) -> Reader:
    def read(text: str) -> int:
        number, factor = _split_unit(text, _SIZES, "b")
        value = round(number * factor)
        _bound(value, low, high, lambda size: show_size(int(size)))
        return value

    return Reader("SIZE", read)


def _duration(low: float, high: float) -> Reader:
    def read(text: str) -> float:
        number, factor = _split_unit(text, _DURATIONS, "s")
        _bound(number * factor, low, high, show_duration)
        return number * factor

    return Reader("DURATION", read)


def _choice(*names: str) -> Reader:
    def read(text: str) -> str:
        for name in names:
            if text.lower() == name.lower():
                return name
        raise ValueError(f"{text!r} is not one of {', '.join(names)}")

    return Reader("|".join(names), read)


def _read_flag(text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise ValueError(f"{text!r} is neither true nor false")
    return _FLAGS[text.lower()]


def _read_path(text: str) -> Path:
    if not text or "\0" in text:
        raise ValueError(f"{text!r} is not a path")
    return Path(text).expanduser()


def _read_host(text: str) -> str | None:
    if text.lower() == "localhost":
        return None
    try:
        return str(ip_address(text.strip("[]")))
    except ValueError:
        raise ValueError(f"{text!r} is not an address; use 127.0.0.1, ::1, 0.0.0.0 or one of this machine") from None


def _read_key(text: str) -> str:
    try:
        size = len(base64.b64decode(text, validate=True))
    except binascii.Error:
        raise ValueError("an account key is base64 text") from None
    if size < 32:
        raise ValueError(f"an account key has at least 32 bytes, not {size}; `openssl rand -base64 64` makes one")
    return text


def _read_scale(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    _bound(value, 1e-6, 1.0, lambda number: f"{number:g}")
    return value


def _read_throughput(text: str) -> int:
    value = _count(0, 1_000_000).read(text)
    assert isinstance(value, int)
    if value and (value < 400 or value % 100):
        raise ValueError(f"{value} is no throughput: it is 400 or more in steps of 100, or 0")
    return value


def _read_buckets(text: str) -> str:
    parts = sorted(filter(None, text.replace(" ", "").split(",")))
    for part in parts:
        name, _, percent = part.partition("=")
        if name not in ("1", "2", "3", "4", "5") or not percent.isdecimal() or not 1 <= int(percent) <= 100:
            raise ValueError(f"{part!r} is no bucket: write its number, 1 to 5, and its percent, such as 1=20,2=50")
    if len({part[0] for part in parts}) < len(parts):
        raise ValueError(f"{text!r} has a bucket twice")
    return ",".join(parts)


FLAG: Final = Reader("", _read_flag)
_PATH: Final = Reader("PATH", _read_path)
_HOST: Final = Reader("ADDRESS", _read_host)
_KEY: Final = Reader("BASE64", _read_key, secret=True)
_CONSISTENCY: Final = _choice("Strong", "BoundedStaleness", "Session", "ConsistentPrefix", "Eventual")
_SECONDS: Final = _duration(0.1, 3600)
_MILLION: Final = _count(1, 1_000_000)
_MILLION_OR_NONE: Final = _count(0, 1_000_000)
_THROUGHPUT: Final = Reader("RU/S", _read_throughput)
_BUCKETS: Final = Reader("N=PERCENT,...", _read_buckets)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set, with its default. Sizes are bytes, durations seconds."""

    data: Path = Path("armillary-data")
    memory: bool = False
    host: str | None = None
    port: int = 8081
    workers: int | None = None
    certificate: Path | None = None
    private_key: Path | None = None
    key: str | None = None
    secondary_key: str | None = None
    readonly_key: str | None = None
    secondary_readonly_key: str | None = None
    allow_well_known_key: bool = False
    consistency: str = "Session"
    partition_throughput: int = 10_000
    partition_storage: int = 50 * 2**30
    scale: float = 1.0
    rules: str = "today"
    default_throughput: int = 0
    metadata_throughput: int = 0
    burst: bool = False
    priority: bool = False
    throughput_buckets: str = ""
    max_header_bytes: int = 64 * 2**10
    max_body_bytes: int = 2_200_000
    header_timeout: float = 10.0
    body_timeout: float = 30.0
    idle_timeout: float = 300.0
    max_connections: int = 10_000
    write_queue: int = 1_000
    log_level: str = "info"
    log_format: str = "text"
    ready_json: bool = False


class Setting(NamedTuple):
    """One row of the table."""

    name: str
    section: str
    reader: Reader
    help: str
    default: Value

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return "ARMILLARY_" + self.name.upper()


def _row(name: str, section: str, reader: Reader, text: str) -> Setting:
    default: Value = getattr(_DEFAULTS, name)
    return Setting(name, section, reader, text, default)


_DEFAULTS: Final = Settings()
SETTINGS: Final = (
    _row("data", "storage", _PATH, "Folder that holds the data; made if it is missing."),
    _row("memory", "storage", FLAG, "Keep everything in memory; nothing is left when the server stops."),
    _row("host", "network", _HOST, "Address to listen on; without it 127.0.0.1 and ::1, this machine only."),
    _row("port", "network", _count(0, 65535), "Port for HTTP and HTTPS alike; 0 takes any free one."),
    _row("workers", "network", _count(1, 64), "Worker processes; as many as cores, at most 4. One with --memory."),
    _row("certificate", "network", _PATH, "PEM certificate for HTTPS; without it one is made once and kept."),
    _row("private_key", "network", _PATH, "PEM private key of that certificate."),
    _row("key", "keys", _KEY, "Read-write key; without it the well-known one on loopback, else one made and kept."),
    _row("secondary_key", "keys", _KEY, "Second read-write key, so that keys can be changed."),
    _row("readonly_key", "keys", _KEY, "Key that may only read."),
    _row("secondary_readonly_key", "keys", _KEY, "Second key that may only read."),
    _row("allow_well_known_key", "keys", FLAG, "Accept the public, well-known key beyond loopback too."),
    _row(
        "consistency", "account", _CONSISTENCY, "Default level of the account; reads cost double under the first two."
    ),
    _row("partition_throughput", "throughput", _MILLION, "Request units a second that one partition serves."),
    _row("partition_storage", "throughput", _size(2**20, 2**40), "Size at which a partition is to be split."),
    _row("scale", "throughput", Reader("FACTOR", _read_scale), "Factor for all limits of partitions, such as 0.001."),
    _row("rules", "throughput", _choice("today", "2017"), "Which offers there are: 2017 has throughput per minute."),
    _row("default_throughput", "throughput", _THROUGHPUT, "Budget of containers that ask for none; 0 is no limit."),
    _row("metadata_throughput", "throughput", _MILLION_OR_NONE, "Budget of the account's metadata; 0 is no limit."),
    _row("burst", "throughput", FLAG, "Let partitions save what they do not use, for up to 300 s."),
    _row("priority", "throughput", FLAG, "Throttle requests of low priority before others."),
    _row(
        "throughput_buckets",
        "throughput",
        _BUCKETS,
        "Percent that each of five buckets may use: 1=20,2=50.",
    ),
    _row("max_header_bytes", "limits", _size(2**10, 2**24), "Largest head of a request; over it 431."),
    _row("max_body_bytes", "limits", _size(2**10, 2**30), "Largest body of a request; over it 413."),
    _row("header_timeout", "limits", _SECONDS, "Time a sender has for the head of a request."),
    _row("body_timeout", "limits", _SECONDS, "Time a sender has for the body of a request."),
    _row("idle_timeout", "limits", _duration(1, 86400), "Time a connection may stay open without a request."),
    _row("max_connections", "limits", _MILLION, "Connections open at once in one worker; more are closed."),
    _row("write_queue", "limits", _MILLION, "Writes waiting for one partition in one worker; over it 429."),
    _row("log_level", "log", _choice("debug", "info", "warning", "error"), "What is worth a line on stderr."),
    _row("log_format", "log", _choice("text", "json"), "Form of the lines on stderr."),
    _row("ready_json", "log", FLAG, "Print one JSON line on stdout when ready, for programs that start the server."),
)
_BY_NAME: Final = {setting.name: setting for setting in SETTINGS}


def show_size(size: int) -> str:
    """The shortest exact text of a size."""
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)


def show_duration(seconds: float) -> str:
    return f"{seconds:g}s"


def show_value(setting: Setting, value: Value) -> str:
    """A value as it could be written again; keys are not shown."""
    if value is None:
        return ""
    if setting.reader.secret:
        return "(hidden)"
    if isinstance(value, bool):
        return str(value).lower()
    if setting.reader.hint == "SIZE" and isinstance(value, int):
        return show_size(value)
    if setting.reader.hint == "DURATION" and isinstance(value, float):
        return show_duration(value)
    return str(value)


def find_file(given: Path | None) -> Path | None:
    """The settings file: the given one, else the default one where it exists."""
    if given is not None:
        return given
    usual = Path(DEFAULT_FILE)
    return usual if usual.is_file() else None


def load(
    flags: Mapping[str, Value], environment: Mapping[str, str], file: Path | None
) -> tuple[Settings, dict[str, str]]:
    """The settings and, by name, where each came from: a flag, a variable, the file, or `default`.

    A flag that is None was not given; an empty variable counts as not set.
    """
    written = {} if file is None else _read_file(file)
    values: dict[str, Value] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        origin, raw = _find_value(setting, flags, environment, written, file)
        origins[setting.name] = origin
        values[setting.name] = setting.default if raw is None else _read_value(setting, raw, origin)
        if file is not None and origin == str(file):
            values[setting.name] = _anchor_path(values[setting.name], file.parent)
    return _build(values, origins), origins


def _find_value(
    setting: Setting,
    flags: Mapping[str, Value],
    environment: Mapping[str, str],
    written: Mapping[str, Value],
    file: Path | None,
) -> tuple[str, Value]:
    if flags.get(setting.name) is not None:
        return setting.option, flags[setting.name]
    if environment.get(setting.variable):
        return setting.variable, environment[setting.variable]
    if setting.name in written:
        return str(file), written[setting.name]
    return "default", None


def _read_value(setting: Setting, raw: Value, origin: str) -> Value:
    text = str(raw).lower() if isinstance(raw, bool) else str(raw)
    try:
        return setting.reader.read(text)
    except ValueError as error:
        raise _refuse(setting.name, origin, str(error)) from None


def _anchor_path(value: Value, folder: Path) -> Value:
    """A path in a file is meant from where the file is, not from where the command runs."""
    return folder / value if isinstance(value, Path) else value


def _read_file(file: Path) -> dict[str, Value]:
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Refusal(Kind.BAD_DEFINITION, what=f"settings file {file}", reason=str(error)) from None
    written: dict[str, Value] = {}
    for section, rows in document.items():
        if not isinstance(rows, dict):
            raise _refuse(section, str(file), _say_place(section))
        for key, value in rows.items():
            name = key.replace("-", "_")
            if name not in _BY_NAME or _BY_NAME[name].section != section:
                raise _refuse(f"{section}.{key}", str(file), _say_place(name))
            if not isinstance(value, str | int | float):
                raise _refuse(name, str(file), "it is neither text nor a number nor true or false")
            written[name] = value
    return written


def _say_place(name: str) -> str:
    if name in _BY_NAME:
        return f"it belongs under [{_BY_NAME[name].section}]"
    return "there is no such setting; `armillary config` lists them all"


def _build(values: dict[str, Value], origins: Mapping[str, str]) -> Settings:
    settings = Settings(**values)  # type: ignore[arg-type]  # each reader returns the type of its own field, by test
    if (settings.certificate is None) != (settings.private_key is None):
        lone = "certificate" if settings.private_key is None else "private_key"
        raise _refuse(lone, origins[lone], "certificate and private_key are given together or not at all")
    return settings


def _refuse(name: str, origin: str, reason: str) -> Refusal:
    return Refusal(Kind.BAD_DEFINITION, what=f"setting {name} ({origin})", reason=reason)
