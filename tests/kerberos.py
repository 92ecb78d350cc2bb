"""The requirements of Kerberos tests, and a client's tickets."""

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
"""With this variable set (as in .ci/run), a missing requirement is a failure, not a skip."""

_BUILD = "apt-get install krb5-user libkrb5-dev gcc python3-dev, then remove .venv/.installed"


def need_kdc() -> None:
    """Skip the test if no KDC is installed."""
    try:
        find_programs(*PROGRAMS)
    except MissingToolError as error:
        give_up(str(error))


def need_gssapi() -> None:
    """Skip the test if the extra `kerberos` is not installed."""
    if importlib.util.find_spec("gssapi") is None:
        give_up(f"Python's gssapi is not installed: {_BUILD}")


def need_curl() -> None:
    """Skip the test without curl; Debian's supports GSSAPI."""
    if shutil.which("curl") is None:
        give_up("curl is not installed: apt-get install curl")


def give_up(reason: str) -> None:
    """Skip the test; fail it if REQUIRED is set."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{REQUIRED} is set, and {reason}")
    pytest.skip(reason)


@contextmanager
def clients_of(kdc: Kdc) -> Iterator[None]:
    """Make this process a client of the KDC, without its user's own tickets."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("KRB5CCNAME", "KRB5_KTNAME", "KRB5_CLIENT_KTNAME"):
            patch.delenv(name, raising=False)
        for name, value in kdc.environ().items():
            patch.setenv(name, value)
        yield


def negotiate(ccache: Path, service: str = "HTTP@localhost") -> str:
    """Return an Authorization value: a new SPNEGO token from the ticket in this ccache file.

    The test is skipped if the extra `kerberos` is not installed. Needs `clients_of` the KDC.
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
    """A KDC with a free port and a temporary directory, during the `with` block.

    It also ends with this process, however that ends (see `nncache.testbed.guard`).
    """

    def __init__(self) -> None:
        """Prepare the KDC; the `with` block starts it.

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
        """Kill the KDC, release its port and remove its directory. May be called repeatedly."""
        self.process.kill()  # its database is not needed any more
        self._close.close()
