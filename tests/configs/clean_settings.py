"""Settings of which no variable and no file is left, and that are read anew by each test."""

from pathlib import Path

import pytest

from bandmaster.configs.settings import load_settings, sections


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for section, names in sections().items():
        for name in names or ():
            monkeypatch.delenv(f"BANDMASTER_{section}__{name}".upper(), raising=False)
    monkeypatch.delenv("BANDMASTER_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    load_settings.cache_clear()


@pytest.fixture(autouse=True, scope="module")
def forget_settings() -> object:
    yield
    load_settings.cache_clear()
