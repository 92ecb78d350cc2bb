"""The short form of `make differential-secured`."""

import math

from nncache.testbed import Cluster, Kdc
from tests.differential.figures import Target
from tests.differential.run import GLOBS, SETTINGS, run_for
from tests.real.stand import proxied
from tests.secured.auth_methods import Doas

OPERATIONS = 25


def test_every_answer_is_the_namenodes_own(secured_cluster: Cluster, kdc: Kdc) -> None:
    """Two users ask by `doas`, others by cookie. A user without permission gets none, whatever the operation."""
    del kdc  # only makes this process a client of the KDC
    way = Doas(secured_cluster)
    with proxied(secured_cluster, *GLOBS, way=way, **SETTINGS) as simulation:
        figures = run_for(simulation, seed=20261124, operations=OPERATIONS)
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.shortfalls(Target(p50_ms=math.inf, p99_ms=math.inf, timed_share=0.0)) == []
    assert figures.impostors > 100
