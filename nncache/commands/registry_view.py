"""The output of registry entries: lines for people and `awk`, or JSON."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, assert_never

from nncache.logs import one_line
from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.purge_plan import KeptEntry
from nncache.registry.reaping import Reaping
from nncache.registry.record import Address, EntryStatus, RegistryEntry, ServiceRecord, Unreadable
from nncache.registry.record_json import encode_record
from nncache.registry.tree_watch import Change, Current, Present, Removed, WatchGap


def statuses(listed: Sequence[EntryStatus], *, as_json: bool) -> Iterator[str]:
    """Yield a line for each entry: the entries below it, bytes of its record, time of creation, path."""
    if as_json:
        yield json.dumps([status.as_json() for status in listed])
        return
    children = max((len(str(status.children)) for status in listed), default=0)
    size = max((len(str(status.size_bytes)) for status in listed), default=0)
    for status in listed:
        made = datetime.fromtimestamp(status.time_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        yield f"{status.children:>{children}}  {status.size_bytes:>{size}}  {made}  {one_line(status.path)}"


def found(entries: Iterable[RegistryEntry], query: EndpointQuery, *, as_json: bool) -> Iterator[str]:
    """Yield a line for each record: its path, and the addresses of its matching endpoints."""
    if as_json:
        yield json.dumps([{"path": entry.path, "record": _record(entry.record)} for entry in entries])
        return
    for entry in entries:
        matching = (endpoint for endpoint in entry.record.endpoints if query.matches(endpoint))
        shown = [address(each) for endpoint in matching for each in endpoint.addresses]
        yield one_line("  ".join((entry.path, *shown)))


def address(fields: Address) -> str:
    """Return an address for people."""
    if "uri" in fields:
        return fields["uri"] or ""
    host = fields.get("host") or fields.get("hostname") or ""
    if host:
        port = fields.get("port")
        return (f"{host}:{port}" if port else host) + (fields.get("path") or "")
    return ",".join(f"{name}={value}" for name, value in fields.items())


def change(event: Change, *, as_json: bool) -> str:
    """Return a line for a change."""
    match event:
        case Present(status, record, fault):
            if as_json:
                return json.dumps(
                    {"change": "present", **status.as_json(), "record": _record(record), "fault": fault}
                )
            what = fault or (record.description if record else "no record")
            return one_line(f"+ {status.path}  {what or ''}".rstrip())
        case Removed(path):
            return json.dumps({"change": "removed", "path": path}) if as_json else one_line(f"- {path}")
        case WatchGap(why):
            return (
                json.dumps({"change": "gap", "why": why}) if as_json else f"-- gap: {why}; all is read again"
            )
        case Current():
            return json.dumps({"change": "current"}) if as_json else "-- current"
        case _:
            assert_never(event)


def faults(by_path: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a line for each fault."""
    for path, wrong in by_path.items():
        for fault in wrong:
            yield one_line(f"{path}: {fault}")


def gone(reaping: Reaping, *, is_done: bool) -> Iterator[str]:
    """Yield a line for each entry to delete: whether it was deleted, its path, and what has ended in YARN."""
    for each in reaping.gone:
        line = f"{'deleted' if is_done else 'would delete'} {each.path}"
        yield one_line(f"{line}: {each.why}" if each.why else line)


def unreadable(entries: Iterable[Unreadable]) -> Iterator[str]:
    """Yield a line for each entry that could not be read, or could not be read below."""
    for each in entries:
        yield one_line(f"{each.path}: {each.why}")


def kept(entries: Iterable[KeptEntry]) -> Iterator[str]:
    """Yield a line for each entry that is kept."""
    for each in entries:
        yield one_line(f"{each.path}: kept: {each.why}")


def reaping_as_json(reaping: Reaping, *, is_done: bool) -> str:
    """Return the deleted and the kept entries as one JSON object."""
    return json.dumps(
        {
            "dryRun": not is_done,
            "gone": [asdict(each) for each in reaping.gone],
            "kept": [asdict(each) for each in reaping.kept],
        }
    )


def _record(record: ServiceRecord | None) -> Any:  # noqa: ANN401 - JSON
    return None if record is None else json.loads(encode_record(record))
