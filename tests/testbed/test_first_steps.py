"""What a user is told of a cluster that asks for nothing; of one with Kerberos and TLS: tests/secured."""

from nncache.testbed import Cluster, first_steps


def test_a_cluster_without_either_has_nothing_to_say(cluster: Cluster) -> None:
    """Neither KDC nor certificates, and nothing to type first."""
    assert first_steps.kerberos(cluster) is None
    assert first_steps.tls(cluster) is None
    assert first_steps.lines(cluster) == ()
