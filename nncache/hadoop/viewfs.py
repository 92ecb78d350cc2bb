"""The mount table of a cluster's clients, from their `core-site.xml`.

Source: org.apache.hadoop.fs.viewfs.InodeTree, Constants and ConfigUtil, 3.5.0. A proxy serves the parts of all
namespaces in one tree, so a link must lead to the path at which it is mounted (docs/decisions/0024).
"""

from typing import Final
from urllib.parse import urlsplit

from nncache.hadoop.configuration import Configuration
from nncache.hadoop.paths import ROOT, InvalidPathError, canonical
from nncache.net.setting_error import SettingError

_PREFIX: Final = "fs.viewfs.mounttable."
_DEFAULT_NAME_KEY: Final = f"{_PREFIX}default.name.key"
_LINK: Final = "link."
_ROOT_LINKS: Final = frozenset({"linkFallback", "linkMergeSlash"})
_NO_LINK: Final = "homedir"
_INSTEAD: Final = "; else write [mounts] into the settings file"


def viewfs_mounts(values: Configuration) -> dict[str, str]:
    """Return the nameservices of the mount table of `fs.defaultFS` by mount point; empty if that is not a ViewFs.

    Raises SettingError: a proxy cannot follow a link of the table; names the property, and what to do.
    """
    default = urlsplit(values.get("fs.defaultFS") or "")
    if default.scheme != "viewfs":
        return {}
    table = default.netloc or values.get(_DEFAULT_NAME_KEY) or "default"
    prefix = f"{_PREFIX}{table}."
    mounts = dict[str, str]()
    for key in sorted(values.all_names()):
        if not key.startswith(prefix):
            continue
        point = _point(key, key.removeprefix(prefix), values)
        if point is None:
            continue
        if point in mounts:
            raise SettingError(key, point, f"must be one mount point of {table} only")
        mounts[point] = _nameservice(key, point, values)
    return mounts


def _point(key: str, link: str, values: Configuration) -> str | None:
    """Return the mount point of a link; None if the property is not a link."""
    if link in _ROOT_LINKS:
        return ROOT
    if link.startswith(_LINK):
        try:
            return canonical(link.removeprefix(_LINK))
        except InvalidPathError as error:
            raise SettingError(key, values.get(key), f"must name an absolute path behind {_LINK}") from error
    if link == _NO_LINK:
        return None
    raise SettingError(
        key,
        values.get(key),
        f"is a link that a proxy cannot follow: it must be link.PATH, linkFallback or linkMergeSlash{_INSTEAD}",
    )


def _nameservice(key: str, point: str, values: Configuration) -> str:
    """Return the nameservice of a link's target."""
    target = values.get(key) or ""
    url = urlsplit(target)
    known = values.names("dfs.nameservices")
    if url.scheme != "hdfs" or url.netloc not in known:
        named = (
            " or ".join(f"hdfs://{each}" for each in known) or "hdfs://NAMESERVICE, one of dfs.nameservices"
        )
        raise SettingError(key, target, f"must lead to {named}{_INSTEAD}")
    if (canonical(url.path) if url.path else ROOT) != point:
        raise SettingError(
            key,
            target,
            f"must lead to the path at which it is mounted, hdfs://{url.netloc}{point}: the proxy renames no path",
        )
    return url.netloc
