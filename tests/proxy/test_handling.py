"""Every reason has its own words in `Cache-Status`."""

import re

import pytest

from cache.decisions import Reason
from proxy.handling import COLLAPSED, Bypass, Why, forwarded
from proxy.headers import HIT

# RFC 9211, section 2: a list member is a token with parameters; `fwd` takes one of these tokens.
_MEMBER = re.compile(
    rb"nncache(; hit|; fwd=(bypass|method|uri-miss|vary-miss|miss|request|stale|partial)"
    rb"(; stored)?(; collapsed)?(; detail=[a-z][a-z-]*)?)"
)
REASONS: tuple[Why, ...] = (*Reason, *Bypass)


@pytest.mark.parametrize("why", REASONS)
def test_every_reason_is_in_the_table(why: Why) -> None:
    """A reason that is added to the cache must not make a reply fail."""
    for is_stored in (False, True):
        name, text = forwarded(why, is_stored=is_stored)
        assert name == b"Cache-Status"
        assert _MEMBER.fullmatch(text)
        assert (b"; stored" in text) is is_stored


def test_no_two_reasons_look_the_same() -> None:
    """Who reads the header can tell every reason from every other."""
    fields = [HIT, COLLAPSED, *map(forwarded, REASONS)]
    assert len(set(fields)) == len(fields)
    assert all(_MEMBER.fullmatch(text) for _, text in fields)
