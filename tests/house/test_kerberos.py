"""Tests of Kerberos are skipped where it is not installed, but never in CI."""

from pathlib import Path

import pytest

from tests.house.tree import ROOT
from tests.kerberos import REQUIRED, give_up

EITHER = (pytest.fail.Exception, pytest.skip.Exception)


@pytest.mark.parametrize(
    ("required", "ends_with"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)]
)
def test_a_test_is_skipped_or_fails_where_it_is_required(
    monkeypatch: pytest.MonkeyPatch, required: str, ends_with: type[BaseException]
) -> None:
    """The reason names the packages to install."""
    monkeypatch.setenv(REQUIRED, required)
    with pytest.raises(EITHER, match="apt-get install it") as ended:
        give_up("apt-get install it")
    assert ended.type is ends_with


def test_ci_requires_it_and_installs_what_make_names() -> None:
    """The three lists of packages must agree."""
    run, make = (Path(ROOT / name).read_text(encoding="utf-8") for name in (".ci/run", "Makefile"))
    assert f"export {REQUIRED}=1" in run
    named = make.split("KERBEROS := apt-get install ", 1)[1].splitlines()[0].split()
    assert {"krb5-kdc", "krb5-admin-server", "krb5-user", "libkrb5-dev", "gcc"} <= set(named)
    installed = run.split("apt-get install ", 1)[1].split("\nfi", 1)[0].split()
    assert set(named) <= set(installed)
