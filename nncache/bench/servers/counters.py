"""The resource usage of servers, as they and the operating system report it."""

import json
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import psutil

TIMEOUT_S: Final = 60.0
"""Timeout of a page: an overloaded NameNode is slow, and a proxy serves its page only between rounds of connections."""
_AGE_S: Final = 2.0  # maximum age of the NameNode's call counters (seen: 1 s)
_NAMENODE_ACTIVITY: Final = "Hadoop:service=NameNode,name=NameNodeActivity"
_RPC_ACTIVITY: Final = "Hadoop:service=NameNode,name=RpcDetailedActivityForPort"
_RPC_METHODS: Final = {
    "IsFileClosedNumOps": "isFileClosed",
    "GetEditsFromTxidNumOps": "upkeep:getEditsFromTxid",
    "RollEditLogNumOps": "upkeep:rollEditLog",
    "MsyncNumOps": "upkeep:msync",
}
"""Counters of RpcDetailedActivity (Hadoop 3.5.0, RpcDetailedMetrics); it omits methods that were never called."""

_ACTIVITY: Final = {"FileInfoOps": "getFileInfo", "GetListingOps": "upkeep:getListing"}
"""Counters of NameNodeActivity (Hadoop 3.5.0, NameNodeMetrics), which count WebHDFS calls like RPC calls."""


Sample = dict[tuple[str, str, str], float]  # values since start, by (source, name, unit)


def added(before: Sample, after: Sample) -> list[dict[str, object]]:
    """Return the rows of the table `counters`: the increase between two samples; for memory, the later value."""
    since = (
        (key, value if key[2] == "bytes" else value - before.get(key, 0.0)) for key, value in after.items()
    )
    return [
        {"source": source, "name": name, "value": value, "unit": unit}
        for (source, name, unit), value in sorted(since)
    ]


@dataclass(frozen=True, slots=True)
class NameNodeAt:
    """A NameNode whose resource usage is measured."""

    http: str  # "host:port" of its WebHDFS and JMX
    superuser: str  # may change all files
    pid: int | None = None  # its process, if on this host; else its own figures count
    rpc: str = ""  # "host:port" of its RPC server; empty if unknown


def sample(
    namenode: NameNodeAt, processes: Mapping[str, int], upkeep: Callable[[], Mapping[str, float]]
) -> Sample:
    """Read all counters: those in JMX, and CPU and memory of the processes with their children, by source.

    `upkeep` returns the calls that the NameNode does not count itself, by name: probes over JMX.
    """
    calls = {**calls_of(namenode.http), **upkeep()}
    values: Sample = {("namenode", name, "calls"): count for name, count in calls.items()}
    for source, pid in processes.items():
        values[source, "cpu", "s"], values[source, "resident", "bytes"] = use_of(pid)
    if namenode.pid is not None:
        values["namenode", "cpu", "s"], values["namenode", "resident", "bytes"] = use_of(namenode.pid)
    else:
        (system,) = beans(namenode.http, "java.lang:type=OperatingSystem")
        values["namenode", "cpu", "s"] = system["ProcessCpuTime"] / 1e9
    return values


def use_of(pid: int) -> tuple[float, int]:
    """Return the CPU seconds (user and system) since start and the resident bytes of a process and its children."""
    process = psutil.Process(pid)
    cpu_s, resident = _own_use_of(process)
    for child in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has just ended
            its_cpu_s, its_resident = _own_use_of(child)
            cpu_s, resident = cpu_s + its_cpu_s, resident + its_resident
    return cpu_s, resident


def _own_use_of(process: psutil.Process) -> tuple[float, int]:
    times = process.cpu_times()
    return times.user + times.system, process.memory_info().rss


def calls_of(http: str) -> dict[str, float]:
    """Return a NameNode's call counters since its start, by name."""
    found = beans(http, "Hadoop:service=NameNode,name=*")
    rpc, activity = _rpc_calls(found), (bean for bean in found if bean["name"] == _NAMENODE_ACTIVITY)
    calls = {name: float(rpc[key]) for key, name in _RPC_METHODS.items() if key in rpc}
    return calls | {name: float(bean[key]) for bean in activity for key, name in _ACTIVITY.items()}


def _rpc_calls(found: Iterable[Mapping[str, Any]]) -> Counter[str]:
    calls: Counter[str] = Counter()
    for bean in found:
        if bean["name"].startswith(_RPC_ACTIVITY):
            for name, count in bean.items():
                if name.endswith("NumOps") and not name.startswith(
                    "Overall"
                ):  # the same calls, timed differently
                    calls[name] += int(count)
    return calls


def page_of(address: str, path: str) -> str:
    """Return a page of a server, which may be slow under load."""
    with urllib.request.urlopen(f"http://{address}{path}", timeout=TIMEOUT_S) as reply:
        return str(reply.read().decode())


def beans(http: str, query: str) -> list[dict[str, Any]]:
    """Return a NameNode's JMX beans for a query."""
    found: list[dict[str, Any]] = json.loads(page_of(http, f"/jmx?qry={query}"))["beans"]
    return found


def settled_calls(http: str) -> Counter[str]:
    """Wait until a NameNode's counters include all calls before this one, and return them.

    They count RPC calls by method, at any port (RpcDetailedMetrics: GetXAttrsNumOps), and file operations over RPC or
    WebHDFS (TotalFileOps). In the latter a listing of many directories counts once, and reading attributes not at all.
    """
    time.sleep(_AGE_S)
    found = beans(http, "Hadoop:service=NameNode,name=*")
    (files,) = (bean["TotalFileOps"] for bean in found if bean["name"] == _NAMENODE_ACTIVITY)
    return _rpc_calls(found) + Counter(TotalFileOps=int(files))
