"""A plugin of pytest: Hypothesis tells of a failure as it found it. To make it small would take minutes a mutant."""

import pytest
from hypothesis import Phase, settings


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """After conftest.py has chosen a profile."""
    phases = (Phase.explicit, Phase.reuse, Phase.generate)
    settings.register_profile("unshrunk", parent=settings(), phases=phases)
    settings.load_profile("unshrunk")
