"""Find the filters that users other than administrators can write: they are not trusted.

Pure. A filter opens its events to its subscribers, whatever HDFS's permissions for the matched paths are. So it is
trusted only if administrators alone can create it: each directory from the root to the filter's own belongs to an
administrator, and no other user may write it. Administrators are the owner of the root directory, who may replace
everything below it, and the publisher's user, who must be a superuser to read the edits. If a directory has ACLs, its
group bits are their mask: the most that any entry for a named user or a group allows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nncache.hadoop.filestatus import FileStatus
from nncache.hadoop.paths import ROOT
from nncache.invalidation.filters.definition import DEFINITION, SUBSCRIBERS

_OTHERS_WRITE: Final = 0o022
_STICKY: Final = 0o1000


@dataclass(frozen=True, slots=True)
class Distrust:
    """Why a filter is not trusted.

    Attributes:
        reason: the fault, with the path.
        remedy: the command that fixes it.
    """

    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.remedy}"


@dataclass(frozen=True, slots=True)
class DirectoryTrust:
    """The rules of trust for one directory of filters.

    Attributes:
        owners: one of these users must own each filter's directory.
        distrust: why no filter in it is trusted; None: each filter is checked by itself.
    """

    owners: tuple[str, ...]
    distrust: Distrust | None

    def of_filter(
        self, place: str, directory: FileStatus, parts: Mapping[str, FileStatus]
    ) -> Distrust | None:
        """Return why the filter at `place`, with this status and these children by name, is not trusted, or None."""
        definition, subscribers = parts.get(DEFINITION), parts.get(SUBSCRIBERS)
        return (
            self.distrust
            or _not_held(place, directory, self.owners)
            or (definition and _not_held(f"{place}/{DEFINITION}", definition, self.owners))
            or (subscribers and _writable(f"{place}/{SUBSCRIBERS}", subscribers))
            or None
        )


def by_distrust(untrusted: Mapping[str, Distrust]) -> dict[Distrust, list[str]]:
    """Return the names of the untrusted filters, by the reason."""
    found: dict[Distrust, list[str]] = {}
    for name, distrust in untrusted.items():
        found.setdefault(distrust, []).append(name)
    return found


def trust_in(path: str, statuses: Mapping[str, FileStatus], own_user: str) -> DirectoryTrust:
    """Check a directory of filters by its status and that of each ancestor, by path, the root first.

    An ancestor may be writable if it is sticky: other users may not remove or rename there what they do not own.
    """
    owners = tuple(dict.fromkeys(user for user in (statuses[ROOT].owner, own_user) if user))
    for each, status in statuses.items():
        is_kept_by_sticky = each != path and int(status.permission, 8) & _STICKY
        found = _not_owned(each, status, owners) if is_kept_by_sticky else _not_held(each, status, owners)
        if found is not None:
            return DirectoryTrust(owners, found)
    return DirectoryTrust(owners, None)


def _not_held(path: str, status: FileStatus, owners: tuple[str, ...]) -> Distrust | None:
    return _not_owned(path, status, owners) or _writable(path, status)


def _not_owned(path: str, status: FileStatus, owners: tuple[str, ...]) -> Distrust | None:
    if status.owner in owners:
        return None
    return Distrust(
        f"{path} belongs to {status.owner}, not to {' or '.join(owners)} (the owner of / and the publisher's user)",
        f"hdfs dfs -chown {owners[0]} {path}",
    )


def _writable(path: str, status: FileStatus) -> Distrust | None:
    if not int(status.permission, 8) & _OTHERS_WRITE:
        return None
    return Distrust(
        f"{path} may be written by others than its owner (mode {status.permission})",
        f"hdfs dfs -chmod go-w {path}",
    )
