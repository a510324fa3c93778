"""Periods: what days, months and instants are by the clock of a zone, and which can't be.

Not here: the reports of a period (`test_definitions_*`), the command (`tests.ops.cli.test_report`).
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ops.reports.building import Period, ReportError, read_period

GOOD = {
    "a day": ("2026-11-30", "2026-11-30", "UTC", "2026-11-30T00:00", "2026-12-01T00:00"),
    "a month": ("2026-11", "2026-11", "UTC", "2026-11-01T00:00", "2026-12-01T00:00"),
    "December": ("2026-12", "2026-12", "UTC", "2026-12-01T00:00", "2027-01-01T00:00"),
    "a leap February": ("2028-02", "2028-02", "UTC", "2028-02-01T00:00", "2028-03-01T00:00"),
    "a day in Moscow": ("2026-11-30", "2026-11-30", "Europe/Moscow", "2026-11-29T21:00", "2026-11-30T21:00"),
    "a day in Kathmandu": ("2026-11-30", "2026-11-30", "Asia/Kathmandu", "2026-11-29T18:15", "2026-11-30T18:15"),
    "a day of 23 hours": ("2026-03-29", "2026-03-29", "Europe/Berlin", "2026-03-28T23:00", "2026-03-29T22:00"),
    "a day of 25 hours": ("2026-10-25", "2026-10-25", "Europe/Berlin", "2026-10-24T22:00", "2026-10-25T23:00"),
    "instants, the end not included": (
        "2026-11-30T06:00", "2026-11-30T06:15", "UTC", "2026-11-30T06:00", "2026-11-30T06:15",
    ),
    "instants by the zone's clock": (
        "2026-11-30T06:00", "2026-11-30T07:00:00.000", "Europe/Moscow", "2026-11-30T03:00", "2026-11-30T04:00",
    ),
    "instants that say their offset": (
        "2026-11-30T06:00Z", "2026-11-30T06:00-01:00", "Europe/Moscow", "2026-11-30T06:00", "2026-11-30T07:00",
    ),
    "the first year and the last one": ("1900-01", "9998-12-31", "UTC", "1900-01-01T00:00", "9999-01-01T00:00"),
    "the last day, in the far east": (
        "9998-12-31", "9998-12-31", "Pacific/Kiritimati", "9998-12-30T10:00", "9998-12-31T10:00",
    ),
    "the hour that comes twice, written out": (
        "2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00", "Europe/Berlin", "2026-10-25T00:30", "2026-10-25T01:30",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_a_period_is_two_times_of_the_record(name: str) -> None:
    begin, end, zone, first, last = GOOD[name]
    assert read_period(begin, end, zone) == Period(f"{first}:00.000Z", f"{last}:00.000Z", zone)


BAD = {
    "reversed days": ("2026-11-30", "2026-11-28", "UTC", "--to: 2026-11-28 lies before --from 2026-11-30"),
    "the day before": ("2026-11-30", "2026-11-29", "UTC", "--to: 2026-11-29 lies before --from 2026-11-30"),
    "reversed months": ("2026-11", "2026-10", "UTC", "--to: 2026-10 lies before --from 2026-11"),
    "reversed instants": ("2026-11-30T06:00", "2026-11-30T05:00", "UTC", "lies before --from"),
    "an empty period": ("2026-11-30T06:00", "2026-11-30T06:00", "UTC", "--to: the period is empty"),
    "no quarter of an hour": ("2026-11-30T06:10", "2026-12", "UTC", "--from: 2026-11-30T06:10 is not at a quarter"),
    "seconds": ("2026-11-30", "2026-11-30T06:15:01", "UTC", "--to: 2026-11-30T06:15:01 is not at a quarter"),
    "no such day": ("2026-02-30", "2026-03-01", "UTC", "--from: '2026-02-30' is no day"),
    "no such month": ("2026-13", "2026-13", "UTC", "--from: '2026-13' is no day"),
    "no such hour": ("2026-11-30T24:15", "2026-12", "UTC", "--from: '2026-11-30T24:15' is no day"),
    "words": ("2026-11", "yesterday", "UTC", "--to: 'yesterday' is no day"),
    "nothing": ("", "2026-11", "UTC", "--from: '' is no day"),
    "other digits": ("٢٠٢٦-11-30", "2026-12", "UTC", "is no day"),
    "the end of time": ("2026-11", "9999-12", "UTC", "--to: 9999-12 lies outside of the years 1900 to 9998"),
    "the last quarter of time, in the east": (
        "2026-11", "9999-12-31T23:45Z", "Pacific/Kiritimati", "--to: 9999-12-31T23:45Z lies outside of the years",
    ),
    "the beginning of time": ("0001-01-01", "2026-12", "Europe/Moscow", "--from: 0001-01-01 lies outside of the years"),
    "a year of three digits": ("0300-01-01", "2026-12", "UTC", "--from: 0300-01-01 lies outside of the years"),
    "the year before the first one": ("2026-11", "1899-12-31T23:45", "UTC", "--to: 1899-12-31T23:45 lies outside"),
    "no year": ("0000-01", "2026-12", "UTC", "--from: 0000-01 lies outside of the years"),
    "no such offset": ("2026-11-30T06:00+24:00", "2026-12", "UTC", "--from: '2026-11-30T06:00+24:00' is no day"),
    "a line more": ("2026-11\n", "2026-12", "UTC", "--from: '2026-11\\n' is no day"),
    "no zone": ("2026-11", "2026-11", "", "--zone: there is no time zone ''"),
    "half a zone": ("2026-11", "2026-11", "Europe", "--zone: there is no time zone 'Europe'"),
    "a zone in other letters": ("2026-11", "2026-11", "europe/moscow", "--zone: there is no time zone"),
    "no such zone": ("2026-11", "2026-11", "Mars/Base", "--zone: there is no time zone 'Mars/Base'"),
    "a file for a zone": ("2026-11", "2026-11", "../../etc/passwd", "--zone: there is no time zone"),
    "an hour that is skipped": (
        "2026-03-29T02:30", "2026-03-30", "Europe/Berlin",
        "--from: 2026-03-29T02:30 is skipped when the clocks change in Europe/Berlin; write 2026-03-29T02:30+01:00 or ",
    ),
    "an hour that comes twice": (
        "2026-10-25", "2026-10-25T02:30", "Europe/Berlin",
        "--to: 2026-10-25T02:30 comes twice when the clocks change in Europe/Berlin; write 2026-10-25T02:30+02:00 or "
        "2026-10-25T02:30+01:00",
    ),
    "a midnight that is skipped": (
        "2026-09-06", "2026-09-06", "America/Santiago", "--from: 2026-09-06 is skipped when the clocks change",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_period_that_can_not_be_names_the_option_and_the_reason(name: str) -> None:
    begin, end, zone, message = BAD[name]
    with pytest.raises(ReportError) as caught:
        read_period(begin, end, zone)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@given(
    st.dates(date(1990, 1, 1), date(2036, 12, 1)), st.integers(0, 400),
    st.sampled_from(["UTC", "Europe/Moscow", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia"]),
)  # fmt: skip
def test_days_are_from_midnight_to_midnight_of_the_zone(first: date, more: int, zone: str) -> None:
    """Nothing between two periods that follow each other, and nothing twice."""
    last = first + timedelta(days=more)
    clock = ZoneInfo(zone)
    borders = [datetime.combine(day, time(), clock) for day in (first, last + timedelta(days=1))]
    # Apia had no 2011-12-30: a day that is not there is refused.
    assume(all(moment.astimezone(UTC).astimezone(clock) == moment for moment in borders))
    period = read_period(str(first), str(last), zone)
    assert [datetime.fromisoformat(each) for each in period[:2]] == borders
    try:
        following = read_period(str(last + timedelta(days=1)), str(last + timedelta(days=1)), zone)
    except ReportError:
        return
    assert following.begin == period.end
