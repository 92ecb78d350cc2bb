"""The short form of `make differential`, which also says how soon changes must be seen."""

import math

from testbed import Cluster
from tests.differential.run import GLOBS, TWO_STEP_WINDOW_S, run_for
from tests.world import proxied

OPERATIONS = 250


def test_every_answer_is_the_namenodes_own(cluster: Cluster) -> None:
    """Verbatim, Bounded and OwnWrites after random operations, with enough hits to mean something."""
    with proxied(cluster, *GLOBS, two_step_window_s=TWO_STEP_WINDOW_S) as world:
        figures = run_for(world, seed=20261121, operations=OPERATIONS)
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.shortfalls(p50_ms=math.inf) == []
