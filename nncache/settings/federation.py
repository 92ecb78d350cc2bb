"""The settings of a proxy: those of each namespace, and the mount table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Final, Self

from nncache.coordination.settings import ZooKeeperSettings
from nncache.errors import ConfigurationError
from nncache.hadoop.mounts import MountTable
from nncache.hadoop.paths import ROOT
from nncache.settings.commands import KEYS, PROXY, SettingsOfProxy
from nncache.settings.forms import FilledForm
from nncache.settings.namespaces import CHOICE, IDENTITY, NamespaceTables

ALONE: Final = ""
"""The name of a single namespace."""

_SHARED_OUT: Final = ("max_cache_bytes", "max_cache_entries")
"""Top-level keys with a limit for all namespaces together. Each namespace gets an equal share."""

_OF_CHANNEL: Final = "zookeeper_root"
"""The only key of ZooKeeperSettings that does not concern the registry."""


@dataclass(frozen=True, slots=True)
class Federation:
    """The namespaces behind one proxy.

    Attributes:
        settings: the settings of each namespace, by name, in the order of the file. They agree on everything of which
            the whole proxy has one. A single namespace has the name "".
        mounts: the mount table.
    """

    settings: Mapping[str, SettingsOfProxy]
    mounts: MountTable

    @classmethod
    def of_one(cls, settings: SettingsOfProxy) -> Self:
        """Return a single namespace, which holds everything."""
        return cls({ALONE: settings}, MountTable({ROOT: ALONE}))

    @property
    def is_alone(self) -> bool:
        """Whether there is a single namespace, without a name."""
        return ALONE in self.settings

    @property
    def of_proxy(self) -> SettingsOfProxy:
        """The settings of the whole proxy: the first namespace's, since all agree on them."""
        return next(iter(self.settings.values()))


def load_proxy(config: Path | None, flags: Mapping[str, object]) -> Federation:
    """Return the settings with which a proxy starts. `flags` holds only the flags that were given.

    Raises:
        ConfigurationError: a line for each fault, as `nncache.settings.commands.load_settings`; with several
            namespaces, the line names the namespace.
    """
    filled, mounts = fill_proxy(config, flags)
    if mounts is None:
        return Federation.of_one(filled[ALONE].settings)
    return Federation({name: each.settings for name, each in filled.items()}, mounts)


def fill_proxy(
    config: Path | None, flags: Mapping[str, object]
) -> tuple[Mapping[str, FilledForm[SettingsOfProxy]], MountTable | None]:
    """Return the settings as `load_proxy` does, by namespace, with the source of each value.

    A single namespace, or a chosen one, has the name "" and no mount table.
    """
    namespaces = PROXY.namespaces(config, flags, KEYS)
    if namespaces is None:
        return {ALONE: PROXY.fill_in(config, flags, KEYS)}, None
    filled, faults = dict[str, FilledForm[SettingsOfProxy]](), dict[str, None]()
    for name in namespaces.tables:
        try:
            filled[name] = _share(PROXY.fill_in(config, {**flags, CHOICE: name}, KEYS), namespaces, name)
        except ConfigurationError as error:
            faults |= dict.fromkeys(error.lines)  # each reports the faults of common settings
    faults |= dict.fromkeys((*_same(filled), *_not_yet(filled), *_one_registry(filled)))
    if faults:
        raise ConfigurationError(*faults)
    return filled, namespaces.mounts


def _share(
    filled: FilledForm[SettingsOfProxy], namespaces: NamespaceTables, name: str
) -> FilledForm[SettingsOfProxy]:
    """Return a namespace's settings with its share of the common limits, unless its own table sets a limit."""
    cache, number = filled.settings.cache, len(namespaces.tables)
    shares = {
        key: max(1, getattr(cache, key) // number)
        for key in _SHARED_OUT
        if key not in namespaces.tables[name]
    }
    return replace(filled, settings=replace(filled.settings, cache=replace(cache, **shares)))


def _not_yet(filled: Mapping[str, FilledForm[SettingsOfProxy]]) -> Iterator[str]:
    """Yield an error for each feature that a proxy supports in front of a single namespace only."""
    for settings in (each.settings for each in filled.values()):
        if settings.termination.is_on:
            yield (
                f"spnego_principal: {', '.join(settings.termination.spnego_principal)}: must not be given with several "
                f"namespaces: run a proxy for each ({CHOICE} chooses one), or let the NameNodes authenticate"
            )


def _one_registry(filled: Mapping[str, FilledForm[SettingsOfProxy]]) -> Iterator[str]:
    """Yield an error for each key by which two namespaces use different ZooKeepers: the registry needs one."""
    (one, first), *others = filled.items()
    if not first.settings.registration.registry:
        return
    for other, each in others:
        for key in (field.name for field in fields(ZooKeeperSettings) if field.name != _OF_CHANNEL):
            mine, theirs = (getattr(it.settings.zookeeper, key) for it in (first, each))
            if mine != theirs:
                yield (
                    f"registry: true: needs one ZooKeeper, and {key} is another for {one} than for {other} "
                    f"({first.places[key]}; {each.places[key]}): give both the same, or run a proxy for each "
                    f"({CHOICE} chooses one)"
                )


def _same(filled: Mapping[str, FilledForm[SettingsOfProxy]]) -> list[str]:
    """Return an error for each pair of namespaces with the same name in ZooKeeper, or with a common NameNode."""
    faults = []
    for (one, first), (other, second) in combinations(filled.items(), 2):
        for key in sorted(IDENTITY):
            mine, theirs = (getattr(each.settings.namenodes, key) for each in (first, second))
            both = {mine} & {theirs} if isinstance(mine, str) else set(mine) & set(theirs)
            faults += [
                f"{key}: {value}: must not be that of two namespaces, {one} and {other} "
                f"({first.places[key]}; {second.places[key]})"
                for value in sorted(both)
            ]
    return faults
