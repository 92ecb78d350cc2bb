"""Where Kerberos cannot be had its tests are skipped, but never in CI."""

from pathlib import Path

import pytest

from tests.house.tree import ROOT
from tests.kerberos import REQUIRED, give_up

EITHER = (pytest.fail.Exception, pytest.skip.Exception)


def test_a_test_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packages to install are in it."""
    monkeypatch.delenv(REQUIRED, raising=False)
    with pytest.raises(EITHER, match="apt-get install it") as ended:
        give_up("apt-get install it")
    assert ended.type is pytest.skip.Exception


def test_where_it_is_required_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that nothing was checked by says nothing."""
    monkeypatch.setenv(REQUIRED, "1")
    with pytest.raises(EITHER, match="apt-get install it") as ended:
        give_up("apt-get install it")
    assert ended.type is pytest.fail.Exception


def test_ci_requires_it_and_installs_what_make_names() -> None:
    """One list of packages in three places is three lists else."""
    run, make = (Path(ROOT / name).read_text(encoding="utf-8") for name in (".ci/run", "Makefile"))
    assert f"export {REQUIRED}=1" in run
    named = make.split("KERBEROS := apt-get install ", 1)[1].splitlines()[0].split()
    assert {"krb5-kdc", "krb5-admin-server", "krb5-user", "libkrb5-dev", "gcc"} <= set(named)
    installed = run.split("apt-get install ", 1)[1].split("\nfi", 1)[0].split()
    assert set(named) <= set(installed)
