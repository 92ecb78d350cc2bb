"""The namespace behind each address of a NameNode."""

import pytest

from nncache.hadoop.errors import RpcUnavailableError, WrongAddressError
from nncache.hadoop.namespace import Namespace, NamespaceCheck

OURS, THEIRS = Namespace("CID-1", "BP-1"), Namespace("CID-2", "BP-2")


def check(over_http: Namespace | None = OURS) -> NamespaceCheck:
    """Return a check of a NameNode that reported this over HTTP."""
    made = NamespaceCheck("nn:9870", "nn:8020")
    made.note_over_http(over_http)
    return made


def test_nothing_is_admitted_before_http_has_answered() -> None:
    """N1: no error of the settings is known either."""
    subject = check(None)
    with pytest.raises(RpcUnavailableError, match="nn:9870 has not said which namespace it serves") as caught:
        subject.admit(OURS)
    assert not isinstance(caught.value, WrongAddressError)
    assert not caught.value.is_sent
    assert not subject.is_same(OURS)
    assert (subject.over_http, subject.over_rpc, subject.trouble) == (None, OURS, "")


def test_the_same_namespace_is_admitted() -> None:
    """It is valid while the HTTP address reports the same."""
    subject = check()
    assert (subject.over_rpc, subject.trouble) == (None, "")
    subject.admit(OURS)
    assert subject.is_same(OURS)
    assert (subject.over_rpc, subject.trouble) == (OURS, "")
    subject.note_over_http(OURS)
    assert subject.over_rpc == OURS


def test_a_format_is_not_reported_as_a_wrong_setting() -> None:
    """N1, N2: the connection becomes useless, and the reply on the next one counts."""
    subject = check()
    subject.admit(OURS)
    subject.note_over_http(THEIRS)
    assert not subject.is_same(OURS)
    assert (subject.over_rpc, subject.trouble) == (None, "")
    with pytest.raises(WrongAddressError, match="BP-1"):
        subject.admit(OURS)
    assert "BP-1" in subject.trouble
    subject.admit(THEIRS)
    assert subject.trouble == ""


@pytest.mark.parametrize("other", [THEIRS, Namespace("CID-1", "BP-2"), Namespace("CID-2", "BP-1")])
def test_another_namespace_is_refused_until_it_is_the_same(other: Namespace) -> None:
    """N2: the error names both, with advice."""
    subject = check()
    with pytest.raises(
        WrongAddressError, match=r"nn:8020 serves .*nn:9870 serves .*--namenode-rpc"
    ) as caught:
        subject.admit(other)
    assert str(other) in str(caught.value)
    assert str(OURS) in str(caught.value)
    assert not caught.value.is_sent
    assert subject.trouble == str(caught.value)
    assert not subject.is_same(other)
    subject.note_over_http(other)
    assert subject.trouble == ""
    subject.note_over_http(OURS)
    subject.admit(OURS)
    assert subject.trouble == ""
