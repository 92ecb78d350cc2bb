"""The document at `/status` of a publisher, which its page shows.

Pure. docs/status.md describes it. Times are Unix seconds, durations are seconds, rates are per second.
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nncache.daemons.edits_view import edits_view
from nncache.daemons.history import History, Span
from nncache.daemons.publisher_state import PublisherState
from nncache.daemons.settings_view import settings_view
from nncache.daemons.watchdog import LoopStats
from nncache.hadoop.election_view import Probe
from nncache.invalidation.publisher.filter_journal import FilterHistory
from nncache.invalidation.publisher.output_stream import FilterPosition
from nncache.invalidation.publisher.stats import PublisherStats
from nncache.settings.commands import SettingsOfPublisher

FILTERS_SHOWN: Final = 100

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherTotals:
    """Counters since start whose history the document shows.

    Attributes:
        writes: committed ZooKeeper transactions.
        events: published events; an event counts once for each filter that it matches.
        polls: answered polls of the edits.
        cost_s: estimated seconds of a NameNode core that polls and rolls have cost.
    """

    writes: int = 0
    events: int = 0
    polls: int = 0
    cost_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherSnapshot:
    """The data of the document, all from one moment.

    Attributes:
        now: local time in seconds, as are all times of `history`, `stats`, `journal` and `last_probe`.
        boot_at: Unix time at which the local time was 0.
        started_at: local time of the start.
        state: the state that /ready shows.
        waiting_s: seconds for which edits have been read but not published.
        last_probe: the position of the active NameNode's log, and as of when.
        filters: the filters in force, by name.
        broken: the fault of each unusable definition, by name.
        namenodes: addresses, namespaces and state of each NameNode, as JSON.
    """

    version: str
    host: str
    now: float
    boot_at: float
    started_at: float
    is_ready: bool
    ready_reason: str
    state: str
    publishing: PublisherState
    stats: PublisherStats
    waiting_s: float
    last_probe: Probe | None
    history: History[PublisherTotals]
    filters: Mapping[str, FilterPosition]
    broken: Mapping[str, str]
    journal: FilterHistory
    loop: LoopStats
    namenodes: tuple[Json, ...]
    settings: SettingsOfPublisher

    def unix(self, at: float | None) -> float | None:
        """Return a local time as Unix time; None for a moment that never came."""
        return None if at is None or not math.isfinite(at) else self.boot_at + at


def totals_of(stats: PublisherStats) -> PublisherTotals:
    """Return the counters whose history the document shows."""
    return PublisherTotals(
        writes=stats.output.writes,
        events=stats.events_matched,
        polls=stats.channel.polls,
        cost_s=stats.channel.poll_charged_s,
    )


def status_of(seen: PublisherSnapshot) -> Json:
    """Return the document."""
    minute = seen.history.last_minute(seen.now, totals_of(seen.stats))
    return {
        "daemon": "publisher",
        "version": seen.version,
        "host": seen.host,
        "now": seen.unix(seen.now),
        "started_at": seen.unix(seen.started_at),
        "uptime_s": seen.now - seen.started_at,
        "is_ready": seen.is_ready,
        "reason": seen.ready_reason,
        "publishing": _publishing(seen),
        "position": _position(seen),
        "writes": _writes(seen, minute),
        "polling": _polling(seen, minute),
        "edits": edits_view(seen.stats.channel),
        "zookeeper": _zookeeper(seen),
        "loop": dataclasses.asdict(seen.loop),
        "filters": _filters(seen),
        "broken": _broken(seen),
        "changes": [
            {"at": seen.unix(each.at), "change": each.kind, "name": each.name, "glob": each.path_glob}
            for each in seen.journal.changes
        ],
        "namenodes": seen.namenodes,
        "course": [
            {
                "at": seen.unix(at),
                "events_per_s": _per_s(span.totals.events, span),
                "writes_per_s": _per_s(span.totals.writes, span),
            }
            for at, span in seen.history.spans()
        ],
        "settings": settings_view(seen.settings),
    }


def _publishing(seen: PublisherSnapshot) -> Json:
    stats, state = seen.stats, seen.publishing
    return {
        "is_publishing": state.is_publishing,
        "is_standby": state.is_standby,
        "state": seen.state,
        "waiting_for": stats.waiting_for or None,
        "runs": stats.runs,
        "runs_failed": stats.runs_failed,
        "drops": stats.drops,
        "new_chains": stats.new_chains,
        "history": [
            {"at": seen.unix(transition.at), "is_publishing": transition.is_well, "state": transition.state}
            for transition in seen.history.transitions
        ],
    }


def _position(seen: PublisherSnapshot) -> Json:
    """Return the positions that this process has read and published, and its lag; null for unknown values."""
    stats, probe = seen.stats, seen.last_probe
    published = stats.published_txid if stats.published_txid >= 0 else None
    is_known = seen.publishing.is_publishing and published is not None
    lag_s = max(seen.waiting_s, seen.now - stats.read_at) if math.isfinite(stats.read_at) else None
    return {
        "term": None if probe is None else probe.term,
        "namenode_txid": None if probe is None else probe.txid,
        "read_txid": stats.read_txid if stats.read_txid >= 0 else None,
        "read_at": seen.unix(stats.read_at),
        "published_txid": published,
        "published_at": seen.unix(stats.published_at),
        "lag_txids": max(0, probe.txid - stats.published_txid) if is_known and probe is not None else None,
        "lag_s": None if lag_s is None or seen.publishing.is_standby else lag_s,
    }


def _writes(seen: PublisherSnapshot, minute: Span[PublisherTotals]) -> Json:
    output = seen.stats.output
    return {
        "seconds": minute.seconds,
        "per_s": _per_s(minute.totals.writes, minute),
        "limit_per_s": seen.settings.publisher.max_write_ops_per_s,
        "events_per_s": _per_s(minute.totals.events, minute),
        "events": seen.stats.events_matched,
        "writes": output.writes,
        "failed": output.writes_failed,
        "mean_s": output.write_s / output.writes if output.writes else None,
        "cache_records": output.cache_records,
        "coverage_records": seen.stats.coverage_records,
        "filter_records": output.filter_records,
    }


def _polling(seen: PublisherSnapshot, minute: Span[PublisherTotals]) -> Json:
    channel = seen.stats.channel
    return {
        "polls_per_s": _per_s(minute.totals.polls, minute),
        "cost_share": _per_s(minute.totals.cost_s, minute),
        "budget_share": seen.settings.polling.poll_budget_share,
        "budget_left_s": channel.poll_budget_s,
        "polls": channel.polls,
        "failed": channel.polls_failed,
        "rolls": channel.rolls,
        "rolls_failed": channel.rolls_failed,
    }


def _zookeeper(seen: PublisherSnapshot) -> Json | None:
    if seen.publishing.is_zookeeper_connected is None:
        return None
    session, zookeeper = seen.stats.session, seen.settings.zookeeper
    return {
        "servers": zookeeper.zookeeper,
        "root": zookeeper.zookeeper_root,
        **dataclasses.asdict(session),
        "corrupt_znodes": seen.stats.output.corrupt_znodes,
        "foreign_znodes": seen.stats.output.foreign_znodes,
    }


def _filters(seen: PublisherSnapshot) -> Json:
    """Return the filters, those with the latest events first."""
    figures = {name: seen.journal.of(position.filter.chain) for name, position in seen.filters.items()}
    order = sorted(figures, key=lambda name: (-(figures[name].last_at or -math.inf), name))
    return {
        "in_force": len(seen.filters),
        "shown": [
            {
                "name": name,
                "glob": seen.filters[name].filter.path_glob,
                "owner": seen.filters[name].filter.owner,
                "since_txid": seen.filters[name].filter.since_txid,
                "events": figures[name].events,
                "records": figures[name].records,
                "last_event_txid": figures[name].last_txid,
                "last_event_at": seen.unix(figures[name].last_at),
            }
            for name in order[:FILTERS_SHOWN]
        ],
    }


def _broken(seen: PublisherSnapshot) -> Json:
    return {
        "filters": len(seen.broken),
        "shown": [
            {"name": name, "why": why, "is_in_force": name in seen.filters}
            for name, why in sorted(seen.broken.items())[:FILTERS_SHOWN]
        ],
    }


def _per_s(count: float, span: Span[PublisherTotals]) -> float:
    return count / span.seconds if span.seconds > 0 else 0.0
