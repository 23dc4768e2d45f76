"""Priorities: read from what people write, and scores that keep their band for ever (D1, D43)."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.priority import BAND_WIDTH_MS, Priority, band_of, band_window, score_of

NOW_MS = datetime(2026, 6, 1, tzinfo=UTC).timestamp() * 1000
FIVE_YEARS_MS = 5 * 365 * 86_400_000

# Nothing waits or is scheduled further from now than this.
instants = st.integers(
    int(datetime(2024, 1, 1, tzinfo=UTC).timestamp() * 1000), int(datetime(2050, 1, 1, tzinfo=UTC).timestamp() * 1000)
)


def test_the_lower_number_starts_first() -> None:
    assert [(member.name, int(member)) for member in sorted(Priority)] == [
        ("CRITICAL", 0),
        ("HIGH", 1),
        ("NORMAL", 2),
        ("LOW", 3),
        ("BACKGROUND", 4),
    ]


@pytest.mark.parametrize("value", [Priority.HIGH, "HIGH", "high", "High", 1])
def test_a_priority_is_read_from_member_name_or_band(value: object) -> None:
    assert Priority.parse(value) is Priority.HIGH


@pytest.mark.parametrize("value", ["urgent", "", "1", " HIGH", "parse", 5, -1, True, 1.0, None, [], "x" * 1_000_000])
def test_what_is_no_priority_is_refused_with_the_names_that_are(value: object) -> None:
    with pytest.raises(
        InvalidRequest, match=r"priority: .* is not a priority(; HIGH is meant, perhaps)?; allowed: CRITICAL"
    ) as caught:
        Priority.parse(value)
    assert len(str(caught.value)) < 300


@given(band=st.sampled_from(Priority), unix_ms=instants)
def test_the_score_is_the_formula_of_the_contract(band: Priority, unix_ms: int) -> None:
    assert score_of(band, unix_ms) == band * 10**12 + unix_ms
    # The 1/1024 ms that tell apart what came within one millisecond are kept, and leave the floor alone.
    assert score_of(band, unix_ms + 1 / 1024) - score_of(band, unix_ms) == 1 / 1024
    assert score_of(band, unix_ms + 1023 / 1024) // 1 == band * 10**12 + unix_ms


@given(band=st.sampled_from(Priority), now_ms=instants, age_ms=st.integers(-FIVE_YEARS_MS, FIVE_YEARS_MS))
def test_a_score_is_counted_in_its_own_band_and_no_other(band: Priority, now_ms: int, age_ms: int) -> None:
    score = score_of(band, now_ms - age_ms)
    assert band_of(score, now_ms) == band
    windows = [band_window(other, now_ms) for other in Priority]
    assert [low <= score < high for low, high in windows] == [other is band for other in Priority]


@given(first=st.sampled_from(Priority), second=st.sampled_from(Priority), first_ms=instants, second_ms=instants)
def test_the_band_decides_before_the_time(first: Priority, second: Priority, first_ms: int, second_ms: int) -> None:
    by_score = score_of(first, first_ms) < score_of(second, second_ms)
    assert by_score == ((first, first_ms) < (second, second_ms))


def test_fixed_ranges_of_scores_count_wrongly() -> None:
    def band_by_range(score: float) -> int:
        return int(score // BAND_WIDTH_MS)

    assert band_by_range(score_of(Priority.CRITICAL, NOW_MS)) == Priority.HIGH
    assert band_by_range(score_of(Priority.BACKGROUND, NOW_MS)) == 5  # no band at all
    assert [band_of(score_of(band, NOW_MS), NOW_MS) for band in Priority] == list(Priority)
