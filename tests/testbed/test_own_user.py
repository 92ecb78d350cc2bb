"""Who runs the test bed: a user id without a name is told in one line."""

import os

import pytest

from nncache.testbed.command import run_cluster
from nncache.testbed.own_user import own_user


def test_a_user_with_a_name_is_that_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the login name, or by the user id."""
    monkeypatch.setenv("LOGNAME", "joe")
    assert own_user() == "joe"


def test_a_user_id_without_a_name_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in containers with any user id: what is missing, and what to add."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54_321)
    assert run_cluster([]) == 1
    assert capsys.readouterr().err == (
        "nncache: user id 54321 has no name, and Hadoop's servers need one: run as a user that has one, or add an "
        "entry such as hdfs:x:54321:0::/tmp:/bin/sh to /etc/passwd\n"
    )
