"""How many getFileInfo calls have reached the NameNode."""

from collections.abc import Mapping
from typing import Any

import pytest

from nncache.demo import counter
from nncache.demo.counter import CALLS, MARKS, CallCounter
from nncache.demo.errors import SilentCounterError
from nncache.demo.sightings import Question
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker


async def test_it_counts_each_call_and_no_old_figure(cluster: Cluster) -> None:
    """The NameNode's own bean is up to a second old; what this returns is not."""
    http = cluster.namenodes[0].http
    counts = CallCounter.of(http, cluster.superuser)
    before = await counts.calls()
    with Asker(http) as asker:
        for number in range(1, 4):
            for _ in range(number):
                asker.ask("GET", Question("bob", "/nowhere/_SUCCESS").target)
            assert await counts.calls() - before == number * (number + 1) // 2


class LateBean:
    """A bean that shows a mark only when it was looked at a few times."""

    def __init__(self, looks: int) -> None:
        self.looks = looks  # until the figures are made anew
        self.marks = 0
        self.figures: dict[str, Any] = {CALLS: 7, MARKS: 40}

    def look(self) -> Mapping[str, Any]:
        """Return the present copy."""
        self.looks -= 1
        if self.looks <= 0:
            self.figures = {CALLS: 9, MARKS: 40 + self.marks}
        return self.figures

    def mark(self) -> None:
        """Do what is counted."""
        self.marks += 1


async def test_a_figure_is_believed_when_it_counts_the_mark() -> None:
    """However long the copy stays the old one."""
    bean = LateBean(looks=4)
    assert await CallCounter(bean.look, bean.mark).calls() == 9


async def test_counters_that_stand_still_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a zero."""
    monkeypatch.setattr(counter, "_TIMEOUT_S", 0.2)
    bean = LateBean(looks=1_000_000)
    with pytest.raises(SilentCounterError, match="still shows 40"):
        await CallCounter(bean.look, bean.mark).calls()


@pytest.mark.parametrize("bean", [None, {}, {CALLS: 1}])
async def test_a_namenode_that_does_not_show_them_is_an_error(bean: Mapping[str, Any] | None) -> None:
    """As when it is not reachable."""
    with pytest.raises(SilentCounterError, match=CALLS):
        await CallCounter(lambda: bean, lambda: None).calls()
