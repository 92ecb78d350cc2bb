"""The servers of a growth have what is said of them."""

import shutil

import pytest

from nncache.bench.growth.figures import Growth
from nncache.bench.growth.stand import stand
from nncache.testbed import Cluster

pytestmark = pytest.mark.skipif(shutil.which("wrk") is None, reason="apt-get install wrk")


def test_a_cache_is_filled_before_it_is_measured(cluster: Cluster) -> None:
    """With as many entries as its size says, and none left out; what is not there is kept as well."""
    with stand(Growth.ENTRIES, cluster, 1_000) as subjects:
        assert [(each.size, each.progress().entries) for each in subjects] == [(1_000, 1_000)]
        assert subjects[0].progress().connections == 0
