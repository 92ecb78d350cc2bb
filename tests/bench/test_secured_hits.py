"""What a hit costs with a cookie, with a token and over TLS: who is asked how, and when that is too much."""

import os
import shutil

import pytest

from nncache.bench.secured_hits import (
    COOKIE,
    MOST_OF_NGINX,
    MOST_OF_PLAIN,
    NGINX_TLS,
    PATHS,
    PLAIN,
    ROOT,
    TLS,
    TOKEN,
    Way,
    cost_s,
    verdicts,
)
from nncache.testbed.errors import TestbedError
from tests.bench.polling_server import Act, Script, reply, serving

needs_wrk = pytest.mark.skipif(shutil.which("wrk") is None, reason="apt-get install wrk")


def test_a_ratio_is_of_medians_and_has_its_most() -> None:
    """One round that another program disturbed decides nothing."""
    costs = {
        PLAIN: [1.0, 1.0, 9.0],
        COOKIE: [1.1, 1.1, 1.1],
        TOKEN: [1.2, 1.2, 0.1],
        NGINX_TLS: [2.0],
        TLS: [2.6],
    }
    found = [(round(ratio, 6), most, is_met) for _, ratio, most, is_met in verdicts(costs)]
    assert found == [(1.1, MOST_OF_PLAIN, True), (1.2, MOST_OF_PLAIN, False), (1.3, MOST_OF_NGINX, True)]


@needs_wrk
def test_wrk_asks_with_the_cookie() -> None:
    """Each path in turn."""
    script = Script({})
    with serving(script) as address:
        way = Way("so", address, os.getpid(), query="&x=y", cookie='hadoop.auth="u=a"')
        assert cost_s(way, 1) > 0
    assert script.heads
    assert all(b'Cookie: hadoop.auth="u=a"' in head for head in script.heads)
    asked = {f"/webhdfs/v1{ROOT}/{number}?op=GETFILESTATUS&x=y" for number in range(PATHS)}
    assert set(script.targets) <= asked


@needs_wrk
def test_what_is_refused_is_no_hit() -> None:
    """It ends the benchmark."""
    refused = (Act(data=reply(status="403 Forbidden")),)
    script = Script({f"{ROOT}/{number}": refused for number in range(PATHS)})
    with serving(script) as address, pytest.raises(TestbedError, match="requests failed"):
        cost_s(Way("so", address, os.getpid()), 1)
