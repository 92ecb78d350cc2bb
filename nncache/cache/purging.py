"""Purges, which an operator asks for: of a path, of a subtree, or of all that a filter matches.

A purge is a change, as edits are (`MetadataCache.apply`): it removes entries and rights, and spoils questions on their
way.
"""

from collections.abc import Iterator
from typing import TypeAlias

from nncache.hadoop.change import SubtreeUnknown, Touched
from nncache.hadoop.glob_syntax import Component, Literal, parse_glob
from nncache.hadoop.paths import ROOT

Purge: TypeAlias = Touched | SubtreeUnknown


def purge_of_path(path: str, *, is_subtree: bool) -> Purge:
    """Return the change that forgets a canonical path's own status, or that and everything at and below it.

    A right belongs to a directory: only the purge of a subtree that contains this directory removes it.
    """
    return SubtreeUnknown(path) if is_subtree else Touched(path)


def purges_of_glob(glob: str) -> tuple[Purge, ...]:
    """Return the changes that forget all that a glob may match, in the order of their paths.

    They forget more: everything below the last directory before the first wildcard. A search for the exact matches
    would block the event loop in proportion to the number of entries.

    Raises GlobError if it is invalid.
    """
    exact, subtrees = set[str](), set[str]()
    for components in parse_glob(glob):
        names = tuple(_literal_names(components))
        path = ROOT + "/".join(names)
        (exact if len(names) == len(components) else subtrees).add(path)
    return tuple(
        SubtreeUnknown(path) if path in subtrees else Touched(path) for path in sorted(exact | subtrees)
    )


def _literal_names(components: tuple[Component, ...]) -> Iterator[str]:
    """Yield the leading names without a wildcard."""
    for component in components:
        if not all(isinstance(token, Literal) for token in component):
            return
        yield "".join(token.char for token in component if isinstance(token, Literal))
