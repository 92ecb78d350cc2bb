"""Invented figures of each room, for tests of their display."""

import dataclasses
from collections import Counter
from typing import TypeVar

from nncache.admin.server import AdminStats
from nncache.auditing.audit_judge import AuditOutcome
from nncache.auditing.auditor import AuditStats
from nncache.cache.decisions import Conclusion, MissReason
from nncache.cache.stats import CacheStats
from nncache.coordination.linearizable import ZnodesStats
from nncache.coordination.zookeeper import SessionStats
from nncache.daemons.dns_wiring import DnsStats
from nncache.daemons.watchdog import LoopStats
from nncache.events.endpoint import EventStats
from nncache.events.stream import StreamEnd
from nncache.hadoop.namenodes.pool import PoolStats
from nncache.invalidation.publisher.stats import PublisherStats
from nncache.invalidation.stats import ChannelStats, JournalStats, RecordStats, StreamStats
from nncache.metrics.metric import ROOMS, Daemon
from nncache.namenode.node.observing import NamespaceStats
from nncache.net.balancers.balancers import BalancerStats
from nncache.proxy.cache_status import Bypass
from nncache.proxy.clients.fastpath import FastPathStats
from nncache.proxy.clients.server import ServerStats
from nncache.proxy.decide.front_end import FrontEndStats
from nncache.proxy.decide.waits import WaitEnd
from nncache.proxy.traffic import BOUNDS_S, Durations, Result, TrafficStats
from nncache.proxy.upstream.client import ForwardStats
from nncache.registry.registration import RegistrationStats
from nncache.registry.rest.endpoint import RegistryAnswer, RegistryStats
from nncache.request_logs.request_logs import RequestLogStats
from nncache.spnego.stats import NO_TERMINATION
from nncache.tenants.tenants import TenantStats
from nncache.tls_server.listener import TlsStats

StatsT = TypeVar("StatsT")


def made_up(daemon: Daemon) -> dict[str, object]:
    """Return a Stats value for each room of the daemon."""
    return {room: stats for room, stats in _all().items() if daemon in ROOMS[room]}


def _made(kind: type[StatsT], **given: object) -> StatsT:
    """Return figures in which all others are 0 or their default."""
    fields = dataclasses.fields(kind)  # type: ignore[arg-type] # any dataclass
    zero = {each.name: 0 for each in fields if each.default is each.default_factory is dataclasses.MISSING}
    return kind(**zero | given)


def _all() -> dict[str, object]:
    return {
        "admin": AdminStats(connections_open=1),
        "audit": AuditStats({AuditOutcome.SAME: 1}),
        "balancers": BalancerStats(headers=1, headers_refused=1),
        "loop": LoopStats(stalls=1, stalled_s=0.2, lag_s=0.01),
        "cache": CacheStats(
            entries=1,
            grants=1,
            directories=1,
            bytes=1,
            is_open=True,
            gate_age_s=0.1,
            max_staleness_s=3.0,
            covered_txid=9,
            decisions=Counter({MissReason.NO_GRANT: 3}),
            conclusions=Counter({Conclusion.STORED: 2}),
        ),
        "forward": _made(ForwardStats, calls=1, connections_idle=1),
        "dns": DnsStats(names=5, responses={"NOERROR": 2}, dropped={"rate": 1}),
        "events": EventStats(streams=1, followed=1, sent=2, ended={StreamEnd.LEFT: 1}, not_admitted=1),
        "front_end": _made(
            FrontEndStats,
            forwarded={MissReason.MISS: 1, Bypass.METHOD: 2},
            fetches=1,
            calls_refused={"max_calls": 1},
            waits={},
        ),
        "pool": _made(PoolStats, namenodes=2, reachable=1, has_active=1, term=1, probes={"nn1:9870": 1}),
        "fast_path": FastPathStats(hits=1, heads=1, bytes_held=900, evicted=0),
        "termination": NO_TERMINATION,
        "tls": TlsStats(),
        "server": _made(ServerStats, connections_open=1, connections_accepted=1),
        "namespace": NamespaceStats(operations={("MKDIRS", "done"): 1}, namenodes=3, queued={"trees": 2}),
        "journal": JournalStats(),
        "polling": ChannelStats(),
        "publisher": PublisherStats(),
        "records": RecordStats(),
        "registration": RegistrationStats(is_wanted=True, is_registered=True, is_connected=True),
        "registry": RegistryStats(answers={RegistryAnswer.FOUND: 3}, waits={WaitEnd.CHANGED: 1}),
        "request_logs": RequestLogStats(lost={"access": 1}),
        "tenants": TenantStats(requests={"ann": 2}, hits={"ann": 1}, calls={"ann": 1}, bytes=1),
        "stream": StreamStats(),
        "traffic": TrafficStats(
            requests={(Result.HIT, "GETFILESTATUS"): 5, (Result.FORWARDED, "LISTSTATUS"): 2},
            durations={Result.HIT: Durations(counts=(4, 1, *[0] * (len(BOUNDS_S) - 1)), sum_s=0.0002)},
        ),
        "znodes": ZnodesStats(reads=1),
        "zookeeper": SessionStats(),
    }
