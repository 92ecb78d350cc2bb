"""What one run of the benchmark is to do."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from nncache.bench.servers.counters import NameNodeAt
from nncache.bench.servers.nncache import Channel
from nncache.bench.shared.figures import Mode
from nncache.bench.shared.plan import ROOT
from nncache.bench.shared.workload import Workload
from nncache.invalidation.settings import INOTIFY

WARM_UP_S: Final = 10.0  # seconds of polls before a mode is measured, if two polls fit into them
ALSO_S: Final = 30.0  # measured seconds at each further poll period, if two polls fit into them


def warm_up_for(period_s: float) -> float:
    """Return how many seconds of polls fill a cache: each path has been asked for twice."""
    return max(WARM_UP_S, 2 * period_s)


NOT_BY_PERIOD: Final = frozenset({Mode.WAITING, Mode.NGINX, Mode.UNPOLLED})
"""Modes for which another poll period is another time limit, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """One run."""

    workload: Workload
    seed: int
    modes: tuple[Mode, ...]  # in this order, all against the same NameNode
    duration_s: float  # of the measured time of each mode
    warm_up_s: float  # polls and changes of each mode before it, which are not counted
    jvm_warm_up_s: float  # polls of the NameNode before the first mode: its JVM compiles what is hot
    channel: Channel
    nginx_valid_s: int  # for how long nginx keeps an answer
    bound_s: float  # the age above which an answer is wrong: the proxy's max_staleness_s
    hadoop: str
    master: str  # of Spark
    directory: Path  # where tables, charts and report go
    command: str
    root: str = ROOT  # the directory in HDFS whose children have the modes' files
    # of a cluster of one's own: its active NameNode, below whose `root` nothing may be yet; None: the run starts one
    namenode: NameNodeAt | None = None
    proxy: str = ""  # "host:port" of an nncache before it, whose filters must match `root`/*/*/*/*/_SUCCESS*
    # other poll periods, at which direct and nncache are run for a short time after that
    also_periods_s: tuple[float, ...] = ()
    variant: str = ""  # what is added to the names of the modes' directories in HDFS
    # from which nncache reads edits, as its setting; of `JOURNALNODES` the cluster has three
    edits_source: str = INOTIFY
    # from the order to poll until the warm-up begins: the tasks read the order and work out their polls
    lead_s: float = 4.0

    def at_period(self, period_s: float) -> "RunSettings":
        """Return the short run at another poll period, with files and results of its own."""
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
