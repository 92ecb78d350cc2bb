"""The settings of a proxy, by its mount table."""

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
from nncache.settings.forms import Filled
from nncache.settings.namespaces import CHOICE, IDENTITY, Namespaces

ALONE: Final = ""
"""The name of one namespace alone."""

_SHARED_OUT: Final = ("max_cache_bytes", "max_cache_entries")
"""Keys at the top that say what all namespaces may have together; each gets an equal share."""

_OF_CHANNEL: Final = "zookeeper_root"
"""Of how ZooKeeper is found, what does not matter to the registry."""


@dataclass(frozen=True, slots=True)
class Federation:
    """The namespaces behind one proxy.

    Attributes:
        settings: of each, by name, in the order of the file; all agree on what the whole proxy has one of. One alone
            has the name "".
        mounts: what each holds.
    """

    settings: Mapping[str, SettingsOfProxy]
    mounts: MountTable

    @classmethod
    def of_one(cls, settings: SettingsOfProxy) -> Self:
        """Return one namespace alone, which holds everything."""
        return cls({ALONE: settings}, MountTable({ROOT: ALONE}))

    @property
    def is_alone(self) -> bool:
        """Whether nothing tells of namespaces."""
        return ALONE in self.settings

    @property
    def of_proxy(self) -> SettingsOfProxy:
        """Settings that all agree on, where the whole proxy has one of something."""
        return next(iter(self.settings.values()))


def load_proxy(config: Path | None, flags: Mapping[str, object]) -> Federation:
    """Return the settings of a start of a proxy; `flags` holds only what was given on the command line.

    Raises:
        ConfigurationError: a line for each fault, as `nncache.settings.commands.load_settings`; of several namespaces
            with the name of the one that it is about.
    """
    filled, mounts = fill_proxy(config, flags)
    if mounts is None:
        return Federation.of_one(filled[ALONE].settings)
    return Federation({name: each.settings for name, each in filled.items()}, mounts)


def fill_proxy(
    config: Path | None, flags: Mapping[str, object]
) -> tuple[Mapping[str, Filled[SettingsOfProxy]], MountTable | None]:
    """Return the settings as `load_proxy` does, by namespace, with where each value comes from.

    One namespace alone, or one that was chosen, has the name "", and no mount table.
    """
    namespaces = PROXY.namespaces(config, flags, KEYS)
    if namespaces is None:
        return {ALONE: PROXY.fill_in(config, flags, KEYS)}, None
    filled, faults = dict[str, Filled[SettingsOfProxy]](), dict[str, None]()
    for name in namespaces.tables:
        try:
            filled[name] = _share(PROXY.fill_in(config, {**flags, CHOICE: name}, KEYS), namespaces, name)
        except ConfigurationError as error:
            faults |= dict.fromkeys(error.lines)  # of what is the same for all each says the same
    faults |= dict.fromkeys((*_same(filled), *_not_yet(filled), *_one_registry(filled)))
    if faults:
        raise ConfigurationError(*faults)
    return filled, namespaces.mounts


def _share(filled: Filled[SettingsOfProxy], namespaces: Namespaces, name: str) -> Filled[SettingsOfProxy]:
    """Give a namespace its share of what all may have together, unless its own table says what it may have."""
    cache, number = filled.settings.cache, len(namespaces.tables)
    shares = {
        key: max(1, getattr(cache, key) // number)
        for key in _SHARED_OUT
        if key not in namespaces.tables[name]
    }
    return replace(filled, settings=replace(filled.settings, cache=replace(cache, **shares)))


def _not_yet(filled: Mapping[str, Filled[SettingsOfProxy]]) -> Iterator[str]:
    """Yield a line for what a proxy can only do in front of one namespace."""
    for settings in (each.settings for each in filled.values()):
        if settings.termination.is_on:
            yield (
                f"spnego_principal: {', '.join(settings.termination.spnego_principal)}: must not be given with several "
                f"namespaces: run a proxy for each ({CHOICE} chooses one), or let the NameNodes authenticate"
            )


def _one_registry(filled: Mapping[str, Filled[SettingsOfProxy]]) -> Iterator[str]:
    """Yield a line for each key by which two namespaces find another ZooKeeper: where is the registry then?"""
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


def _same(filled: Mapping[str, Filled[SettingsOfProxy]]) -> list[str]:
    """Return a line for each two namespaces that have the same name in ZooKeeper, or a NameNode in common."""
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
