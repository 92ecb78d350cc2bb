"""What servers use up, by their own word and the operating system's. (bench/servers/counters.py)"""

import json
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import psutil

from testbed.cluster import Cluster

_TIMEOUT_S: Final = 10.0
_RPC_METHODS: Final = {
    "IsFileClosedNumOps": "isFileClosed",
    "GetEditsFromTxidNumOps": "upkeep:getEditsFromTxid",
    "RollEditLogNumOps": "upkeep:rollEditLog",
    "MsyncNumOps": "upkeep:msync",
}
"""Of RpcDetailedActivity (Hadoop 3.5.0, RpcDetailedMetrics); what was never called is not there."""

_ACTIVITY: Final = {"FileInfoOps": "getFileInfo", "GetListingOps": "upkeep:getListing"}
"""Of NameNodeActivity (Hadoop 3.5.0, NameNodeMetrics); WebHDFS calls are counted like RPC calls."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What has been counted so far: by (source, name, unit)."""

    values: Mapping[tuple[str, str, str], float]

    def since(self, before: "Sample") -> list[dict[str, object]]:
        """Return the rows of the table `counters`: what was added since; of memory, what there is."""
        return [
            {
                "source": source,
                "name": name,
                "value": value if unit == "bytes" else value - before.values.get((source, name, unit), 0.0),
                "unit": unit,
            }
            for (source, name, unit), value in sorted(self.values.items())
        ]


def sample(
    cluster: Cluster, processes: Mapping[str, int], upkeep: Callable[[], Mapping[str, float]]
) -> Sample:
    """Look at all counters now.

    Args:
        cluster: whose NameNode is asked (JMX).
        processes: by source, the process whose CPU and memory count, with its children.
        upkeep: calls to the NameNode that it does not count itself, by name: probes over JMX.
    """
    values: dict[tuple[str, str, str], float] = {}
    for name, calls in {**_namenode_calls(cluster.namenodes[0].http), **upkeep()}.items():
        values["namenode", name, "calls"] = calls
    pid = cluster.namenodes[0].process.pid
    assert pid is not None
    for source, each in {"namenode": pid, **processes}.items():
        used = [used_by(psutil.Process(each))] if source == "namenode" else _with_children(each)
        values[source, "cpu", "s"] = sum(cpu_s for cpu_s, _ in used)
        values[source, "resident", "bytes"] = sum(resident for _, resident in used)
    return Sample(values)


def _with_children(pid: int) -> list[tuple[float, int]]:
    process = psutil.Process(pid)
    return [used_by(each) for each in (process, *process.children(recursive=True))]


def used_by(process: psutil.Process) -> tuple[float, int]:
    """Return the CPU seconds (user and system) of a process, and its resident bytes."""
    times = process.cpu_times()
    return times.user + times.system, process.memory_info().rss


def _namenode_calls(http: str) -> dict[str, float]:
    """Return how often the NameNode was called, by name."""
    calls: dict[str, float] = {}
    for bean in _beans(http):
        if bean["name"] == "Hadoop:service=NameNode,name=NameNodeActivity":
            calls |= {name: float(bean[key]) for key, name in _ACTIVITY.items()}
        elif bean["name"].startswith("Hadoop:service=NameNode,name=RpcDetailedActivityForPort"):
            for key, name in _RPC_METHODS.items():
                calls[name] = calls.get(name, 0.0) + float(bean.get(key, 0.0))
    return calls


def _beans(http: str) -> list[dict[str, Any]]:
    query = "Hadoop:service=NameNode,name=*"
    with urllib.request.urlopen(f"http://{http}/jmx?qry={query}", timeout=_TIMEOUT_S) as reply:
        beans: list[dict[str, Any]] = json.load(reply)["beans"]
    return beans
