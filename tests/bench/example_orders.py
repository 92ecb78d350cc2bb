"""Small orders for tasks that poll."""

from nncache.bench.polling.clock import boottime
from nncache.bench.polling.task import Orders
from nncache.bench.shared.workload import Workload


def orders(pollers: int, server: str, clock: str, **changed: float) -> Orders:
    """Return orders for two tasks, one poll a second of each poller."""
    workload = Workload(name="test", description="", pollers=pollers, period_s=1.0, globs=5, paths=20)
    return Orders(
        workload=workload,
        seed=3,
        tasks=2,
        server=server,
        clock=clock,
        zero_s=changed.get("zero_s", boottime() + 1.0),
        warm_up_s=changed.get("warm_up_s", 0.5),
        duration_s=changed.get("duration_s", 1.0),
    )
