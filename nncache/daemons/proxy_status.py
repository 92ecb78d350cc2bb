"""The document at `/status` of a proxy, which its page and `nncache top` show.

Pure. docs/status.md describes it. Times are Unix seconds, durations are seconds, rates are per second.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from nncache.cache.stats import CacheStats
from nncache.cache.store import Forgotten
from nncache.daemons.edits_view import edits_view
from nncache.daemons.history import History, Span, Totals
from nncache.daemons.settings_view import settings_view
from nncache.daemons.watchdog import LoopStats
from nncache.hadoop.namenodes.pool import PoolStats
from nncache.invalidation.stats import ChannelStats
from nncache.proxy.cache_status import MEANINGS
from nncache.proxy.decide.front_end import FrontEndStats
from nncache.proxy.traffic import Result, TrafficStats
from nncache.tenants.hottest import HALF_LIFE_S, HottestStats

HOTTEST_SHOWN: Final = 20
FILTERS_SHOWN: Final = 100

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusSnapshot:
    """The data of the document, all from one moment.

    Attributes:
        now: local time in seconds, as are all times of `history` and `changes`.
        boot_at: Unix time at which the local time was 0.
        started_at: local time of the start.
        globs: globs of the filters in force, by id.
        filter_names: names of these filters, by id; a filter without a name is shown by its id.
        channel: figures of the channel that brings the changes.
        changes: changes that removed something from the cache, the latest last.
        namenodes: addresses, namespaces and state of each NameNode, as JSON.
        settings: the settings in force, a dataclass of components.
    """

    version: str
    host: str
    ready_reason: str
    is_ready: bool
    now: float
    boot_at: float
    started_at: float
    max_staleness_s: float
    max_cache_bytes: int
    gate: str
    totals: Totals
    history: History[Totals]
    cache: CacheStats
    loop: LoopStats
    hottest: HottestStats
    globs: Mapping[str, str]
    filter_names: Mapping[str, str]
    channel: ChannelStats
    changes: Iterable[Forgotten]
    namenodes: tuple[Json, ...]
    settings: object


def totals_of(
    traffic: TrafficStats, front_end: FrontEndStats, pool: PoolStats, channel: ChannelStats
) -> Totals:
    """Return the counters whose history the document shows. Own calls are counted as in the recording rules."""
    return Totals(
        requests=traffic.total,
        from_memory=traffic.of(Result.HIT) + traffic.of(Result.COLLAPSED),
        failed=traffic.of(Result.FAILED),
        refused=traffic.of(Result.REFUSED),
        own_calls=channel.polls + sum(pool.probes.values()) + channel.rolls + front_end.closed_queries,
        forwarded={str(reason.value): count for reason, count in front_end.forwarded.items()},
    )


def status_of(seen: StatusSnapshot) -> Json:
    """Return the document."""
    minute = seen.history.last_minute(seen.now, seen.totals)
    return {
        "daemon": "proxy",
        "version": seen.version,
        "host": seen.host,
        "now": seen.boot_at + seen.now,
        "started_at": seen.boot_at + seen.started_at,
        "uptime_s": seen.now - seen.started_at,
        "is_ready": seen.is_ready,
        "reason": seen.ready_reason,
        "saved": {
            "last_minute": _saved(minute),
            "since_start": _saved(Span(seen.now - seen.started_at, seen.totals)),
        },
        "gate": _gate(seen),
        "edits": edits_view(seen.channel),
        "hottest": {"half_life_s": HALF_LIFE_S, **dataclasses.asdict(seen.hottest)},
        "misses": _misses(seen.totals, minute),
        "loop": dataclasses.asdict(seen.loop),
        "cache": {
            "entries": seen.cache.entries,
            "grants": seen.cache.grants,
            "bytes": seen.cache.bytes,
            "max_bytes": seen.max_cache_bytes,
            "evictions": seen.cache.evictions,
            "two_step_writes": seen.cache.windows,
        },
        "namenodes": seen.namenodes,
        "changes": [
            {
                "at": seen.boot_at + each.at,
                "path": each.path,
                "change": each.change,
                "txid": each.txid,
            }
            for each in reversed(tuple(seen.changes))
        ],
        "filters": _filters(seen),
        "course": [
            {"at": seen.boot_at + at, "requests_per_s": saved["requests_per_s"], "ratio": saved["ratio"]}
            for at, span in seen.history.spans()
            for saved in (_saved(span),)
        ],
        "settings": settings_view(seen.settings),
    }


def _saved(span: Span[Totals]) -> Json:
    """Return the savings in a span. Without requests the ratio is None."""
    totals, seconds = span.totals, span.seconds
    return {
        "seconds": seconds,
        "requests": totals.requests,
        "requests_per_s": totals.requests / seconds if seconds > 0 else 0.0,
        "from_memory": totals.from_memory,
        "ratio": totals.from_memory / totals.requests if totals.requests else None,
        "forwarded": sum(totals.forwarded.values()),
        "failed": totals.failed,
        "refused": totals.refused,
        "own_calls": totals.own_calls,
        "calls_saved": totals.from_memory - totals.own_calls,
    }


def _gate(seen: StatusSnapshot) -> Json:
    age_s = seen.cache.gate_age_s
    return {
        "is_open": seen.cache.is_open,
        "state": seen.gate,
        "forwarded": "" if seen.cache.is_open else "every call goes to the NameNode",
        "age_s": age_s if math.isfinite(age_s) else None,
        "max_staleness_s": seen.max_staleness_s,
        "covered_txid": seen.cache.covered_txid,
        "history": [
            {"at": seen.boot_at + transition.at, "is_open": transition.is_well, "state": transition.state}
            for transition in seen.history.transitions
        ],
    }


def _misses(totals: Totals, minute: Span[Totals]) -> list[Json]:
    """Return the forward reasons, the most frequent of the last minute first."""
    counted = sorted(
        totals.forwarded.items(),
        key=lambda item: (-minute.totals.forwarded.get(item[0], 0), -item[1], item[0]),
    )
    return [
        {
            "reason": reason,
            "meaning": MEANINGS[reason],
            "requests": count,
            "per_s": minute.totals.forwarded.get(reason, 0) / minute.seconds if minute.seconds > 0 else 0.0,
        }
        for reason, count in counted
    ]


def _filters(seen: StatusSnapshot) -> Json:
    named = sorted((seen.filter_names.get(id_, id_), glob) for id_, glob in seen.globs.items())
    shown = [{"name": name, "glob": glob} for name, glob in named[:FILTERS_SHOWN]]
    return {"in_force": len(named), "shown": shown}
