"""What a command says where HDFS does not do it."""

import sys

import pytest

from nncache.commands.filters_store import bar, on_hdfs, on_store
from nncache.errors import ConfigurationError, FiltersError
from nncache.hadoop.namenode_settings import WebHdfsSettings
from nncache.invalidation.errors import FilterError, FilterExistsError
from nncache.settings.commands import SettingsOfFilters
from tests.commands.a_terminal import on_a_terminal

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


def test_no_bar_is_shown_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    """Not in a file, however long it takes."""
    with bar("reading") as tell:
        tell(1, 2)
        tell(2, 2)
    assert capfd.readouterr() == ("", "")


def test_a_bar_is_shown_on_a_terminal_when_it_takes_long() -> None:
    """And taken away at the end."""
    code = (
        "from nncache.commands import filters_store as progress_bar\n"
        "progress_bar.PATIENCE_S = 0.0\n"
        "with progress_bar.bar('reading filters') as tell:\n"
        "    tell(1, 1000)\n"
        "print('the end')\n"
    )
    shown = on_a_terminal(sys.executable, "-c", code)
    assert "reading filters" in shown
    assert "1/1000" in shown
    assert shown.rstrip().endswith("the end")
