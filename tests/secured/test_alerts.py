"""Alerts about tickets fire in a real Prometheus when the KDC is away, and clear when it is back."""

import pytest

from nncache.testbed import Cluster, Kdc
from nncache.testbed.daemon import Proxy
from nncache.testbed.spec import REALM
from tests.deploy.test_alerts import OF_KERBEROS, needs_prometheus, quick_rules, until
from tests.kerberos import need_gssapi
from tests.real.faults import paused
from tests.secured.service import identity_flags
from tools.prometheus import Prometheus

pytestmark = [pytest.mark.long, pytest.mark.timeout(600), needs_prometheus]

LIFE_S = 20
"""Of a ticket: it is renewed after half of that."""


def test_a_ticket_that_is_not_renewed_and_a_login_that_fails(secured_cluster: Cluster, kdc: Kdc) -> None:
    """The proxy has tickets of its own, with a short life; a silent KDC renews none."""
    need_gssapi()
    kdc.add("brief/localhost")
    kdc._kadmin(f'modprinc -maxlife "{LIFE_S} seconds" brief/localhost')  # noqa: SLF001 - of this test alone
    kdc.keytab("brief", "brief/localhost")
    own = identity_flags(secured_cluster, kdc, f"brief/localhost@{REALM}", "brief")
    with (
        Proxy(*own, "--glob", "/no/*") as proxy,
        Prometheus([proxy.admin], quick_rules(), interval="500ms") as seen,
    ):
        seen.await_targets()
        metrics = proxy.metrics
        until(lambda: metrics()["nncache_kerberos_ticket_end_timestamp_seconds"] > 0)
        first = metrics()["nncache_kerberos_ticket_start_timestamp_seconds"]
        until(lambda: metrics()["nncache_kerberos_ticket_start_timestamp_seconds"] > first)
        assert not OF_KERBEROS & seen.firing()
        with paused(kdc.process):
            until(lambda: seen.firing() >= OF_KERBEROS)
        until(lambda: not OF_KERBEROS & seen.firing())
