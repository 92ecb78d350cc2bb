"""What one run of the benchmark is to do. (bench/settings.py)"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from bench.plan import ROOT
from bench.servers.nncache import Channel
from bench.workload import Workload


class Mode(StrEnum):
    """Whom the pollers ask."""

    DIRECT = "direct"  # the NameNode itself
    NNCACHE = "nncache"
    NGINX = "nginx"  # proxy_cache with a time limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """A cluster of one's own, instead of one that the run starts.

    Attributes:
        namenode: "host:port" of its active NameNode's WebHDFS.
        superuser: as whom the files are made and changed below `RunSettings.root`, which must not exist yet.
        servers: "host:port" of what stands before it, by mode; their filters must match `root`/MODE/*/*/*/_SUCCESS*.
    """

    namenode: str
    superuser: str
    servers: dict[Mode, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """One run.

    Attributes:
        modes: in this order, all against the same NameNode.
        duration_s: of the measured time of each mode.
        warm_up_s: polls and changes of each mode before it, which are not counted.
        jvm_warm_up_s: polls of the NameNode before the first mode: its JVM compiles what is hot.
        nginx_valid_s: for how long nginx keeps an answer.
        bound_s: the age above which an answer is wrong: the proxy's max_staleness_s.
        master: of Spark.
        directory: where tables, charts and report go.
        root: the directory in HDFS whose children the modes' files are in.
        elsewhere: the cluster, if it is one's own.
        lead_s: from the order to poll until the warm-up begins: the tasks read the order and work out their polls.
    """

    workload: Workload
    seed: int
    modes: tuple[Mode, ...]
    duration_s: float
    warm_up_s: float
    jvm_warm_up_s: float
    channel: Channel
    nginx_valid_s: int
    bound_s: float
    hadoop: str
    master: str
    directory: Path
    command: str
    root: str = ROOT
    elsewhere: Elsewhere | None = None
    lead_s: float = 4.0
