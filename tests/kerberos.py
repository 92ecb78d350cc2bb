"""Where Kerberos can be had, and tickets as a client sends them."""

import base64
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from nncache.testbed.errors import MissingToolError
from nncache.testbed.kdc import PROGRAMS, Kdc
from nncache.testbed.ports import PortLease
from nncache.testbed.process import Lifeline, Running
from nncache.testbed.programs import find_programs

REQUIRED = "NNCACHE_REQUIRE_KERBEROS"
"""With this variable set (as in .ci/run), a test that would be skipped fails."""

_BUILD = "apt-get install krb5-user libkrb5-dev gcc python3-dev, then remove .venv/.installed"


def need_kdc() -> None:
    """Skip the test where no KDC is installed."""
    try:
        find_programs(*PROGRAMS)
    except MissingToolError as error:
        give_up(str(error))


def need_gssapi() -> None:
    """Skip the test where the extra `kerberos` is not installed."""
    if importlib.util.find_spec("gssapi") is None:
        give_up(f"Python's gssapi is not installed: {_BUILD}")


def need_curl() -> None:
    """Skip the test where there is no curl; Debian's has GSSAPI."""
    if shutil.which("curl") is None:
        give_up("curl is not installed: apt-get install curl")


def give_up(reason: str) -> None:
    """Skip the test, or fail it where REQUIRED says so."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{REQUIRED} is set, and {reason}")
    pytest.skip(reason)


@contextmanager
def clients_of(kdc: Kdc) -> Iterator[None]:
    """Make this process a client of that KDC, and of no tickets that its user may have."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("KRB5CCNAME", "KRB5_KTNAME", "KRB5_CLIENT_KTNAME"):
            patch.delenv(name, raising=False)
        for name, value in kdc.environ().items():
            patch.setenv(name, value)
        yield


def negotiate(ccache: Path, service: str = "HTTP@localhost") -> str:
    """Return a value of the header Authorization: a new SPNEGO token by the ticket in this ccache file.

    Skips the test where the extra `kerberos` is not installed. Needs `clients_of` the KDC.
    """
    need_gssapi()
    import gssapi  # noqa: PLC0415 - an extra

    name = gssapi.Name(service, gssapi.NameType.hostbased_service)
    spnego = gssapi.OID.from_int_seq("1.3.6.1.5.5.2")
    credentials = gssapi.Credentials(usage="initiate", store={"ccache": f"FILE:{ccache}"})
    token = gssapi.SecurityContext(name=name, mech=spnego, creds=credentials, usage="initiate").step()
    assert token is not None
    return f"Negotiate {base64.b64encode(token).decode()}"


class KdcServer(Kdc, Running):
    """A KDC of its own: a free port and a temporary directory, for as long as the `with` block lasts.

    It also ends when this process does, in whatever way (see `nncache.testbed.guard`).
    """

    def __init__(self) -> None:
        """Lay it out without starting it; the `with` block does.

        Raises:
            TestbedError: MIT Kerberos is not installed, or no port is free.
        """
        self._close = ExitStack()
        with ExitStack() as undo:
            undo.callback(self._close.close)
            made = Path(tempfile.mkdtemp(prefix="nncache-kdc-"))
            self._close.callback(shutil.rmtree, made, ignore_errors=True)
            lifeline = Lifeline(made / "guard.lock", made)
            self._close.callback(lifeline.close)
            ports = self._close.enter_context(PortLease())
            super().__init__(made, ports.take(), log=made / "kdc.log", lifeline=lifeline)
            undo.pop_all()

    def close(self) -> None:
        """End it, give its port back and remove its directory. May be called again."""
        self.process.kill()  # its database will not be read again
        self._close.close()
