"""Under load, every panel of every dashboard has data."""

import asyncio
import shutil

import pytest

from tests.cluster import HADOOP
from tools.dashboards.files import BOARDS
from tools.dashboards.live.load import load
from tools.dashboards.live.panel_data import ANY, Stretch, shown
from tools.dashboards.live.stand import running

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="apt-get install prometheus"),
]

LOAD_S = 60.0

EMPTY_IF_HEALTHY: dict[str, str] = {}
"""Panels that show nothing while nothing is wrong, and why. None: what counts faults is 0 before the first one."""


def test_every_panel_of_every_dashboard_has_data() -> None:
    """From a real Prometheus, of real daemons; each query of a panel that asks for several too."""
    with running(HADOOP, print) as stand:
        namenode, superuser = stand.cluster.namenodes[0].http, stand.cluster.superuser
        addresses = [proxy.address for proxy in stand.proxies]
        assert asyncio.run(load(namenode, superuser, addresses, LOAD_S)) > 0
        now = stand.prometheus.now()
        stretch = Stretch(start=now - LOAD_S / 2, end=now, step_s=2.0, rate_interval="15s")
        empty = list[str]()
        for board in BOARDS:
            instance = stand.proxies[0].admin if board.is_of_one else ANY
            lines = shown(board, stand.prometheus, stretch, instance)
            for panel in board.panels:
                patterns = {query.legend.partition("{{")[0] for query in panel.queries}
                names = {each.legend for each in lines[panel.title]}
                if not names or not all(any(name.startswith(each) for name in names) for each in patterns):
                    empty.append(f"{board.name}: {panel.title}")
        assert set(empty) == EMPTY_IF_HEALTHY.keys()
