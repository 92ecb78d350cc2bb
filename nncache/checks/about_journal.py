"""Judge whether the JournalNodes, or a NameNode's own directory, can be read.

Pure.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from nncache.checks.facts import CheckFacts, JournalNodeFound
from nncache.checks.finding import Finding, failed, ok, skipped, warning
from nncache.hadoop.namenode_web import PLAIN
from nncache.invalidation.settings import AUTO, INOTIFY

CACHE_BYTES: Final = "dfs.journalnode.edit-cache-size.bytes"
"""If unset, the cache holds a share of the heap (JournaledEditsCache of Hadoop 3.4 and later)."""

LEAST_CACHE_BYTES: Final = 16 * 1024 * 1024
"""200,000 small edits: a minute or more of a busy NameNode. The default up to Hadoop 3.3 is a sixteenth of this."""


def journalnodes(facts: CheckFacts) -> Iterator[Finding]:
    """Judge whether a majority of the JournalNodes, and all, can be read, and the size of their caches."""
    subject = facts.subject
    if subject.journal(None, PLAIN) is None:
        yield skipped("no JournalNodes are read (edits_source, shared_edits_dir)")
        return
    if facts.journalnodes is None:
        yield skipped("no active NameNode says which namespace it serves")
        return
    troubles = {address: found.trouble for address, found in facts.journalnodes.items() if found.trouble}
    count = len(facts.journalnodes)
    readable = count - len(troubles)
    is_enough = readable > count // 2
    for address, why in troubles.items():
        text = f"JournalNode {address} cannot be read, {readable} of {count} can: {why}"
        if is_enough:
            yield warning(text, f"correct this: {count // 2 + 1} have to answer")
        elif subject.settings.edits.edits_source == AUTO:
            yield warning(text, "correct this: another source is read until then")
        else:
            yield failed(text, f"correct this, or set {subject.at('edits_source')} to {INOTIFY}")
    if not troubles:
        yield ok(f"all {count} JournalNodes can be read")
    yield from _caches(facts.journalnodes)


def _caches(journalnodes: Mapping[str, JournalNodeFound]) -> Iterator[Finding]:
    """Judge the size of the caches: edits that are evicted from most caches are missed."""
    for address, found in journalnodes.items():
        size = "" if found.conf is None else found.conf.get(CACHE_BYTES, "").strip()
        if size.isdecimal() and size.isascii() and int(size) < LEAST_CACHE_BYTES:
            yield warning(
                f"the cache of edits of JournalNode {address} holds {int(size):,} bytes: a pause misses edits",
                f"set {CACHE_BYTES} to 67108864 in the JournalNode's hdfs-site.xml, and restart it",
            )
        elif found.conf is None and not found.trouble:
            yield skipped(
                f"it is not known how much the cache of JournalNode {address} holds: {found.conf_silence}"
            )


def directory(facts: CheckFacts) -> Iterator[Finding]:
    """Judge whether the directory of the NameNode on this host can be read."""
    subject = facts.subject
    if not subject.edits_dir:
        yield skipped("no directory of a NameNode is read (edits_source, edits_dir)")
    elif facts.directory is None:
        yield skipped("no active NameNode says which namespace it serves")
    elif not facts.directory:
        yield ok(f"{subject.edits_dir} can be read")
    elif subject.settings.edits.edits_source == AUTO:
        yield warning(facts.directory, "correct this: another source is read until then")
    else:
        yield failed(facts.directory, f"correct this, or set {subject.at('edits_source')} to {INOTIFY}")
