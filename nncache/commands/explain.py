"""`nncache explain PATH`: show what a running proxy has cached of a path, and why."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from nncache.commands.admin_client import admin_port
from nncache.commands.options import with_settings
from nncache.logs import one_line
from nncache.net.some_names import some_names
from nncache.proxy.cache_status import MEANINGS
from nncache.settings.commands import EXPLAIN


@with_settings(EXPLAIN.keys.values())
@click.command()
@click.argument("path")
@click.option("--json", "as_json", is_flag=True, help="Print the answer unchanged.")
def explain(path: str, *, as_json: bool, config: Path | None, **flags: object) -> None:
    """Show what a running proxy knows of PATH, why it is or is not cached, and since which transaction."""
    answer = admin_port(EXPLAIN, config, flags).ask(target_of(path))
    click.echo(json.dumps(answer, indent=2) if as_json else "\n".join(map(one_line, readable(answer))))


def target_of(path: str) -> str:
    """Return the target of the request. Bytes of a path that are not UTF-8 reach the proxy unchanged."""
    return "/explain?path=" + quote(path, safe="", errors="surrogateescape")


def readable(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield an answer as lines for people. Its keys are those of `nncache.cache.explanation.Explanation`."""
    yield f"{answer['path']} (namespace {answer['namespace']})" if "namespace" in answer else answer["path"]
    if answer["answer"] == "hit":
        yield "  answered from memory to every caller proven to be allowed to see it"
    else:
        yield f"  not answered from memory ({answer['answer']}): {MEANINGS.get(answer['answer'], 'see the reason')}"
    yield from _entry(answer["entry"])
    yield from _callers(answer)
    yield from _last_forgotten(answer["last_forgotten"])
    if answer["in_two_step_write"]:
        yield "  a two-step write through this proxy is under way"
    if answer["questions_under_way"]:
        yield f"  questions under way to the NameNode: {answer['questions_under_way']}"
    yield from _stream(answer)
    yield from _namenodes(answer["namenodes"])


def _entry(entry: Mapping[str, Any] | None) -> Iterator[str]:
    if entry is None:
        yield "  known: nothing"
        return
    what = "does not exist" if entry["kind"] == "missing" else f"is a {entry['kind']}"
    yield (
        f"  known: {what} (status {entry['status']}, reply {entry['age_s']:.3f} s old), "
        f"unchanged since transaction {entry['since_txid']}"
    )
    if not entry["is_settled"]:
        yield "  so far only for the callers to whom the NameNode gave this very reply"


def _callers(answer: Mapping[str, Any]) -> Iterator[str]:
    granted = [*map(_caller, answer["granted"])]
    yield f"  callers proven: {some_names(granted, shown=len(granted), total=answer['grants']) or 'none'}"


def _caller(name: str) -> str:
    """Return a caller of `nncache.proxy.identity` for people: a credential follows the user that it names."""
    credential, *parts = name.split("\0")
    kind, _, digest = credential.partition("=")
    if parts and parts[0].startswith("claims="):
        user = parts.pop(0).removeprefix("claims=")
        credential = f"{user} (by {kind} {digest[:8]}...)"
    return " ".join((credential, *parts))


def _last_forgotten(last: Mapping[str, Any] | None) -> Iterator[str]:
    if last is None:
        return
    by = "a write or a purge through this proxy" if last["txid"] is None else f"transaction {last['txid']}"
    yield f"  last forgotten: {last['change']} of {last['path']} by {by}, {last['age_s']:.3f} s ago"


def _stream(answer: Mapping[str, Any]) -> Iterator[str]:
    if not answer["stream_open"]:
        yield f"  changes: not being read; gate {answer['gate']}"
        return
    age = "never" if answer["gate_age_s"] is None else f"{answer['gate_age_s']:.3f} s ago"
    gate = "open" if answer["gate_open"] else "closed"
    yield f"  changes: applied up to transaction {answer['covered_txid']} as of {age}; gate {gate}"


def _namenodes(namenodes: Iterable[Mapping[str, str | None]]) -> Iterator[str]:
    for each in namenodes:
        over_http = each["namespace_over_http"] or "not known yet"
        over_rpc = each["namespace_over_rpc"] or "not known yet"
        if over_http == over_rpc:
            yield f"  NameNode {each['http']}: namespace {over_http}"
        else:
            yield (
                f"  NameNode {each['http']}: namespace {over_http} over HTTP, {over_rpc} over RPC ({each['rpc']})"
            )
