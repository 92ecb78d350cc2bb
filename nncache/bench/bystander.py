"""A client that does not poll: the duration of its RPC calls to a NameNode that others poll.

It calls checkAccess, which takes the namespace's read lock as most calls do, at a fixed rate. It sends each call on
time, even if the previous one has no answer. It also reads the NameNode's own figures of its RPC port.
"""

import asyncio
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from nncache.bench.polling.clock import boottime
from nncache.bench.polling.task import Orders
from nncache.bench.servers.counters import NameNodeAt, beans
from nncache.hadoop.errors import HadoopError
from nncache.hadoop.rpc.namenode import NameNodeRpc

CALLS_PER_S: Final = 20.0  # few enough to be no load

LOOK_EVERY_S: Final = 1.0
"""Interval of reading the NameNode's figures, renewed about every 10 s (hadoop-metrics2.properties, `*.period`)."""

TIME_UNIT: Final[Mapping[str, str]] = {"rpc.metrics.timeunit": "MICROSECONDS"}
"""A NameNode setting: in milliseconds, the default, most times would be 0 (CommonConfigurationKeys)."""

_ACTIVITY: Final = "Hadoop:service=NameNode,name=RpcActivityForPort"
_TIMEOUT_S: Final = 5.0
_MICROSECONDS: Final = 1e6

KINDS: Final[Mapping[str, str]] = {
    "queue": "RpcQueueTime",
    "lock wait": "RpcLockWaitTime",
    "processing": "RpcProcessingTime",
}
"""The phases of a call, in order, with their names in RpcActivityForPort (Hadoop 3.5.0, RpcMetrics)."""


def observe(at: NameNodeAt, orders: Orders, has_failed: threading.Event) -> list[dict[str, object]]:
    """Return the rows of the table `others`; none if the RPC port is unknown. End early if the run fails."""
    if not at.rpc:
        return []
    has_failed.wait(max(0.0, orders.zero_s - boottime()))
    return asyncio.run(_observe(at, orders, has_failed))


async def _observe(at: NameNodeAt, orders: Orders, has_failed: threading.Event) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    namenode = NameNodeRpc(at.rpc, at.superuser, timeout_s=_TIMEOUT_S)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_look(at, orders, has_failed, rows))
            for number in range(round(orders.duration_s * CALLS_PER_S)):
                due_s = orders.zero_s + number / CALLS_PER_S
                await asyncio.sleep(max(0.0, due_s - boottime()))
                if has_failed.is_set():
                    break
                group.create_task(_call(namenode, orders, due_s, rows))
    finally:
        await namenode.close()
    return rows


async def _call(namenode: NameNodeRpc, orders: Orders, due_s: float, rows: list[dict[str, object]]) -> None:
    error = None
    try:
        await namenode.may_write(orders.plan.root)
    except HadoopError as exc:
        error = str(exc)
    took_s = boottime() - due_s
    rows.append(_row(orders, due_s, "call", took_s, 1, error))


async def _look(
    at: NameNodeAt, orders: Orders, has_failed: threading.Event, rows: list[dict[str, object]]
) -> None:
    """Append each new mean time of the NameNode, with the number of calls since the previous one."""
    before, port = None, at.rpc.rpartition(":")[2]
    while boottime() < orders.ends_s and not has_failed.is_set():
        with suppress(OSError):  # an overloaded NameNode may not answer
            (now,) = await asyncio.to_thread(beans, at.http, f"{_ACTIVITY}{port}")
            calls = now["RpcQueueTimeNumOps"]
            if before is not None and calls > before:
                for kind, name in KINDS.items():
                    mean_s = float(now[f"{name}AvgTime"]) / _MICROSECONDS
                    rows.append(_row(orders, boottime(), kind, mean_s, calls - before))
            before = calls
        await asyncio.sleep(LOOK_EVERY_S)


def _row(
    orders: Orders, at_s: float, kind: str, seconds: float, calls: int, error: str | None = None
) -> dict[str, object]:
    return {"at_s": at_s - orders.zero_s, "kind": kind, "seconds": seconds, "calls": calls, "error": error}
