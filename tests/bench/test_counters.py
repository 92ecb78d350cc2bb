"""What servers use up, as the table has it."""

import json
import os
import subprocess
import sys
from typing import Any

import psutil
import pytest

from nncache.bench.servers.counters import NameNodeAt, Sample, sample
from tests.bench.polling_server import Act, Script, reply, serving

ACTIVITY = {"name": "Hadoop:service=NameNode,name=NameNodeActivity", "FileInfoOps": 12, "GetListingOps": 3}
RPC = "Hadoop:service=NameNode,name=RpcDetailedActivityForPort"
BEANS = (
    ACTIVITY,
    {"name": f"{RPC}8020", "IsFileClosedNumOps": 5, "GetEditsFromTxidNumOps": 40, "GetFileInfoNumOps": 99},
    {"name": f"{RPC}8021", "IsFileClosedNumOps": 2},
    {"name": "Hadoop:service=NameNode,name=FSNamesystem", "FileInfoOps": 1_000},
)
"""The same calls are counted twice by Hadoop: by what they do and by their method's name."""


def jmx(*beans: dict[str, Any]) -> Act:
    """Return a reply of the NameNode's."""
    return Act(data=reply(json.dumps({"beans": beans}).encode()))


def probes() -> dict[str, float]:
    """Return calls that the NameNode does not count."""
    return {"upkeep:probe (JMX)": 7.0}


def test_calls_are_counted_by_the_namenode_or_else_by_us() -> None:
    """Of all its ports; each call once."""
    script = Script({"/jmx": (jmx(*BEANS),)})
    with serving(script) as server:
        found = sample(NameNodeAt(server, "hdfs", os.getpid()), {}, probes)
    calls = {
        name: value
        for (source, name, unit), value in found.values.items()
        if (source, unit) == ("namenode", "calls")
    }
    assert calls == {
        "getFileInfo": 12,
        "upkeep:getListing": 3,
        "isFileClosed": 7,
        "upkeep:getEditsFromTxid": 40,
        "upkeep:rollEditLog": 0,
        "upkeep:msync": 0,
        "upkeep:probe (JMX)": 7,
    }
    assert script.targets == ["/jmx?qry=Hadoop:service=NameNode,name=*"]


def test_a_child_that_ends_while_one_looks_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is gone itself is an error."""
    child = subprocess.Popen((sys.executable, "-c", "input()"), stdin=subprocess.PIPE)
    gone = psutil.Process(child.pid)
    child.communicate()
    monkeypatch.setattr(psutil.Process, "children", lambda *_, **__: [gone])
    with serving(Script({"/jmx": (jmx(ACTIVITY), jmx(ACTIVITY))})) as server:
        assert sample(NameNodeAt(server, "hdfs", os.getpid()), {}, probes).values["namenode", "cpu", "s"] > 0
        with pytest.raises(psutil.NoSuchProcess):
            sample(NameNodeAt(server, "hdfs", child.pid), {}, probes)


def test_a_namenode_elsewhere_says_itself_what_it_uses() -> None:
    """Its CPU time, in nanoseconds; its memory is not asked for."""
    script = Script({"/jmx": (jmx(ACTIVITY), jmx({"ProcessCpuTime": 12_500_000_000}))})
    with serving(script) as server:
        found = sample(NameNodeAt(server, "hdfs"), {}, probes).values
    assert found["namenode", "cpu", "s"] == 12.5
    assert ("namenode", "resident", "bytes") not in found
    assert script.targets[1] == "/jmx?qry=java.lang:type=OperatingSystem"


def test_what_counts_is_what_was_added() -> None:
    """But of memory what there is; what was not there before counts from nothing."""
    before = Sample({("proxy", "cpu", "s"): 1.5, ("proxy", "resident", "bytes"): 300.0})
    after = Sample(
        {
            ("proxy", "resident", "bytes"): 200.0,
            ("proxy", "cpu", "s"): 4.0,
            ("namenode", "getFileInfo", "calls"): 8.0,
        }
    )
    assert after.since(before) == [
        {"source": "namenode", "name": "getFileInfo", "value": 8.0, "unit": "calls"},
        {"source": "proxy", "name": "cpu", "value": pytest.approx(2.5), "unit": "s"},
        {"source": "proxy", "name": "resident", "value": 200.0, "unit": "bytes"},
    ]
