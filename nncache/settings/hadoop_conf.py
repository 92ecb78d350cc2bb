"""Read the nameservice, its NameNodes and the registry from the cluster's Hadoop configuration.

(nncache/settings/hadoop_conf.py)
"""

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from nncache.errors import ConfigurationError
from nncache.hadoop.configuration import RESOURCES, BadConfigurationError, Configuration, is_there
from nncache.hadoop.configured_namenodes import (
    configured_journal,
    configured_namenodes,
    configured_nameservice,
)
from nncache.hadoop.namenode_settings import HadoopConfSettings
from nncache.hadoop.viewfs import viewfs_mounts
from nncache.invalidation.settings import DIRECT
from nncache.net.setting_error import SettingError
from nncache.registry import configured
from nncache.settings.forms import Supplement
from nncache.settings.namespaces import IDENTITY

_DIRECTORY: Final = "hadoop_conf_dir"
_ADDRESSES: Final = frozenset({"namenode_http", "namenode_rpc"})
_NOTHING: Final = Supplement({}, "")
_INSTEAD: Final = "name the NameNodes (namenode_http and namenode_rpc)"


def from_hadoop(given: Mapping[str, object], keys: Collection[str]) -> Supplement:
    """Return the configuration's values for these keys; none if addresses are given: they may be another cluster's.

    A directory of the environment that holds no configuration is ignored if no value is needed from it.

    Raises:
        ConfigurationError: one line with the directory or the file, the key and the allowed values.
    """
    if _ADDRESSES & given.keys():
        return _NOTHING
    wanted = _ADDRESSES & set(keys) or "nameservice" not in given
    directory = _directory(given, instead=_INSTEAD if wanted else "")
    if not directory:
        return _NOTHING
    with _as_configuration_errors(directory):
        values = {**_values_of(_read(directory), given, keys), **_registry_of_daemon(directory, given)}
    return Supplement({key: value for key, value in values.items() if key in keys}, directory)


def registry_from_hadoop(given: Mapping[str, object], keys: Collection[str]) -> Supplement:
    """Return the configuration's values for the registry, for a client of the registry.

    A client without a login at ZooKeeper ignores `hadoop.registry.secure`: it can only read there.

    Raises:
        ConfigurationError: as `from_hadoop`.
    """
    directory = _directory(
        given, configured.RESOURCES, instead="" if "zookeeper" in given else "give --zookeeper"
    )
    if not directory:
        return _NOTHING
    values = _registry_of(directory, given)
    if given.get("zookeeper_sasl", "none") == "none" and not given.get("zookeeper_certificate"):
        values.pop("registry_secure", None)
    return Supplement({key: value for key, value in values.items() if key in keys}, directory)


def viewfs_of(given: Mapping[str, object]) -> tuple[Mapping[str, str], str]:
    """Return the clients' mount table and its directory; both empty without a directory, or if IDENTITY keys are given.

    Raises:
        ConfigurationError: the table has a link that a proxy cannot follow; or as `from_hadoop`.
    """
    directory = "" if IDENTITY & given.keys() else _directory(given)
    if not directory:
        return {}, ""
    with _as_configuration_errors(directory):
        return viewfs_mounts(_read(directory)), directory


def _directory(
    given: Mapping[str, object], resources: tuple[str, ...] = RESOURCES, *, instead: str = ""
) -> str:
    """Return the configuration directory, as given or from the environment; "" if there is none.

    `instead`: the settings that could replace the configuration, for the message; "" if nothing is needed from it.

    Raises:
        ConfigurationError: the directory holds no configuration, and it was given or is needed.
    """
    directory = str(given.get(_DIRECTORY, HadoopConfSettings().hadoop_conf_dir))
    if not directory or any(is_there(file) for file in _files(directory, resources)):
        return directory
    rule = f"must hold {' or '.join(resources)}"
    if _DIRECTORY in given:
        raise ConfigurationError(f"{_DIRECTORY}: {directory}: {rule}")
    if instead:
        raise ConfigurationError(
            f"$HADOOP_CONF_DIR: {directory}: {rule}: correct it, or unset it and {instead}"
        )
    return ""


def _files(directory: str, resources: tuple[str, ...]) -> tuple[Path, ...]:
    return tuple(Path(directory, name) for name in resources)


def _read(directory: str, resources: tuple[str, ...] = RESOURCES) -> Configuration:
    return Configuration.read(_files(directory, resources), os.environ)


@contextmanager
def _as_configuration_errors(directory: str) -> Iterator[None]:
    """Translate errors of a Hadoop configuration into errors of the settings."""
    try:
        yield
    except BadConfigurationError as error:
        raise ConfigurationError(str(error)) from error
    except SettingError as error:
        raise ConfigurationError(f"{error} (in {directory})") from error


def _values_of(
    configuration: Configuration, given: Mapping[str, object], keys: Collection[str]
) -> Mapping[str, object]:
    nameservice, tls = given.get("nameservice"), given.get("namenode_tls")
    if not _ADDRESSES & set(keys):
        return {"nameservice": nameservice or configured_nameservice(configuration)}
    found = configured_namenodes(
        configuration,
        None if nameservice is None else str(nameservice),
        tls=None if tls is None else bool(tls),
    )
    values: dict[str, object] = {
        "nameservice": found.nameservice,
        "namenode_http": found.http,
        "namenode_rpc": found.rpc,
    }
    if journal := configured_journal(configuration, found.nameservice):
        values["shared_edits_dir"] = journal
    if found.principal:
        values["namenode_principal"] = found.principal
    if found.tls:
        values["namenode_tls"] = True
    return values


def _registry_of(directory: str, given: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of the registry. The realm defaults to the realm of `principal`, as in Hadoop."""
    with _as_configuration_errors(directory):
        values = dict(configured.configured_registry(_read(directory, configured.RESOURCES)))
    own_realm = str(given.get("principal", "")).partition("@")[2]
    if values.get("registry_secure") and own_realm:
        values.setdefault("registry_realm", own_realm)
    return values


def _registry_of_daemon(directory: str, given: Mapping[str, object]) -> dict[str, object]:
    """Return the same for a daemon that registers, without `zookeeper` if its channel may use another ZooKeeper."""
    if not given.get("registry"):
        return {}
    values = _registry_of(directory, given)
    if given.get("channel") != DIRECT:
        values.pop("zookeeper", None)
    return values
