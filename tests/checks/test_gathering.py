"""A hanging source does not keep the other facts from being gathered."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from nncache.checks import gathering
from nncache.clock import boottime
from nncache.namenode.cluster import LightCluster
from nncache.settings.commands import PROXY
from tests.checks.samples import subject
from tests.processes import free_address


def test_an_edits_dir_that_hangs_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault is not reported as a missing active NameNode."""
    monkeypatch.setattr(gathering, "THEN_S", 2.0)
    os.mkfifo(tmp_path / "VERSION")
    with LightCluster() as light:
        flags = {
            "namenode_http": (light.namenode_http,),
            "namenode_rpc": (light.namenode_rpc,),
            "listen": "127.0.0.1:0",
            "admin": "127.0.0.1:0",
            "edits_source": "directory",
            "edits_dir": str(tmp_path),
        }
        facts = asyncio.run(gathering.gather(subject(PROXY, flags), boottime, lambda _: None))
    assert facts.directory == f"{tmp_path}: no answer in 2 s"


def test_journalnodes_that_hang_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that have answered are judged; a missing active NameNode is not reported."""
    monkeypatch.setattr(gathering, "THEN_S", 1.0)  # less than the timeout of one question to a JournalNode
    with LightCluster() as light, socket.create_server(("127.0.0.1", 0)) as silent:
        refusing, address = free_address(), "{}:{}".format(*silent.getsockname())
        flags = {
            "namenode_http": (light.namenode_http,),
            "namenode_rpc": (light.namenode_rpc,),
            "listen": "127.0.0.1:0",
            "admin": "127.0.0.1:0",
            "edits_source": "journalnodes",
            "shared_edits_dir": f"qjournal://{refusing};{address}/ns1",
        }
        facts = asyncio.run(gathering.gather(subject(PROXY, flags), boottime, lambda _: None))
    assert facts.journalnodes is not None
    assert "cannot connect" in facts.journalnodes[refusing].trouble
    assert facts.journalnodes[address].trouble == "no answer in 1 s"
