"""The page of what `Cache-Status` says has a section for all that a proxy can say."""

import pytest

from nncache.proxy.cache_status import COLLAPSED, NOT_WEBHDFS, REASONS, ForwardReason, forwarded
from nncache.proxy.headers import HIT
from nncache.proxy.messages import Header
from nncache.settings.reasons_page import reasons_page

PAGE = reasons_page("")
OF_THE_PATH, _, OF_THE_REST = PAGE.partition("\n## What follows from the request")


def section_of(name: str, field: Header, part: str) -> tuple[str, str]:
    """Return what it means and what to do; there is one such section, in this part of the page."""
    start = f"\n### {name}\n\n```\nCache-Status: {field[1].decode()}\n```\n\n**Means**: "
    assert PAGE.count(start) == 1
    meaning, _, to_do = part.partition(start)[2].partition("\n\n**Do**: ")
    return meaning, to_do.partition("\n")[0]


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_each_reason_has_a_section(reason: ForwardReason) -> None:
    """With the header as it is sent, what it means and what to do, in the part of those who may read it."""
    explained = REASONS[reason]
    field = forwarded(reason, is_shown=True)
    meaning, to_do = section_of(reason.value, field, OF_THE_REST if explained.is_open else OF_THE_PATH)
    assert meaning == f"{explained.meaning}."
    assert to_do == explained.to_do
    assert to_do.endswith(".")


def test_what_is_no_reason_has_a_section() -> None:
    """An answer from memory, a shared one, and a target that is not served."""
    assert section_of("hit", HIT, OF_THE_PATH) == ("it is answered from memory.", "Nothing.")
    assert section_of("collapsed", COLLAPSED, OF_THE_PATH)[1]
    assert section_of("not-webhdfs", NOT_WEBHDFS, OF_THE_REST)[1]
