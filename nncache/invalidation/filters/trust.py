"""Say which filters others than administrators can write: they are not believed.

Pure. A filter opens its events to its subscribers, whatever HDFS's permissions say of the paths that it matches. So it
is believed only if administrators alone can make it: each directory from the root to the filter's own belongs to an
administrator, and no one else may write it. Administrators are the owner of the root directory, who may replace all
below it, and the user that the publisher reads the edits as, which takes a superuser. Where a directory has ACLs the
bits of its group are their mask, the most that any entry for a named user or a group allows.
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
    """Why a filter is not believed.

    Attributes:
        reason: what is wrong, with the path.
        remedy: the command that mends it.
    """

    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.remedy}"


@dataclass(frozen=True, slots=True)
class DirectoryTrust:
    """What is believed in one directory of filters.

    Attributes:
        owners: to one of them each filter's directory must belong.
        distrust: why no filter in it is believed; None: each is judged by itself.
    """

    owners: tuple[str, ...]
    distrust: Distrust | None

    def of_filter(
        self, place: str, directory: FileStatus, parts: Mapping[str, FileStatus]
    ) -> Distrust | None:
        """Return why the filter at `place` is not believed, with this status and these children, by name."""
        definition, subscribers = parts.get(DEFINITION), parts.get(SUBSCRIBERS)
        return (
            self.distrust
            or _not_held(place, directory, self.owners)
            or (definition and _not_held(f"{place}/{DEFINITION}", definition, self.owners))
            or (subscribers and _writable(f"{place}/{SUBSCRIBERS}", subscribers))
            or None
        )


def by_distrust(untrusted: Mapping[str, Distrust]) -> dict[Distrust, list[str]]:
    """Return the names of the filters that are not believed for the same reason."""
    found: dict[Distrust, list[str]] = {}
    for name, distrust in untrusted.items():
        found.setdefault(distrust, []).append(name)
    return found


def trust_in(path: str, statuses: Mapping[str, FileStatus], own_user: str) -> DirectoryTrust:
    """Judge a directory of filters by its status and that of each directory above it, by path, the root first.

    Above it a sticky directory may be writable: others may not remove or rename there what is not theirs.
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
