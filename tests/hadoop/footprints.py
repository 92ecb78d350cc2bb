"""The meaning of changes, spelled out: for tables, and to compare two sets of changes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Closed,
    EverythingUnknown,
    FileTouched,
    Footprint,
    LineTouched,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from nncache.hadoop.events import MetadataKind, MetadataUpdate, XAttr, XAttrNamespace
from nncache.hadoop.paths import ancestors, parent

EC = XAttr(XAttrNamespace.SYSTEM, "hdfs.erasurecoding.policy")
ZONE = XAttr(XAttrNamespace.RAW, "hdfs.crypto.encryption.zone")
HARMLESS = XAttr(XAttrNamespace.USER, "hdfs.erasurecoding.policy")


def metadata(kind: MetadataKind, *xattrs: XAttr) -> MetadataUpdate:
    """Return the event for /d/p."""
    return MetadataUpdate(path="/d/p", kind=kind, xattrs=xattrs)


def shown(changes: Iterable[Footprint]) -> str:
    """Return changes in the notation of the tables."""

    def one(change: Footprint) -> str:
        match change:
            case Moved(source, destination):
                return f"moved {source} {destination}"
            case EverythingUnknown():
                return "everything"
            case LineTouched(path, top):
                return f"touched {path} to {top}"
            case _:
                return f"{type(change).__name__} {change.path}".lower()

    return ", ".join(one(change) for change in changes) or "-"


@dataclass(frozen=True)
class Stale:
    """The outdated statuses: single paths, whole subtrees, or everything."""

    own: frozenset[str]
    below: frozenset[str]
    everything: bool = False

    def __str__(self) -> str:
        return f"{' '.join(sorted(self.own)) or '-'} | {' '.join(sorted(self.below)) or '-'}"

    def covers(self, other: "Stale") -> bool:
        """Return whether forgetting this forgets the other as well."""

        def is_below(path: str) -> bool:
            return any(above in self.below for above in ancestors(path))

        return self.everything or (
            not other.everything
            and all(path in self.own or is_below(path) for path in other.own)
            and all(path in self.below or is_below(path) for path in other.below)
        )


def stale(changes: Iterable[Footprint]) -> Stale:
    """Return the effect of the changes, as their docstrings describe it."""
    own: set[str | None] = set()
    below: set[str] = set()
    everything = False
    for change in changes:
        match change:
            case Appeared(path) | Vanished(path):
                own |= {path, parent(path)}
                below.add(path)
            case Moved(source, destination):
                own |= {source, parent(source), destination, parent(destination)}
                below |= {source, destination}
            case Touched(path) | FileTouched(path) | Opened(path) | Closed(path):
                own.add(path)
            case LineTouched(path, top):
                line = (path, *ancestors(path))
                own.update(line[: line.index(top) + 1])
            case AccessChanged(path) | SubtreeUnknown(path):
                own.add(path)
                below.add(path)
            case EverythingUnknown():
                everything = True
            case _:
                assert_never(change)
    return Stale(frozenset(path for path in own if path), frozenset(below), everything)
