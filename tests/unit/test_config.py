"""Settings: every source, every reader, every way to be wrong."""

import base64
import dataclasses
import os
import typing
from pathlib import Path

import pytest

from armillary.config import SETTINGS, Settings, find_file, load, show_value
from armillary.errors import Refusal

KEY = base64.b64encode(bytes(range(64))).decode()


def load_one(name: str, text: str) -> object:
    settings, origins = load({name: text}, {}, None)
    assert origins[name] == "--" + name.replace("_", "-")
    return getattr(settings, name)


def refuse(flags: dict[str, str], environment: dict[str, str], file: Path | None = None) -> str:
    with pytest.raises(Refusal) as caught:
        load(flags, environment, file)
    return str(caught.value)


def test_table_and_dataclass_name_the_same_settings_in_the_same_order() -> None:
    assert [setting.name for setting in SETTINGS] == [row.name for row in dataclasses.fields(Settings)]


def test_every_reader_returns_the_type_of_its_field() -> None:
    samples = {
        "PATH": "x",
        "ADDRESS": "10.0.0.1",
        "BASE64": KEY,
        "SIZE": "2MiB",
        "DURATION": "3s",
        "NUMBER": "1",
        "FACTOR": "0.5",
        "RU/S": "400",
        "N=PERCENT,...": "1=20",
        "": "on",
    }
    types = typing.get_type_hints(Settings)
    for setting in SETTINGS:
        text = samples.get(setting.reader.hint, setting.reader.hint.split("|")[-1])
        expected = typing.get_args(types[setting.name]) or (types[setting.name],)
        assert type(setting.reader.read(text)) in (*expected, type(Path())), setting.name


def test_defaults_are_what_the_documentation_promises() -> None:
    settings, origins = load({}, {}, None)
    assert settings == Settings()
    assert (settings.data, settings.port, settings.workers, settings.host) == (Path("armillary-data"), 8081, None, None)
    assert (settings.partition_storage, settings.max_header_bytes) == (53_687_091_200, 65_536)
    assert set(origins.values()) == {"default"}


def test_every_default_can_be_written_and_read_again() -> None:
    for setting in SETTINGS:
        if setting.default is not None:
            assert setting.reader.read(show_value(setting, setting.default)) == setting.default, setting.name


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("max_body_bytes", "8MB", 8_000_000),
        ("partition_storage", "50GB", 50_000_000_000),
        ("max_header_bytes", "64KiB", 65_536),
        ("max_header_bytes", "64 kib", 65_536),
        ("max_body_bytes", "1.5MiB", 1_572_864),
        ("max_body_bytes", "2_000_000", 2_000_000),
        ("max_body_bytes", "4096b", 4_096),
        ("header_timeout", "10s", 10.0),
        ("header_timeout", "2.5", 2.5),
        ("header_timeout", "500ms", 0.5),
        ("idle_timeout", "5m", 300.0),
        ("idle_timeout", "1H", 3_600.0),
        ("memory", "yes", True),
        ("memory", "OFF", False),
        ("consistency", "boundedstaleness", "BoundedStaleness"),
        ("host", "[::1]", "::1"),
        ("host", "0.0.0.0", "0.0.0.0"),
        ("host", "localhost", None),
        ("port", "0", 0),
        ("key", KEY, KEY),
        ("scale", "0.001", 0.001),
        ("default_throughput", "1000", 1000),
        ("default_throughput", "0", 0),
        ("throughput_buckets", "2=50, 1=20", "1=20,2=50"),
        ("throughput_buckets", "", ""),
    ],
)
def test_text_becomes_a_value(name: str, text: str, value: object) -> None:
    assert load_one(name, text) == value


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("port", "70000", "70000 is outside 0 to 65535"),
        ("port", "http", "'http' is not a whole number"),
        ("port", "80.5", "'80.5' is not a whole number"),
        ("max_body_bytes", "8QB", "'8QB' has an unknown unit; use one of b, kb, mb, gb, tb, kib, mib, gib, tib"),
        ("max_body_bytes", "MB", "'MB' is not a number with a unit"),
        ("max_body_bytes", "nan", "'nan' has an unknown unit"),
        ("max_header_bytes", "1", "1 is outside 1KiB to 16MiB"),
        ("header_timeout", "-5s", "-5s is outside 0.1s to 3600s"),
        ("header_timeout", "5 weeks", "'5 weeks' has an unknown unit"),
        ("memory", "maybe", "'maybe' is neither true nor false"),
        ("consistency", "Eventually", "'Eventually' is not one of Strong, BoundedStaleness, Session"),
        ("log_format", "xml", "'xml' is not one of text, json"),
        ("host", "here", "'here' is not an address; use 127.0.0.1"),
        ("data", "", "'' is not a path"),
        ("scale", "2", "2 is outside 1e-06 to 1"),
        ("scale", "half", "'half' is not a number"),
        ("default_throughput", "450", "450 is no throughput: it is 400 or more in steps of 100, or 0"),
        ("default_throughput", "300", "300 is no throughput"),
        ("throughput_buckets", "6=10", "'6=10' is no bucket"),
        ("throughput_buckets", "1=0", "'1=0' is no bucket"),
        ("throughput_buckets", "1=20,1=30", "'1=20,1=30' has a bucket twice"),
        ("key", "not base64!", "an account key is base64 text"),
        ("key", "c2hvcnQ=", "an account key has at least 32 bytes, not 5"),
    ],
)
def test_wrong_text_is_refused_in_one_line_that_names_the_option(name: str, text: str, reason: str) -> None:
    message = refuse({name: text}, {})
    assert f"{name} (--{name.replace('_', '-')})" in message
    assert reason in message
    assert "\n" not in message


def test_a_key_is_never_repeated_in_an_error_nor_shown() -> None:
    assert "hunter2" not in refuse({}, {"ARMILLARY_KEY": "hunter2!"})
    key = next(setting for setting in SETTINGS if setting.name == "key")
    assert show_value(key, KEY) == "(hidden)"


def test_a_flag_wins_over_a_variable_over_the_file_over_the_default(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('[network]\nport = 1\nworkers = 1\n[limits]\nwrite-queue = 3\n[log]\nlog_level = "debug"\n')
    settings, origins = load({"port": 3, "key": None}, {"ARMILLARY_PORT": "2", "ARMILLARY_WRITE_QUEUE": "4"}, file)
    assert (settings.port, settings.write_queue, settings.log_level, settings.key) == (3, 4, "debug", None)
    assert [origins[name] for name in ("port", "write_queue", "log_level", "key")] == [
        "--port",
        "ARMILLARY_WRITE_QUEUE",
        str(file),
        "default",
    ]


def test_an_empty_variable_is_not_set() -> None:
    assert load({}, {"ARMILLARY_PORT": ""}, None)[0].port == 8081


def test_paths_in_a_file_are_meant_from_the_folder_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('[storage]\ndata = "store"\n')
    assert load({}, {}, file)[0].data == tmp_path / "store"
    assert load({"data": "store"}, {}, file)[0].data == Path("store")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("colour = 1", "setting colour (FILE) is not acceptable: there is no such setting; `armillary config` lists"),
        ("port = 1", "setting port (FILE) is not acceptable: it belongs under [network]"),
        ("[log]\nport = 1", "setting log.port (FILE) is not acceptable: it belongs under [network]"),
        ("[network]\nhue = 1", "setting network.hue (FILE) is not acceptable: there is no such setting"),
        ("[network]\nport = 'x'", "setting port (FILE) is not acceptable: 'x' is not a whole number"),
        ("[network]\nport = true", "setting port (FILE) is not acceptable: 'true' is not a whole number"),
        ("[network]\nport = [1]", "setting port (FILE) is not acceptable: it is neither text nor a number"),
        ("port =", "settings file FILE is not acceptable: Invalid value"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    assert reason.replace("FILE", str(file)) in refuse({}, {}, file)


def test_a_missing_file_is_refused_when_it_was_asked_for(tmp_path: Path) -> None:
    assert "No such file" in refuse({}, {}, tmp_path / "none.toml")


def test_the_default_file_is_found_only_where_it_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_file(None) is None
    assert find_file(Path("mine.toml")) == Path("mine.toml")
    Path("armillary.toml").touch()
    assert find_file(None) == Path("armillary.toml")


def test_certificate_and_its_key_come_together() -> None:
    assert "given together or not at all" in refuse({"certificate": "a.pem"}, {})
    assert "setting private_key (ARMILLARY_PRIVATE_KEY)" in refuse({}, {"ARMILLARY_PRIVATE_KEY": "k.pem"})


def test_home_folders_are_understood() -> None:
    assert load_one("data", "~/store") == Path(os.path.expanduser("~/store"))
