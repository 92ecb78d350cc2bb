"""A failure of HDFS is reported in one sentence, in terms of filters."""

import aiohttp
import pytest

from nncache.hadoop.errors import DataNodeUnavailableError, NoActiveNameNodeError, WebHdfsError
from nncache.invalidation.errors import FilterAccessError, FiltersUnavailableError
from nncache.invalidation.filters.hdfs_calls import already_exists, answered, is_missing, reason_of
from tests.invalidation.filters.fake_hdfs import refusal

MAY = "only an administrator may"


def reported(failure: Exception) -> str:
    """Return the message for a failure."""
    with pytest.raises(FiltersUnavailableError) as caught, answered("f cannot be added", who_may=MAY):
        raise failure
    return str(caught.value)


def test_a_refused_user_hears_who_may() -> None:
    """The NameNode's sentence follows without its stack trace: it has the user, path and mode."""
    with (
        pytest.raises(
            FilterAccessError, match=r"^only an administrator may; HDFS says: Permission denied: user=bob$"
        ),
        answered("f cannot be added", who_may=MAY),
    ):
        raise refusal("AccessControlException", "Permission denied: user=bob\n\tat org.apache...")


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (
            refusal("SafeModeException", "Name node is in safe mode.\nIt"),
            "HDFS says: SafeModeException: Name node is in safe mode.",
        ),
        (
            refusal("StandbyException", "Operation category READ"),
            "this NameNode is not the active one, all of them must be named (Operation category READ)",
        ),
        (refusal("NullPointerException", ""), "HDFS says: NullPointerException: "),
        (
            NoActiveNameNodeError("none of the NameNodes is the active one: a; b"),
            "none of the NameNodes is the active one: a; b",
        ),
        (WebHdfsError("PUT http://a/: 500 b''"), "PUT http://a/: 500 b''"),
        (
            DataNodeUnavailableError("dn:9864: cut"),
            "no answer from the DataNode at dn:9864: cut (files are read and written there)",
        ),
        (
            aiohttp.ServerDisconnectedError(),
            "it closed the connection without an answer, as a server that ends or a TLS port (namenode_tls) does",
        ),
        (TimeoutError(), "no answer in time"),
        (aiohttp.ClientError(), "ClientError"),
    ],
)
def test_any_other_failure_names_its_reason(failure: Exception, reason: str) -> None:
    """Each message begins with what could not be done."""
    assert reported(failure) == f"f cannot be added: {reason}"
    assert reason_of(failure) == reason


def test_expected_refusals_can_be_distinguished() -> None:
    """Classes distinguish them, since the messages differ between releases."""
    assert is_missing(refusal("FileNotFoundException"))
    assert already_exists(refusal("FileAlreadyExistsException"))
    assert not already_exists(refusal("FileNotFoundException"))
    assert not is_missing(refusal("AccessControlException"))


def test_our_own_mistakes_are_not_hdfs_s() -> None:
    """An exception that HDFS did not cause passes through unchanged."""
    with pytest.raises(KeyError), answered("f cannot be added", who_may=MAY):
        raise KeyError
