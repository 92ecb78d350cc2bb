"""What a command says where HDFS does not do it."""

import pytest

from nncache.commands.filters_store import on_hdfs, on_store
from nncache.errors import ConfigurationError, FiltersError
from nncache.hadoop.namenode_settings import WebHdfsSettings
from nncache.invalidation.errors import FilterError, FilterExistsError
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.settings.commands import SettingsOfFilters

NOWHERE = SettingsOfFilters(namenodes=WebHdfsSettings(namenode_http=("127.0.0.1:1",), user="joe"))


def test_an_unreachable_namenode_is_told_with_the_flag() -> None:
    """In the operating system's words, without those of a library."""
    with pytest.raises(FiltersError) as caught:
        on_store(NOWHERE, lambda store: store.read_all())
    assert str(caught.value) == (
        "the filters in /apps/nncache/filters cannot be read: cannot connect to 127.0.0.1:1: [Errno 111] "
        "Connection refused; "
        "--namenode-http names the NameNodes' HTTP addresses"
    )


@pytest.mark.parametrize(
    ("error", "kind"),
    [(FilterError("odd\n"), ConfigurationError), (FilterExistsError("taken\n"), FiltersError)],
)
def test_whose_fault_it_is_says_the_kind(error: Exception, kind: type[Exception]) -> None:
    """And the exit code with it; always one line, without advice about addresses."""

    async def fail(*_: object) -> None:
        raise error

    with pytest.raises(kind) as caught:
        on_hdfs(NOWHERE, fail)
    assert str(caught.value) == str(error).replace("\n", "\\n")


def test_what_comes_of_it_is_returned() -> None:
    """The store is that of the settings."""

    async def path(store: FilterStore) -> str:
        return store.path

    assert on_store(NOWHERE, path) == "/apps/nncache/filters"
