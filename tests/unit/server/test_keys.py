"""Which keys a server has, and that it does not give a public one to the world."""

import stat
from pathlib import Path

import pytest

from armillary.config import Settings
from armillary.errors import Kind, Refusal
from armillary.server.keys import WELL_KNOWN_KEY, find_keys, is_loopback

OWN = "b3duIGtleSBvZiB0aGlzIHRlc3QsIGxvbmcgZW5vdWdoIHRvIGJlIGFsbG93ZWQ="


def test_the_well_known_key_is_that_of_the_emulator() -> None:
    assert WELL_KNOWN_KEY.startswith("C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2n")
    assert WELL_KNOWN_KEY.endswith("Q9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==")


@pytest.mark.parametrize("host", [None, "127.0.0.1", "127.0.0.2", "::1"])
def test_on_loopback_the_well_known_key_serves(host: str | None) -> None:
    assert is_loopback(host)
    assert find_keys(Settings(memory=True, host=host)).primary == WELL_KNOWN_KEY


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_beyond_loopback_it_does_not(host: str) -> None:
    assert find_keys(Settings(memory=True, host=host)).primary != WELL_KNOWN_KEY
    with pytest.raises(Refusal) as refused:
        find_keys(Settings(memory=True, host=host, key=WELL_KNOWN_KEY))
    assert refused.value.kind is Kind.BAD_DEFINITION
    assert "--allow-well-known-key" in str(refused.value)
    assert find_keys(Settings(memory=True, host=host, allow_well_known_key=True)).primary == WELL_KNOWN_KEY


def test_kept_keys_are_made_once_and_are_private(tmp_path: Path) -> None:
    public = Settings(data=tmp_path, host="0.0.0.0")
    keys = find_keys(public)
    assert keys == find_keys(public)
    assert len(set(keys)) == 4
    assert [len(secret) for secret in keys.secrets] == [64] * 4
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert find_keys(Settings(data=tmp_path))[1:] == keys[1:]


def test_given_keys_come_first(tmp_path: Path) -> None:
    keys = find_keys(Settings(data=tmp_path, host="0.0.0.0", key=OWN, secondary_readonly_key=OWN))
    assert keys.primary == keys.secondary_readonly == OWN
    assert OWN not in (keys.secondary, keys.primary_readonly)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"primary": "a"}'])
def test_a_damaged_file_is_refused_in_words(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.json").write_text(text)
    with pytest.raises(Refusal) as refused:
        find_keys(Settings(data=tmp_path))
    assert "keys.json" in str(refused.value)
