"""Alerts about tickets fire in a real Prometheus while the KDC is silent, and clear when it answers again."""

import pytest

from nncache.testbed import Cluster, Kdc
from nncache.testbed.daemon import ProxyDaemon
from nncache.testbed.spec import REALM
from tests.deploy.test_alerts import OF_KERBEROS, needs_prometheus, quick_rules, until
from tests.kerberos import need_gssapi
from tests.real.faults import paused
from tests.secured.service import identity_flags
from tools.prometheus import Prometheus

pytestmark = [pytest.mark.long, pytest.mark.timeout(600), needs_prometheus]

LIFE_S = 20
"""Lifetime of a ticket in seconds. It is renewed after half of it."""


def test_a_ticket_that_is_not_renewed_and_a_login_that_fails(secured_cluster: Cluster, kdc: Kdc) -> None:
    """The proxy's tickets are short-lived, and a silent KDC renews none."""
    need_gssapi()
    kdc.add("brief/localhost")
    kdc._kadmin(f'modprinc -maxlife "{LIFE_S} seconds" brief/localhost')  # noqa: SLF001 - of this test alone
    kdc.keytab("brief", "brief/localhost")
    own = identity_flags(secured_cluster, kdc, f"brief/localhost@{REALM}", "brief")
    with (
        ProxyDaemon(*own, "--glob", "/no/*") as proxy,
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
