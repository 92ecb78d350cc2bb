"""The sums of what clients saw omit nothing that harmed them."""

import pytest

from tests.overload.samples import Kind, Sample, SampleResult, recovered_at, summed_up
from tests.real.figures import quantile

POLLED = {Kind.POLLER}


def sample(due: float, outcome: SampleResult, *, after_s: float = 0.01, kind: Kind = Kind.POLLER) -> Sample:
    """Return one request, answered `after_s` after it was due."""
    return Sample(kind, due, due + after_s, outcome)


def test_shares_count_what_these_clients_sent_in_the_phase() -> None:
    """Other kinds of clients and other times are not counted."""
    seen = summed_up(
        [
            sample(0.9, SampleResult.SILENT),
            sample(1.0, SampleResult.HIT),
            sample(1.2, SampleResult.ANSWERED),
            sample(1.3, SampleResult.REFUSED),
            sample(1.4, SampleResult.FAILED),
            sample(1.5, SampleResult.SILENT),
            sample(1.5, SampleResult.HIT, kind=Kind.FORWARDED),
            sample(2.0, SampleResult.SILENT),
        ],
        POLLED,
        1.0,
        2.0,
    )
    assert (seen.sent, seen.hits, seen.right, seen.refused, seen.failed, seen.wrong) == (
        *(5, 0.2, 0.4, 0.2, 0.4),
        0,
    )


def test_a_request_that_could_not_be_sent_has_a_latency() -> None:
    """A blocked client does not hide requests that it owes; they count as neither hit nor failure."""
    seen = summed_up(
        [sample(1.0, SampleResult.HIT, after_s=3.0), sample(2.0, SampleResult.DELAYED, after_s=2.0)],
        POLLED,
        0.0,
        9.0,
    )
    assert (seen.sent, seen.hits, seen.p50_s, seen.max_s) == (1, 1.0, 2.0, 3.0)


def test_wrong_answers_are_counted() -> None:
    """A wrong answer counts as neither right nor failed."""
    seen = summed_up([sample(1.0, SampleResult.WRONG)], POLLED, 0.0, 9.0)
    assert (seen.wrong, seen.right, seen.failed) == (1, 0.0, 0.0)


def test_nothing_seen_is_no_hit() -> None:
    """Clients that could send nothing had no hits."""
    assert summed_up([], POLLED, 0.0, 9.0).hits == 0.0


@pytest.mark.parametrize(("share", "value"), [(0.5, 5.0), (0.99, 10.0), (0.9, 9.0), (0.01, 1.0)])
def test_quantiles_are_values_that_were_seen(share: float, value: float) -> None:
    """Quantiles use the nearest rank."""
    assert quantile([float(number) for number in range(1, 11)], share) == value


def test_hits_are_back_after_the_last_miss() -> None:
    """One good second in between is no recovery; requests before the end of the attack do not count."""
    samples = [
        sample(0.5, SampleResult.FAILED),
        sample(1.0, SampleResult.ANSWERED),
        *(sample(1.0 + number / 10, SampleResult.HIT) for number in range(1, 20)),
        sample(3.0, SampleResult.DELAYED, after_s=1.0),
        *(sample(3.0 + number / 10, SampleResult.HIT) for number in range(1, 12)),
        sample(4.0, SampleResult.SILENT, kind=Kind.FORWARDED),
    ]
    assert recovered_at(samples, 1.0) == 3.0


def test_a_busy_machine_delays_no_recovery() -> None:
    """A poll that is a little late because the previous one was late is no miss."""
    hits = [sample(1.0 + number / 10, SampleResult.HIT) for number in range(20)]
    assert recovered_at([*hits, sample(2.9, SampleResult.DELAYED, after_s=0.9)], 1.0) == 1.0
    assert recovered_at([*hits, sample(1.2, SampleResult.DELAYED, after_s=1.1)], 1.0) == 1.2


def test_hits_that_never_went_were_back_at_once() -> None:
    """If no hit was lost, the recovery time is the start of the check."""
    assert recovered_at([sample(1.0 + number / 10, SampleResult.HIT) for number in range(20)], 1.0) == 1.0


def test_too_few_hits_are_no_recovery() -> None:
    """The recovery is still unknown."""
    assert recovered_at([sample(1.5, SampleResult.ANSWERED), sample(1.9, SampleResult.HIT)], 1.0) is None
    assert recovered_at([], 1.0) is None
