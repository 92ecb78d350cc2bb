"""Every reason has its own words in `Cache-Status`."""

import re

import pytest

from cache.decisions import Reason
from proxy.handling import COLLAPSED, HIT, Bypass, Why, forwarded

# RFC 9211, section 2: a list member is a token with parameters; `fwd` takes one of these tokens.
_MEMBER = re.compile(
    rb"nncache(; hit|; fwd=(bypass|method|uri-miss|vary-miss|miss|request|stale|partial)"
    rb"(; detail=[a-z][a-z-]*)?(; stored)?(; collapsed)?)"
)
REASONS: tuple[Why, ...] = (*Reason, *Bypass)


@pytest.mark.parametrize("why", REASONS)
def test_every_reason_is_in_the_table(why: Why) -> None:
    """A reason that is added to the cache must not make a reply fail."""
    assert _MEMBER.fullmatch(forwarded(why))
    assert forwarded(why, is_stored=True) == forwarded(why) + b"; stored"


def test_no_two_reasons_look_the_same() -> None:
    """Who reads the header can tell every reason from every other."""
    texts = [HIT, COLLAPSED, *map(forwarded, REASONS)]
    assert len(set(texts)) == len(texts)
    assert all(_MEMBER.fullmatch(text) for text in texts)
