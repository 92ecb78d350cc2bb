"""Judge the globs and filters that select paths.

Pure.
"""

from collections.abc import Iterator, Mapping

from nncache.checks.facts import CheckFacts
from nncache.checks.finding import Finding, failed, ok, skipped, warning
from nncache.hadoop.glob_syntax import pitfall
from nncache.invalidation.filters.trust import by_distrust
from nncache.net.some_names import some_names
from nncache.settings.commands import SettingsOfPublisher


def globs(facts: CheckFacts) -> Iterator[Finding]:
    """Judge the globs of a proxy that follows no publisher."""
    given, at = facts.subject.globs, facts.subject.at("glob")
    if given is None:
        yield skipped("the filters say which paths are meant")
        return
    if not given:
        yield warning(
            "no glob is given: nothing is answered from memory",
            f"set {at} to globs of the paths that are polled",
        )
        return
    yield from _doubled(
        {glob: glob for glob in given},
        f"change {at}",
        f"paths that match are answered from memory: {', '.join(given)}",
    )


def filters(facts: CheckFacts) -> Iterator[Finding]:
    """Judge the filters: for a publisher those in HDFS, for a proxy that follows one those in force."""
    if facts.subject.globs is not None:
        yield skipped("the globs say which paths are meant")
        return
    if isinstance(facts.subject.settings, SettingsOfPublisher):
        yield from _stored(facts, facts.subject.settings.filters.filters_path)
        return
    found = facts.zookeeper
    if found is None or found.block_pool is None:
        yield skipped("the nameservice is not published in ZooKeeper")
        return
    for reason in found.bad_filters.values():
        yield warning(
            f"a definition in ZooKeeper cannot be read: {reason}",
            "restart the publisher, which writes it again",
        )
    yield from _all({each.name: each.path_glob for each in found.filters}, "in force")


def _stored(facts: CheckFacts, path: str) -> Iterator[Finding]:
    stored = facts.stored
    if stored is None:
        yield skipped("no NameNode answers over HTTP")
        return
    if stored.is_slow:
        yield skipped(
            f"reading the filters in {path} takes too long for a check: nncache filters list shows them"
        )
        return
    if stored.silence:
        yield failed(
            f"the filters in {path} cannot be read: {stored.silence}",
            f"see that {facts.subject.user} may read {path} ({facts.subject.at('filters_path')})",
        )
        return
    for distrust, names in by_distrust(stored.untrusted).items():
        yield failed(f"the publisher refuses {some_names(names)}: {distrust.reason}", distrust.remedy)
    for name, reason in stored.broken.items():
        yield warning(
            f"filter {name} in {path} is broken: {reason}",
            f"nncache filters remove {name}, and add it again",
        )
    globs = {name: glob for name, glob in stored.globs.items() if name not in stored.untrusted}
    if globs or not stored.untrusted:
        yield from _all(globs, f"in {path}")


def _all(globs_by_name: Mapping[str, str], where: str) -> Iterator[Finding]:
    if globs_by_name:
        remedy = "nncache filters remove it, and add it with another glob"
        yield from _doubled(
            globs_by_name, remedy, f"filters {where}: {len(globs_by_name)}, none broken or doubtful"
        )
    else:
        yield warning(
            f"there are no filters {where}: nothing is answered from memory",
            "nncache filters add --name NAME --glob GLOB",
        )


def _doubled(globs_by_name: Mapping[str, str], remedy: str, text: str) -> Iterator[Finding]:
    """Yield a warning for each glob that matches less than it seems to; without any, `text` is ok."""
    found = False
    for name, glob in globs_by_name.items():
        if trouble := pitfall(glob):
            found = True
            yield warning(trouble if name == glob else f"filter {name}: {trouble}", remedy)
    if not found:
        yield ok(text)
