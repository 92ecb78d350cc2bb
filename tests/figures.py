"""Figures of each room, made up, for tests of what shows them."""

from collections import Counter

from nncache.admin.server import AdminStats
from nncache.cache.decisions import Conclusion, Reason
from nncache.cache.stats import CacheStats
from nncache.coordination.zookeeper import SessionStats
from nncache.daemons.dns_wiring import DnsStats
from nncache.daemons.registration import RegistrationStats
from nncache.daemons.watchdog import LoopStats
from nncache.hadoop.pool import PoolStats
from nncache.invalidation.publisher.stats import PublisherStats
from nncache.invalidation.stats import ChannelStats, RecordStats, StreamStats
from nncache.metrics.metric import ROOMS, Daemon
from nncache.proxy.audit_judge import AuditOutcome
from nncache.proxy.auditor import AuditStats
from nncache.proxy.cache_status import Bypass
from nncache.proxy.clients.fastpath import FastPathStats
from nncache.proxy.clients.server import ServerStats
from nncache.proxy.clients.tls_listener import TlsStats
from nncache.proxy.events.endpoint import EventStats
from nncache.proxy.events.stream import StreamEnd
from nncache.proxy.front_end import FrontEndStats
from nncache.proxy.registry_endpoint import RegistryAnswer, RegistryStats
from nncache.proxy.termination.stats import NO_TERMINATION
from nncache.proxy.traffic import BOUNDS_S, Durations, Result, TrafficStats
from nncache.proxy.upstream.client import ForwardStats
from nncache.proxy.wait_groups import WaitEnd
from nncache.request_logs.request_logs import RequestLogStats


def made_up(daemon: Daemon) -> dict[str, object]:
    """Return one Stats value per room of the daemon."""
    return {room: stats for room, stats in _all().items() if daemon in ROOMS[room]}


def _all() -> dict[str, object]:
    return {
        "admin": AdminStats(connections_open=1, connections_refused=0, pages_refused=0),
        "audit": AuditStats({AuditOutcome.SAME: 1}),
        "loop": LoopStats(stalls=1, stalled_s=0.2, lag_s=0.01),
        "cache": CacheStats(
            entries=1,
            grants=1,
            directories=1,
            bytes=1,
            windows=0,
            is_open=True,
            gate_age_s=0.1,
            max_staleness_s=3.0,
            covered_txid=9,
            joins=0,
            waits=0,
            decisions=Counter({Reason.NO_GRANT: 3}),
            conclusions=Counter({Conclusion.STORED: 2}),
            changes=0,
            forgotten=0,
            flushes=0,
            evictions=0,
        ),
        "forward": ForwardStats(
            calls=1,
            repeated=0,
            not_sent=0,
            refused=0,
            cut=0,
            timed_out=0,
            outcome_unknown=0,
            broken_replies=0,
            connections_in_use=0,
            connections_idle=1,
            waiting_for_connection=0,
            clients_cut=0,
            secure_cookies_removed=0,
        ),
        "dns": DnsStats(names=5, responses={"NOERROR": 2}, dropped={"rate": 1}),
        "events": EventStats(streams=1, followed=1, sent=2, ended={StreamEnd.LEFT: 1}, not_admitted=1),
        "front_end": FrontEndStats(
            forwarded={Reason.MISS: 1, Bypass.METHOD: 2},
            flights=0,
            fetches=1,
            closed_queries=0,
            settled=0,
            unknown_outcomes=0,
            left_to_events=0,
            windows_opened=0,
            windows_without_txid=0,
            query_failures=0,
            cache_errors=0,
            calls_refused={"max_calls": 1},
            waiters=0,
            waiters_bytes=0,
            waits={},
            waits_not_admitted=0,
        ),
        "pool": PoolStats(
            namenodes=2,
            reachable=1,
            has_active=1,
            is_login_failing=0,
            term=1,
            probes=1,
            failed_probes=0,
            suspicions=0,
            contradictions=0,
            caller_connections=0,
        ),
        "fast_path": FastPathStats(hits=1, heads=1, bytes_held=900, evicted=0),
        "termination": NO_TERMINATION,
        "tls": TlsStats(),
        "server": ServerStats(
            connections_open=1,
            connections_accepted=1,
            connections_refused=0,
            requests_in_progress=0,
            bugs=0,
        ),
        "polling": ChannelStats(),
        "publisher": PublisherStats(),
        "records": RecordStats(),
        "registration": RegistrationStats(is_wanted=True, is_registered=True, is_connected=True),
        "registry": RegistryStats(answers={RegistryAnswer.FOUND: 3}, waits={WaitEnd.CHANGED: 1}),
        "request_logs": RequestLogStats(lost={"access": 1}),
        "stream": StreamStats(),
        "traffic": TrafficStats(
            requests={(Result.HIT, "GETFILESTATUS"): 5, (Result.FORWARDED, "LISTSTATUS"): 2},
            durations={Result.HIT: Durations(counts=(4, 1, *[0] * (len(BOUNDS_S) - 1)), sum_s=0.0002)},
        ),
        "zookeeper": SessionStats(),
    }
