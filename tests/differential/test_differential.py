"""The short form of `make differential`, which also says how soon changes must be seen."""

import math

import pytest

from nncache.testbed import Cluster
from tests.channels import Channel, proxied
from tests.differential.exceptions import MAX_ENTRY_AGE_S
from tests.differential.figures import Target
from tests.differential.run import GLOBS, TWO_STEP_WINDOW_S, run_for

OPERATIONS = 150


@pytest.mark.parametrize("channel", Channel, ids=lambda channel: channel.value)
def test_every_answer_is_the_namenodes_own(cluster: Cluster, channel: Channel) -> None:
    """Verbatim, Bounded and OwnWrites after random operations, with enough hits to mean something."""
    with proxied(
        cluster,
        *GLOBS,
        channel=channel,
        two_step_window_s=TWO_STEP_WINDOW_S,
        max_entry_age_s=MAX_ENTRY_AGE_S,
    ) as simulation:
        figures = run_for(simulation, seed=20261121, operations=OPERATIONS)
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.shortfalls(Target(p50_ms=math.inf, p99_ms=math.inf)) == []
