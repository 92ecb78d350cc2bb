"""The settings of one run of the benchmark."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from nncache.bench.servers.counters import NameNodeAt
from nncache.bench.servers.nncache import Channel
from nncache.bench.shared.figures import Mode
from nncache.bench.shared.plan import ROOT
from nncache.bench.shared.workload import Workload
from nncache.invalidation.settings import INOTIFY

WARM_UP_S: Final = 10.0  # least duration of the polls before a mode is measured
ALSO_S: Final = 30.0  # longest measured time at each further poll period, unless two periods are longer


def warm_up_for(period_s: float) -> float:
    """Return the duration in seconds of the polls that fill a cache, with two polls of each path."""
    return max(WARM_UP_S, 2 * period_s)


NOT_BY_PERIOD: Final = frozenset({Mode.WAITING, Mode.NGINX, Mode.UNPOLLED})
"""Modes that are not run at further poll periods: the period is another time limit for them, or has no effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The settings of one run."""

    workload: Workload
    seed: int
    modes: tuple[Mode, ...]  # run in this order, all against the same NameNode
    duration_s: float  # measured time of each mode
    warm_up_s: float  # uncounted polls and changes before the measured time of each mode
    jvm_warm_up_s: float  # polls of the NameNode before the first mode, so that its JVM compiles the hot code
    channel: Channel
    nginx_valid_s: int  # time to live of an answer in nginx's cache
    bound_s: float  # the age above which an answer is wrong: the proxy's max_staleness_s
    hadoop: str
    master: str  # of Spark
    directory: Path  # of tables, charts and report
    command: str
    root: str = ROOT  # the directory in HDFS whose children have the modes' files
    # the active NameNode of an external cluster, with no files below `root`; None: the run starts a cluster
    namenode: NameNodeAt | None = None
    proxy: str = ""  # "host:port" of its nncache, whose filters must match `root`/*/*/*/*/_SUCCESS*
    # further poll periods, at which direct and nncache run for a short time afterwards
    also_periods_s: tuple[float, ...] = ()
    variant: str = ""  # suffix of the modes' directories in HDFS
    # the source of edits, as in nncache's setting; with `JOURNALNODES` the cluster has three of them
    edits_source: str = INOTIFY
    # from the order to poll until the warm-up begins: the tasks read the order and compute their polls
    lead_s: float = 4.0

    def at_period(self, period_s: float) -> "RunSettings":
        """Return the settings of the short run at another poll period, with its own files and results."""
        name = f"period-{period_s:g}s"
        return replace(
            self,
            workload=replace(self.workload, period_s=period_s),
            modes=tuple(mode for mode in self.modes if mode not in NOT_BY_PERIOD),
            duration_s=max(min(ALSO_S, self.duration_s), 2 * period_s),
            warm_up_s=max(min(WARM_UP_S, self.warm_up_s), 2 * period_s),
            directory=self.directory / name,
            also_periods_s=(),
            variant=f"-{name}",
        )
