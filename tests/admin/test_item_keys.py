"""The keys of items' tokens: read from their file every few seconds, and logged once if they cannot be."""

from pathlib import Path

import pytest
from calling import Clock

from bandmaster.admin.auth.item_keys import KEPT_SECONDS, LAST_SECONDS, ItemKeys
from bandmaster.configs.items import ItemsSettings

OLD, NEW = b"a" * 32, b"b" * 32


def keys_of(file: Path, clock: Clock) -> ItemKeys:
    settings = ItemsSettings(token_key_file=file)
    return ItemKeys(lambda: settings.keys(None), clock=clock)


def test_a_key_that_follows_another_is_known_within_seconds(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "key"
    file.write_bytes(OLD)
    keys = keys_of(file, clock)
    assert keys.known() == (OLD,)
    file.write_bytes(NEW)
    clock.now += KEPT_SECONDS / 2
    assert keys.known() == (OLD,), "the file is not read for each request"
    clock.now += KEPT_SECONDS / 2
    assert keys.known() == (NEW,)


def test_a_file_that_cannot_be_read_is_logged_once_until_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock, file = Clock(), tmp_path / "key"
    keys = keys_of(file, clock)
    for spell in (1, 2):
        for _ in range(5):
            clock.now += LAST_SECONDS
            assert keys.known() == ()
            file.touch()
            assert keys.known() == (), "what cannot be read is not looked at for each request, either"
            file.unlink()
        assert caplog.text.count("item_tokens_not_known") == spell
        file.write_bytes(OLD)
        clock.now += KEPT_SECONDS
        assert keys.known() == (OLD,)
        file.unlink()
    assert OLD.decode() not in caplog.text


def test_the_last_keys_stay_for_a_while_if_they_cannot_be_read(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "key"
    file.write_bytes(OLD)
    keys = keys_of(file, clock)
    assert keys.known() == (OLD,)
    file.unlink()
    clock.now += LAST_SECONDS - 1
    assert keys.known() == (OLD,)
    clock.now += KEPT_SECONDS
    assert keys.known() == ()
