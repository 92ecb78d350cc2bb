"""Compose all components' settings: one flat TOML file, the same keys as flags. (nncache/settings.py)

A flag wins over the file, the file over the default.
"""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from cache.settings import CacheSettings
from coordination.settings import ZooKeeperSettings
from hadoop.namenode_settings import NameNodeSettings
from hadoop.settings import SettingError
from invalidation.settings import DIRECT, ZOOKEEPER, ChannelSettings, PollingSettings
from nncache.errors import ConfigurationError
from nncache.keys import Key, build, from_flag, from_toml, keys_of
from nncache.logs import LogSettings
from proxy.limits import LimitSettings
from proxy.settings import ProxySettings

COMPONENTS: Mapping[str, type] = {
    "Where it listens": ProxySettings,
    "The NameNodes": NameNodeSettings,
    "What is cached": CacheSettings,
    "How changes are learnt": ChannelSettings,
    "ZooKeeper": ZooKeeperSettings,
    "Polling of the edits": PollingSettings,
    "Limits": LimitSettings,
    "The log": LogSettings,
}
"""Every component that has settings, under the heading it has in docs/settings.md."""

KEYS: Mapping[str, Key] = {key.name: key for key in keys_of(COMPONENTS.values())}
"""All keys by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All that an operator may choose."""

    proxy: ProxySettings = field(default_factory=ProxySettings)
    namenodes: NameNodeSettings = field(default_factory=NameNodeSettings)
    cache: CacheSettings = field(default_factory=CacheSettings)
    channel: ChannelSettings = field(default_factory=ChannelSettings)
    zookeeper: ZooKeeperSettings = field(default_factory=ZooKeeperSettings)
    polling: PollingSettings = field(default_factory=PollingSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    log: LogSettings = field(default_factory=LogSettings)

    @property
    def channel_name(self) -> str:
        """The channel that is meant."""
        return self.channel.channel or (ZOOKEEPER if self.zookeeper.zookeeper else DIRECT)


def load_settings(config: Path | None, flags: Mapping[str, object]) -> Settings:
    """Return the settings of a start; `flags` holds only what was given on the command line.

    Raises:
        ConfigurationError: one line that names key, value and what is allowed; the file, too, if it came
            from there.
    """
    from_file = {} if config is None else _read(config)
    try:
        values = {
            name: from_toml(KEYS[name], value) for name, value in from_file.items() if name not in flags
        }
        values |= {name: from_flag(KEYS[name], value) for name, value in flags.items()}
        parts = build(COMPONENTS.values(), values)
    except SettingError as error:
        origin = f" (in {config})" if error.key in from_file and error.key not in flags else ""
        raise ConfigurationError(f"{error}{origin}") from error
    proxy, namenodes, cache, channel, zookeeper, polling, limits, log = parts
    return Settings(
        proxy=cast("ProxySettings", proxy),
        namenodes=cast("NameNodeSettings", namenodes),
        cache=cast("CacheSettings", cache),
        channel=cast("ChannelSettings", channel),
        zookeeper=cast("ZooKeeperSettings", zookeeper),
        polling=cast("PollingSettings", polling),
        limits=cast("LimitSettings", limits),
        log=cast("LogSettings", log),
    )


def _read(config: Path) -> dict[str, object]:
    """Return the file's keys and values; every key is one of ours."""
    try:
        table: dict[str, object] = tomllib.loads(config.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{config}: {error.strerror or error}") from error
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError
        raise ConfigurationError(f"{config}: is not TOML: {error}") from error
    for name, value in table.items():
        if name in KEYS:
            continue
        if isinstance(value, dict):
            raise ConfigurationError(
                f"{config}: [{name}]: tables have no meaning here; all keys are at the top"
            )
        nearest = difflib.get_close_matches(name, KEYS, n=1, cutoff=0.0)
        raise ConfigurationError(f"{config}: {name}: no such key; the nearest is {nearest[0]}")
    return table
