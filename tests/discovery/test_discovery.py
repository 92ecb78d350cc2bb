"""Every way finds a started proxy and loses a drained one; a client of `nncache.connect` sees no error."""

import shutil

import pytest

from nncache.testbed import Cluster
from tests.discovery.finders import FINDERS
from tests.discovery.run import Reported, Row, come_and_go
from tests.registry.samples import place_of_its_own


@pytest.mark.long  # two proxies, a Prometheus and a client in parallel
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="apt-get install prometheus")
def test_a_proxy_comes_and_goes(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """The test prints the delays; `python -m tests.discovery` judges them."""
    with place_of_its_own(cluster) as place:
        reported = come_and_go(cluster, place, FINDERS)
    with capsys.disabled():
        print("", *reported.lines(), sep="\n")  # noqa: T201 - the figures are the purpose of the run
    assert reported.failures == ()
    assert reported.of_leaving > 0
    assert len(reported.rows) == len(FINDERS)


def test_shortfalls_are_reported() -> None:
    """A late finder and a failed request are both reported."""
    good, late = Row("a", 1.0, 1.0, 2.0), Row("b", 1.0, 2.5, 2.0)
    assert [*Reported((good,), 9, 3, ()).shortfalls()] == []
    assert [*Reported((good, late), 9, 3, ("x: 503",)).shortfalls()] == [
        "b: gone after 2.50 s, not within 2 s",
        "x: 503",
    ]
    assert [*Reported((late,), 9, 3, ()).lines()][-1] == "9 requests of a client of nncache.connect, 0 failed"
