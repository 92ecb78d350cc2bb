"""Settings of the registry."""

import pytest

from nncache.hadoop.settings import SettingError
from nncache.registry.access import AccessPolicy, Account
from nncache.registry.settings import RegistrySettings


def test_an_open_registry_at_hadoops_root_is_the_default() -> None:
    """As Hadoop has it."""
    assert RegistrySettings().registry_root == "/registry"
    assert RegistrySettings().access == AccessPolicy()


def test_a_secure_registry_has_system_accounts_in_a_realm() -> None:
    """Hadoop's, unless others are named."""
    settings = RegistrySettings(registry_secure=True, registry_realm="R")
    accounts = tuple(Account("sasl", f"{name}@R") for name in ("yarn", "mapred", "hdfs", "hadoop"))
    assert settings.access == AccessPolicy(accounts, "R")


@pytest.mark.parametrize("root", ["", "/", "registry", "/registry/", "/a//b", "/a/../b"])
def test_a_root_that_is_no_path_is_refused(root: str) -> None:
    """With its key."""
    with pytest.raises(SettingError, match="registry_root"):
        RegistrySettings(registry_root=root)


def test_a_wrong_account_is_refused_where_it_matters() -> None:
    """An open registry looks at none."""
    RegistrySettings(registry_system_accounts=("x",))
    with pytest.raises(SettingError, match="registry_system_accounts"):
        RegistrySettings(registry_secure=True, registry_system_accounts=("x",))
    with pytest.raises(SettingError, match="registry_realm must be given"):
        RegistrySettings(registry_secure=True)
