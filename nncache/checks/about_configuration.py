"""Judge the NameNodes' own configuration, as far as it concerns nncache.

Pure. Source: hdfs-default.xml and core-default.xml of Hadoop 3.4.1 and 3.5.0.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from nncache.checks.facts import CheckFacts
from nncache.checks.finding import Finding, ok, skipped, warning
from nncache.hadoop.election_view import NameNode

RETAINED: Final = "dfs.namenode.num.extra.edits.retained"
SEGMENTS: Final = "dfs.namenode.max.extra.edits.segments.retained"
CHECKPOINT_TXNS: Final = "dfs.namenode.checkpoint.txns"
CHECKPOINT_PERIOD: Final = "dfs.namenode.checkpoint.period"
PROXY_SERVERS: Final = "hadoop.proxyservers"

FEW_TXIDS: Final = 100_000
"""A busy cluster writes as many within minutes, and a restart may take that long."""


def retention(facts: CheckFacts) -> Iterator[Finding]:
    """Judge how long edits remain readable."""
    if not facts.subject.reads_edits:
        yield skipped("a proxy that follows a publisher reads no edits")
        return
    yield from _unknown(facts)
    for each, conf in _known(facts):
        retained = _number(conf, RETAINED)
        if retained is None:
            yield skipped(f"{each.http} does not say {RETAINED}")
            continue
        shown = ", ".join(
            f"{key} {conf.get(key, 'unset')}" for key in (SEGMENTS, CHECKPOINT_TXNS, CHECKPOINT_PERIOD)
        )
        text = f"{each.http} keeps {retained} transactions behind its last checkpoint ({RETAINED}; {shown})"
        if retained < FEW_TXIDS:
            yield warning(
                f"{text}: a reader that was stopped for longer misses events, and everything cached is forgotten",
                f"set {RETAINED} in hdfs-site.xml of the NameNodes to 1000000, its default",
            )
        else:
            yield ok(text)


def proxy_servers(facts: CheckFacts) -> Iterator[Finding]:
    """Judge whether the NameNodes may trust the X-Forwarded-For of this host."""
    if facts.subject.command != "proxy":
        yield skipped("a publisher forwards no calls")
        return
    yield from _unknown(facts)
    for each, conf in _known(facts):
        contact = facts.contacts.get(each.http)
        own = "" if contact is None else contact.own_host
        listed = {part.strip() for part in conf.get(PROXY_SERVERS, "").split(",")} - {""}
        again = "hdfs dfsadmin -refreshSuperUserGroupsConfiguration after every start of a NameNode, which forgets it"
        seen = "ip= of a call through the proxy in hdfs-audit.log shows whether it does"
        if own and own in listed:
            yield ok(
                f"{each.http} lists our address {own} in {PROXY_SERVERS}; it believes X-Forwarded-For after {again}; "
                f"{seen}"
            )
        else:
            yield warning(
                f"{each.http} does not list our address {own or '(unknown)'} in {PROXY_SERVERS} "
                f"({', '.join(sorted(listed)) or 'empty'}): its audit log and its doas rules see this host in place of "
                f"the client, unless a host name in there means it; {seen}",
                f"add {own or 'this host'} to {PROXY_SERVERS} in core-site.xml of the NameNodes, and run {again}",
            )


def _known(facts: CheckFacts) -> Iterator[tuple[NameNode, Mapping[str, str]]]:
    for each, found in facts.namenodes.items():
        if found.conf is not None:
            yield each, found.conf


def _unknown(facts: CheckFacts) -> Iterator[Finding]:
    """Yield a skipped check for each NameNode whose configuration is unknown."""
    if not facts.namenodes:
        yield skipped("no NameNode answers over HTTP")
    for each, found in facts.namenodes.items():
        if found.conf is None:
            yield skipped(f"{found.conf_silence or '/conf was not asked'} at {each.http}")


def _number(conf: Mapping[str, str], key: str) -> int | None:
    try:
        return int(conf.get(key, ""))
    except ValueError:
        return None
