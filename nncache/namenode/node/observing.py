"""Observe the state of a namespace for operators: its NameNodes, DataNodes, queues, leases and feed."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from nncache.coordination.zookeeper import Znodes
from nncache.hadoop import feed_znodes
from nncache.namenode.namespace import layout

PER_DATANODE: Final = frozenset({"block_reports", "delete", "replicate"})
"""Queues that have a znode for each DataNode, with its items below."""

SHOWN: Final = 100
"""Maximum number of leases in an overview."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceStats:
    """The state of the namespace at the last `look`, and this NameNode's operations since start."""

    operations: Mapping[tuple[str, str], int] = field(default_factory=dict)  # by operation and outcome
    is_active: bool = False
    namenodes: int = 0
    datanodes_live: int = 0
    datanodes_stale: int = 0  # registered, without a heartbeat
    leases: int = 0
    queued: Mapping[str, int] = field(default_factory=dict)  # items, by queue
    segments: int = 0  # of the feed
    age_s: float = 0.0  # since the last `look`


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The same state with names, for operators."""

    stats: NamespaceStats = field(default_factory=NamespaceStats)
    active: str = ""  # name of the active NameNode
    namenodes: Mapping[str, object] = field(default_factory=dict)  # the record of each, by name
    datanodes: Mapping[str, object] = field(default_factory=dict)
    leases: Mapping[str, int] = field(default_factory=dict)  # number of open files, by holder; at most SHOWN


class Observer:
    """Reads the state of a namespace at each `look`."""

    def __init__(self, znodes: Znodes, own_name: str, now: Callable[[], float]) -> None:
        self._znodes = znodes
        self._own_name = own_name
        self._now = now
        self.seen = Overview()
        """The last overview."""
        self._seen_at = -math.inf

    @property
    def age_s(self) -> float:
        """Seconds since the last `look`."""
        return self._now() - self._seen_at

    def stats(self, operations: Mapping[tuple[str, str], int]) -> NamespaceStats:
        """Return the figures, with the operations of this NameNode."""
        return replace(self.seen.stats, operations=dict(operations), age_s=self.age_s)

    async def look(self) -> None:
        """Read the state. Raises CoordinationError: the last overview stays."""
        health, datanodes = await self._below(layout.HEALTH)
        heartbeats = await self._znodes.get_many([layout.heartbeat(name) for name in health])
        live = {name: beat is not None for name, beat in zip(health, heartbeats, strict=True)}
        _, namenodes = await self._below(layout.NAME_NODES)
        holders = await self._znodes.children(layout.LEASES)
        leases = await self._znodes.get_many([f"{layout.LEASES}/{holder}" for holder in holders[:SHOWN]])
        (active,) = await self._znodes.get_many([layout.ACTIVE])
        name = "" if active is None else active.data.decode(errors="replace")
        stats = NamespaceStats(
            is_active=name == self._own_name,
            namenodes=len(namenodes),
            datanodes_live=sum(live.values()),
            datanodes_stale=len(live) - sum(live.values()),
            leases=len(holders),
            queued=await self._queued(),
            segments=len(await self._znodes.children(feed_znodes.EDITS)),
        )
        self._seen_at = self._now()
        self.seen = Overview(
            stats=stats,
            active=name,
            namenodes=namenodes,
            datanodes={name: {"is_live": live[name], "record": datanodes.get(name)} for name in health},
            leases={
                layout.unescape(holder): lease.children
                for holder, lease in zip(holders, leases, strict=False)
                if lease is not None
            },
        )

    async def _below(self, path: str) -> tuple[tuple[str, ...], dict[str, object]]:
        """Return the names of a znode's children, and the JSON of each child; "corrupt" for other data."""
        names = await self._znodes.children(path)
        records: dict[str, object] = {}
        for name, znode in zip(
            names, await self._znodes.get_many([f"{path}/{name}" for name in names]), strict=True
        ):
            if znode is not None:
                try:
                    records[name] = msgspec.json.decode(znode.data)
                except msgspec.MsgspecError:
                    records[name] = "corrupt"
        return names, records

    async def _queued(self) -> dict[str, int]:
        names = await self._znodes.children(layout.WORK_QUEUES)
        queues = await self._znodes.get_many([f"{layout.WORK_QUEUES}/{name}" for name in names])
        queued = {
            name: queue.children for name, queue in zip(names, queues, strict=True) if queue is not None
        }
        for name in PER_DATANODE & queued.keys():
            path = f"{layout.WORK_QUEUES}/{name}"
            datanodes = await self._znodes.children(path)
            found = await self._znodes.get_many([f"{path}/{datanode}" for datanode in datanodes])
            queued[name] = sum(each.children for each in found if each is not None)
        return queued
