"""Faults that the dashboards are to show: what each does to a system that takes note of it."""

from typing import Any, cast

import pytest

from tools.dashboards.live.faults import FAULTS
from tools.dashboards.live.stand import Stand


class Noted:
    """Stands for any part of a system; notes what is called, by its path."""

    def __init__(self, called: list[str], path: str = "") -> None:
        self._called = called
        self._path = path

    def __getattr__(self, name: str) -> "Noted":
        return Noted(self._called, f"{self._path}.{name}".lstrip("."))

    def __getitem__(self, index: int) -> "Noted":
        return Noted(self._called, f"{self._path}[{index}]")

    def __call__(self, *arguments: object) -> None:
        """Note it."""
        self._called.append(f"{self._path}({', '.join(map(str, arguments))})")


DONE: dict[str, tuple[list[str], list[str]]] = {
    "failover": (
        ["cluster.namenodes[0].process.kill()", "slept", "cluster.transition_to_active(1)"],
        ["cluster.namenodes[0].process.start()"],
    ),
    "zookeeper-outage": (["cluster.zookeeper.stop()"], ["cluster.zookeeper.start_again()"]),
    "publisher-killed": (["publisher.kill()"], ["publisher.start()"]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_done(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And how it is mended; a fault that is there from the start is of a proxy's own settings."""
    fault, called = FAULTS[name], list[str]()
    monkeypatch.setattr("tools.dashboards.live.faults.time.sleep", lambda _: called.append("slept"))
    stand = cast("Stand", cast("Any", Noted(called)))
    if fault.begin is None or fault.end is None:
        assert fault.needs.flags_of_first_proxy
        return
    begun, ended = DONE[name]
    fault.begin(stand)
    assert called == begun
    called.clear()
    fault.end(stand)
    assert called == ended


def test_only_a_failover_needs_a_pair() -> None:
    """Two NameNodes take their time to start."""
    assert [name for name, fault in FAULTS.items() if fault.needs.is_pair] == ["failover"]
