"""What each command prints with --json, as an example that its own code has made."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Final

from nncache.auditing.audit_judge import AuditOutcome
from nncache.cache.explanation import EntryView, Explanation, LastForgotten
from nncache.cache.stats import CacheStats
from nncache.checks.finding import failed, ok
from nncache.checks.table import SETTINGS, CheckResult, exit_code
from nncache.commands import registry_view
from nncache.commands.audit import report_as_json
from nncache.commands.audit_questions import AuditReport
from nncache.commands.check import report_as_json as check_as_json
from nncache.commands.event_lines import Away, Happened, Missing, json_line
from nncache.commands.filters_estimate import estimate_as_json
from nncache.commands.filters_view import all_as_json, plan_as_json
from nncache.commands.fleet_client import Answer
from nncache.commands.fleet_view import answers_as_json
from nncache.commands.proxies import READY, Found
from nncache.commands.proxies import lines as proxy_lines
from nncache.daemons.history import History, Totals
from nncache.daemons.proxy_status import StatusSnapshot, status_of
from nncache.daemons.purging import Purged
from nncache.daemons.watchdog import LoopStats
from nncache.hadoop.events import Unlink
from nncache.invalidation.filters.admission import too_general
from nncache.invalidation.filters.definition import Filter, filter_as_json
from nncache.invalidation.filters.file_plan import Change, FilePlan
from nncache.invalidation.filters.hdfs_bulk import Done
from nncache.invalidation.filters.settings import FilterSettings
from nncache.invalidation.filters.stored_filters import StoredFilters
from nncache.invalidation.publisher.estimate import Estimate
from nncache.invalidation.stats import ChannelStats
from nncache.invalidation.subscriber.events import FilterModified, Position
from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.purge_plan import KeptEntry
from nncache.registry.reaping import Reaped, Reaping
from nncache.registry.record import Endpoint, EntryStatus, RegistryEntry, ServiceRecord
from nncache.registry.tree_watch import Current, Present, Removed, WatchGap
from nncache.settings.commands import SettingsOfExplain
from nncache.tenants.hottest import Hot, HottestStats

_JOE: Final = Filter("joe", "/user/joe/*/_SUCCESS", "joe", ("alice", "bob"))
_WIDER: Final = Filter("joe", "/user/joe/*/*/_SUCCESS", "joe", ("alice", "bob"))
_BROKEN: Final = {"old": "it has no directory subscribers"}
_REFUSED: Final = {"all": too_general("/*/_SUCCESS", FilterSettings())}
_URL: Final = "http://proxy7:9871/webhdfs/v1"
_PATH: Final = "/services/nncache/proxy7-9871"
_STATUS: Final = EntryStatus(path=_PATH, time_ms=1_795_298_171_446, size_bytes=203, children=0, version=1)
_WEBHDFS: Final = Endpoint(api="webhdfs", protocol="REST", address_type="uri", addresses=({"uri": _URL},))
_RECORD: Final = ServiceRecord(description="nncache proxy", external=(_WEBHDFS,))


def shapes() -> Iterator[tuple[str, str]]:
    """Yield an example for each command, with its name; `pages/commands.md.j2` says what is to be known of it."""
    stored = StoredFilters(filters={"joe": _JOE}, broken=_BROKEN)
    yield "filters list", all_as_json(stored, _REFUSED)
    yield "filters show", _text(filter_as_json(_JOE))
    plan = FilePlan(
        added=(_JOE,),
        changed=(Change(_JOE, _WIDER),),
        removed=("ann",),
        unlisted=(),
        broken=_BROKEN,
        unchanged=2,
    )
    yield "filters diff", _text(plan_as_json(plan))
    yield (
        "filters apply",
        _text(plan_as_json(FilePlan(added=(_JOE,), broken={}, unchanged=2), Done(added=1))),
    )
    found = Estimate(
        first_txid=900_001,
        last_txid=1_000_000,
        seconds=50.0,
        events=70_000,
        matched=500,
        matched_transactions=250,
        busiest_minute=500,
        over_limit=0,
        examples=("/user/joe/a/_SUCCESS",),
    )
    yield "filters estimate", _text(estimate_as_json(_JOE.path_glob, found, 1000.0, "", is_whole=True))
    printed = (
        Position(70),
        Happened(71, Unlink("/user/joe/a/_SUCCESS", 1_795_298_171_446)),
        Missing("transactions 72 to 75 are missing", 72, 75),
        Away("no publisher is running"),
        FilterModified(80, _JOE.path_glob, _JOE.owner, _WIDER.path_glob, _WIDER.owner),
    )
    yield "watch", "\n".join(json_line("joe", each) for each in printed)
    purged: dict[str, object] = {"purged": [asdict(Purged(path="/user/joe", is_subtree=True, was_held=True))]}
    yield "explain", _text(_explanation())
    yield "purge", _text(purged)
    report = AuditReport(outcomes=Counter({AuditOutcome.SAME: 148, AuditOutcome.CHANGED: 2}))
    yield "audit", _text(report_as_json(report))
    failing = failed("nn1:8020 is no HTTP server: it speaks Hadoop RPC", "namenode_http: give 9870, not 8020")
    results = (
        CheckResult(SETTINGS, (ok("no file and 2 flags can be read"),)),
        CheckResult("addresses", (failing,)),
    )
    for daemon in ("proxy", "publisher"):
        yield f"check {daemon}", check_as_json(results, exit_code(results, strict=False))
    yield "registry ls", _lines(registry_view.statuses([_STATUS], as_json=True))
    query = EndpointQuery.parse("api=webhdfs")
    yield "registry find", _lines(registry_view.found([RegistryEntry(_STATUS, _RECORD)], query, as_json=True))
    changes = (Present(_STATUS, _RECORD), Current(), Removed(_PATH), WatchGap("the session has ended"))
    yield "registry watch", "\n".join(registry_view.change(each, as_json=True) for each in changes)
    yield "registry check", _text({_PATH: ["its ACL lets anyone write"]})
    reaping = Reaping(
        gone=(Reaped("/users/joe/web/a", "application_1408631738011_0028 is FINISHED"),),
        kept=(KeptEntry("/users/joe/web/b", "application_1408631738011_0029 is RUNNING", runs=True),),
    )
    yield "registry reaper", _lines([registry_view.reaping_as_json(reaping, is_done=False)])
    proxy = Found(
        name="proxy7-9871", kind="proxy", state=READY, webhdfs=(_URL,), admin=("http://proxy7:9872/",)
    )
    yield "proxies", _lines(proxy_lines([proxy], as_json=True))
    yield "top", _text(_status())
    silent = Answer("proxy8-9871", None, "no answer within 5 s")
    for name, document in (
        ("status", _status()),
        ("top", _status()),
        ("explain", _explanation()),
        ("purge", purged),
    ):
        yield f"fleet {name}", answers_as_json([Answer("proxy7-9871", document), silent])


def _explanation() -> dict[str, object]:
    known = Explanation(
        path="/user/joe/a/_SUCCESS",
        now=5_001.5,
        answer="hit",
        matches_filter=True,
        stream_open=True,
        stream_closed_because=None,
        term=1,
        gate_open=True,
        gate_age_s=0.012,
        seen_as_of=5_001.487,
        covered_txid=77,
        in_two_step_write=False,
        questions_under_way=0,
        entry=EntryView(
            kind="missing", status=404, age_s=1.5, replied_at=5_000.0, since_txid=70, is_settled=True
        ),
        grants=1,
        granted=("alice",),
        last_forgotten=LastForgotten(path="/user/joe", change="Appeared", txid=70, age_s=9.0),
    )
    namenode = {
        "http": "nn1:9870",
        "rpc": "nn1:8020",
        "state": "active",
        "namespace_over_http": "BP-1 of cluster CID-1",
        "namespace_over_rpc": "BP-1 of cluster CID-1",
    }
    return asdict(known) | {"meaning": "", "gate": "open", "namenodes": [namenode]}


def _status() -> dict[str, object]:
    """Return that of a proxy which has just started."""
    seen = StatusSnapshot(
        version="0.1.0",
        host="proxy7",
        is_ready=True,
        ready_reason="gate-closed",
        now=10.0,
        boot_at=1_795_298_000.0,
        started_at=9.0,
        max_staleness_s=3.0,
        max_cache_bytes=1_073_741_824,
        gate="closed: there is no connection to ZooKeeper",
        totals=Totals(requests=1, forwarded={"stream-closed": 1}),
        history=History(9.0, Totals()),
        cache=CacheStats(),
        loop=LoopStats(),
        hottest=HottestStats(paths=(Hot("/user/joe/a/_SUCCESS", 1.0, 0.0),), callers=(), addresses=()),
        globs={"/user/joe/*/_SUCCESS": "/user/joe/*/_SUCCESS"},
        filter_names={},
        channel=ChannelStats(),
        changes=(),
        namenodes=(),
        settings=SettingsOfExplain(),
    )
    return status_of(seen)


def _text(value: object) -> str:
    return json.dumps(value, indent=2)


def _lines(lines: Iterable[str]) -> str:
    (line,) = lines
    return json.dumps(json.loads(line), indent=2)
