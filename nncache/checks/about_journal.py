"""Judge whether the JournalNodes, or a NameNode's own directory, can be read.

Pure.
"""

from collections.abc import Iterator

from nncache.checks.facts import Facts
from nncache.checks.finding import Finding, failed, ok, skipped, warning
from nncache.hadoop.namenode_web import PLAIN
from nncache.invalidation.settings import AUTO, INOTIFY


def journalnodes(facts: Facts) -> Iterator[Finding]:
    """Judge whether a majority of the JournalNodes can be read, and all of them."""
    subject = facts.subject
    if subject.journal(None, PLAIN) is None:
        yield skipped("no JournalNodes are read (edits_source, shared_edits_dir)")
        return
    if facts.journalnodes is None:
        yield skipped("no active NameNode says which namespace it serves")
        return
    troubles = {address: why for address, why in facts.journalnodes.items() if why}
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


def directory(facts: Facts) -> Iterator[Finding]:
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
