"""Take the nameservice and its NameNodes from the cluster's own configuration. (nncache/settings/hadoop_conf.py)"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from nncache.errors import ConfigurationError
from nncache.hadoop.configuration import RESOURCES, BadConfigurationError, Configuration
from nncache.hadoop.configured_namenodes import configured_namenodes, configured_nameservice
from nncache.hadoop.namenode_settings import HadoopConfSettings
from nncache.hadoop.settings import SettingError
from nncache.settings.forms import Supplement

_DIRECTORY: Final = "hadoop_conf_dir"
_ADDRESSES: Final = frozenset({"namenode_http", "namenode_rpc"})
_NOTHING: Final = Supplement({}, "")


def from_hadoop(said: Mapping[str, object], keys: Collection[str]) -> Supplement:
    """Return what the configuration says of these keys; nothing where addresses were given: they may be of another one.

    A directory that only the environment names, and that holds no configuration, is passed over.

    Raises:
        ConfigurationError: one line that names the directory or the file, the key and what would be right.
    """
    directory = str(said.get(_DIRECTORY, HadoopConfSettings().hadoop_conf_dir))
    if not directory or _ADDRESSES & said.keys():
        return _NOTHING
    files = [Path(directory, name) for name in RESOURCES]
    if not any(file.exists() for file in files):
        if _DIRECTORY not in said:
            return _NOTHING
        raise ConfigurationError(f"{_DIRECTORY}: {directory}: must hold {' or '.join(RESOURCES)}")
    try:
        values = _values_of(Configuration.read(files), said, keys)
    except BadConfigurationError as error:
        raise ConfigurationError(str(error)) from error
    except SettingError as error:
        raise ConfigurationError(f"{error} (in {directory})") from error
    return Supplement({key: value for key, value in values.items() if key in keys}, directory)


def _values_of(
    configuration: Configuration, said: Mapping[str, object], keys: Collection[str]
) -> Mapping[str, object]:
    nameservice, tls = said.get("nameservice"), said.get("namenode_tls")
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
    if found.principal:
        values["namenode_principal"] = found.principal
    if found.tls:
        values["namenode_tls"] = True
    return values
