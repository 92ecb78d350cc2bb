"""A start that cannot succeed ends with a one-line error, and each file is read once."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from nncache.admin.access import Access
from nncache.admin.settings import AdminSettings, access_of
from nncache.daemons.proxy_process import loaded_again, run_proxy
from nncache.daemons.publisher_wiring import run_publisher
from nncache.errors import ConfigurationError, StartError
from nncache.hadoop.mounts import MountTable
from nncache.settings.federation import Federation
from tests.daemons.test_proxy_wiring import settings
from tests.daemons.test_publisher_wiring import settings as of_publisher
from tests.processes import free_address


def run_a_proxy(flags: dict[str, str]) -> None:
    """Run a proxy with a NameNode address where nothing listens."""
    again = Federation.of_one(settings(free_address()))
    run_proxy(Federation.of_one(settings(free_address(), **flags)), lambda: again)


def run_a_publisher(flags: dict[str, str]) -> None:
    """Run a publisher in the same way."""
    run_publisher(of_publisher(**flags), of_publisher)


DAEMONS = pytest.mark.parametrize(
    ("module", "run"), [("proxy_process", run_a_proxy), ("publisher_wiring", run_a_publisher)]
)


@DAEMONS
def test_the_token_is_read_once(
    module: str, run: Callable[[dict[str, str]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only at that time is a faulty file a one-line error; it may be missing or half written a moment later."""
    file = tmp_path / "token"
    file.write_text("0123456789abcdef")
    file.chmod(0o400)

    def read_and_remove(admin: AdminSettings, host: str) -> Access:
        access = access_of(admin, host)
        file.unlink()
        return access

    monkeypatch.setattr(f"nncache.daemons.{module}.access_of", read_and_remove)
    monkeypatch.setattr(f"nncache.daemons.{module}.set_up_logs", lambda _: None)  # keeps pytest's handlers
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(StartError, match=f"^admin: {address}: "):
            run({"admin": address, "admin_token_file": str(file)})


@DAEMONS
def test_a_token_file_that_is_not_there_ends_the_start(
    module: str, run: Callable[[dict[str, str]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is one line that names the setting. It comes before any socket is opened."""
    monkeypatch.setattr(f"nncache.daemons.{module}.set_up_logs", lambda _: None)
    with pytest.raises(ConfigurationError, match=r"^admin_token_file: .*No such file"):
        run({"admin_token_file": str(tmp_path / "none")})


def test_namespaces_can_be_reloaded_but_not_replaced() -> None:
    """Each takes its own new settings. Other names or mounts need a restart, as does a change to several namespaces."""
    alone, other = settings("127.0.0.1:1"), settings("127.0.0.1:2")
    begun = Federation({"one": alone, "two": other}, MountTable({"/": "one", "/b": "two"}))
    again = Federation({"one": other, "two": alone}, begun.mounts)
    of_one = Federation.of_one
    assert loaded_again(lambda: again, begun, "one") is other
    assert loaded_again(lambda: of_one(other), of_one(alone), "") is other
    for wrong, before in (
        (Federation(begun.settings, MountTable({"/": "one", "/c": "two"})), begun),
        (Federation({"one": alone}, MountTable({"/": "one"})), begun),
        (of_one(alone), begun),
        (begun, of_one(alone)),
    ):
        with pytest.raises(ConfigurationError, match="that needs a restart"):
            loaded_again(lambda wrong=wrong: wrong, before, "one")  # type: ignore[misc] # a default binds early
