"""Several namespaces in one settings file: their tables, and the choice of one of them.

`[namespaces.NAME]` holds the keys of one namespace. `[mounts]` is the mount table; without it, the mount table of the
cluster's `core-site.xml` is used. A key at the top applies to every namespace whose table does not have the key.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from nncache.errors import ConfigurationError
from nncache.hadoop.mounts import KEY, MountTable
from nncache.hadoop.paths import ROOT, InvalidPathError, canonical
from nncache.net.setting_error import SettingError

TABLES: Final = "namespaces"
CHOICE: Final = "namespace"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Tables: TypeAlias = Mapping[str, Mapping[str, object]]
"""Keys and values as in the file, by the name of the namespace."""

IDENTITY: Final = frozenset({"nameservice", "namenode_http", "namenode_rpc"})
"""Keys that identify a namespace. No two namespaces can have the same values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSettings:
    """The choice of a namespace of the settings file."""

    namespace: str = field(
        default="",
        metadata={
            "help": "Namespace to use if the settings file has several, [namespaces.NAME]: its name, or a path that it "
            "holds, such as /data/x. Empty: all of them for nncache proxy; the only one elsewhere."
        },
    )


@dataclass(frozen=True, slots=True)
class NamespaceTables:
    """The namespaces of a settings file or of a mount table.

    Attributes:
        tables: the keys of each namespace.
        mounts: the mount table.
        origin: the file or directory of the mount table, for messages.
    """

    tables: Tables
    mounts: MountTable
    origin: str

    def chosen(self, choice: str) -> str:
        """Return the name of the namespace that a name or a path selects. For a single namespace, "" is enough.

        Raises:
            SettingError: the choice selects no namespace.
        """
        names = ", ".join(self.tables)
        if choice in self.tables:
            return choice
        if not choice and len(self.tables) == 1:
            return next(iter(self.tables))
        if not choice.startswith(ROOT):
            raise SettingError(
                CHOICE, choice or "none", f"must be one of {names}, or a path that one of them holds"
            )
        try:
            found = self.mounts.find(canonical(choice))
        except InvalidPathError as error:
            raise SettingError(CHOICE, choice, str(error)) from error
        if found is None:
            points = ", ".join(self.mounts.points)
            raise SettingError(
                CHOICE, choice, f"must lie below a mount point ({points}), or be one of {names}"
            )
        return found


def written_in(table: Mapping[str, object], config: Path | None) -> tuple[Tables, Mapping[str, str]]:
    """Return the tables of the namespaces in a settings file, and their names by mount point; empty if there are none.

    Raises:
        ConfigurationError: a table has another form.
    """
    faults, tables, mounts = list[str](), dict[str, Mapping[str, object]](), dict[str, str]()
    for name, own in _table(table, TABLES, f"must be tables of keys: [{TABLES}.NAME]", config).items():
        if not isinstance(own, dict):
            faults.append(f"{config}: {TABLES}.{name}: {own}: must be a table: [{TABLES}.{name}]")
        elif not _NAME.fullmatch(name):  # it becomes a label, and a part of an address
            faults.append(f"{config}: {TABLES}.{name}: must be letters, digits and ._- only")
        else:
            tables[name] = own
    for point, namespace in _table(table, KEY, 'must be a table: [mounts], "/data" = "NAME"', config).items():
        if isinstance(namespace, str):
            mounts[point] = namespace
        else:
            faults.append(f"{config}: {KEY}: {point}: {namespace}: must be the name of a namespace")
    if faults:
        raise ConfigurationError(*faults)
    return tables, mounts


def _table(table: Mapping[str, object], name: str, allowed: str, config: Path | None) -> Mapping[str, object]:
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise ConfigurationError(f"{config}: {name}: {found}: {allowed}")
    return found


def namespaces_of(
    in_file: Tables, mounts: Mapping[str, str], of_viewfs: Mapping[str, str], config: Path | None, viewfs: str
) -> NamespaceTables | None:
    """Return the namespaces of the file and of `core-site.xml` (`of_viewfs`, in directory `viewfs`); None for one.

    `in_file` and `mounts` are those of `written_in`.

    Raises:
        ConfigurationError: the namespaces and the mount table contradict each other.
    """
    if not in_file and not mounts and len(set(of_viewfs.values())) <= 1:
        return None  # a single namespace holds every path
    in_force, origin = (mounts, str(config)) if mounts or not of_viewfs else (of_viewfs, viewfs)
    tables = {name: in_file.get(name, {}) for name in (*in_file, *in_force.values())}
    faults = list[str]()
    faults += (
        f"{KEY}: {point}: {name}: must be the name of a namespace, [{TABLES}.{name}] (in {config})"
        for point, name in mounts.items()
        if name not in in_file
    )
    faults += (
        f"{TABLES}.{name}: is mounted nowhere: give it a path in [{KEY}] (in {config})"
        for name in in_file
        if name not in in_force.values() and in_force
    )
    try:
        table = MountTable(in_force)
    except SettingError as error:
        raise ConfigurationError(*faults, f"{error} (in {origin})") from error
    if faults:
        raise ConfigurationError(*faults)
    return NamespaceTables(tables, table, origin)


def own_keys_at_the_top(given: Collection[str]) -> str:
    """Return the error of top-level keys, or flags, that would make all namespaces the same; "" if there is none."""
    wrong = sorted(IDENTITY & set(given))
    if not wrong:
        return ""
    return (
        f"{', '.join(wrong)}: must stand in [{TABLES}.NAME] where there are several namespaces; {CHOICE} says which is "
        "meant"
    )
