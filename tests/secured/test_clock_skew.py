"""A wrong clock, on the host of nncache or on a server's host, with a real KDC."""

import os
import shutil
import subprocess
import sys

import pytest

from nncache.hadoop.kerberos.advice import advice_for
from tests.kerberos import KdcServer, give_up, need_gssapi

CLIENT = """
import base64, sys
from nncache.hadoop.kerberos.gss import GssContext, Mechanism, ticket_from_keytab
from nncache.hadoop.kerberos.krb5_library import new_cache
from nncache.hadoop.kerberos.principal import Principal

ticket = ticket_from_keytab(Principal("alice"), sys.argv[1], new_cache())
token = GssContext(ticket, Mechanism.SPNEGO).step(Principal("HTTP", "localhost"), None)
print(round(ticket.lifetime_s / 60), base64.b64encode(token).decode())
"""

SERVER = """
import base64, sys
import gssapi

name = gssapi.Name("HTTP@localhost", gssapi.NameType.hostbased_service)
credentials = gssapi.Credentials(name=name, usage="accept", store={"keytab": sys.argv[1]})
context = gssapi.SecurityContext(creds=credentials, usage="accept")
try:
    context.step(base64.b64decode(sys.argv[2]))
    assert context.complete  # raises what `step` may have kept to itself
    print(context.initiator_name)
except gssapi.exceptions.GSSError as error:
    print(*error.get_all_statuses(error.min_code, False))
"""


def run(kdc: KdcServer, skew: str, code: str, *arguments: str) -> str:
    """Run Python with its clock shifted by `skew`; return its output."""
    command = ("faketime", "-f", skew, sys.executable, "-c", code, *arguments)
    environ = {**os.environ, **kdc.environ()}
    done = subprocess.run(
        command if skew else command[3:],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def keytabs(kdc_server: KdcServer) -> tuple[str, str]:
    """The keytabs of alice and of the server."""
    need_gssapi()
    if shutil.which("faketime") is None:
        give_up("faketime is not installed: apt-get install faketime")
    return str(kdc_server.keytab("alice")), str(kdc_server.keytab("HTTP/localhost"))


@pytest.mark.parametrize("skew", ["+10m", "-10m"])
def test_a_wrong_clock_of_this_host_is_no_fault(
    kdc_server: KdcServer, keytabs: tuple[str, str], skew: str
) -> None:
    """MIT's library applies the KDC's time to its own messages (kdc_timesync of krb5.conf, on by default)."""
    life_min, token = run(kdc_server, skew, CLIENT, keytabs[0]).split()
    assert life_min == "60"
    assert run(kdc_server, "", SERVER, keytabs[1], token) == "alice@TEST.LOCAL"


@pytest.mark.parametrize("skew", ["+10m", "-10m"])
def test_a_wrong_clock_of_the_server_is_named(
    kdc_server: KdcServer, keytabs: tuple[str, str], skew: str
) -> None:
    """The server refuses the ticket, and the advice for its reason names NTP."""
    _, token = run(kdc_server, "", CLIENT, keytabs[0]).split()
    reason = run(kdc_server, skew, SERVER, keytabs[1], token)
    assert reason in {"Clock skew too great", "Ticket not yet valid", "Ticket expired"}
    assert "NTP" in advice_for(reason), reason
