"""Each broken variant still matches the product's source, and one of each guarantee is caught quickly."""

import pytest

from tests.model.guarantee import Guarantee
from tests.model.variants.catching import catch
from tests.model.variants.patching import compile_broken
from tests.model.variants.variant import VARIANTS, StaleVariantError, Variant

CAUGHT_SOON = (
    "cookie-replayed",
    "parent-kept",
    "create-without-a-window",
    "ticket-not-spoiled",
    "gap-costs-nothing",
    "chmod-costs-only-the-path",
    "open-file-kept",
    "refusal-to-forward",
    "refused-call-forgets",
    "one-gate-for-all",
)
"""One variant per guarantee that few histories catch; the long run covers all variants."""


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_a_variant_breaks_one_line(variant: Variant) -> None:
    """Its old text occurs once in the source, the change is one line, and the result is valid Python."""
    assert variant.lines_changed() == 1
    compile_broken(variant)


@pytest.mark.parametrize(
    ("old", "new"), [("no such text", "x"), ("self", "x"), ("import math", "import math")]
)
def test_a_stale_variant_is_an_error(old: str, new: str) -> None:
    """Text that is missing, that occurs several times, or that does not change is rejected."""
    stale = Variant(
        name="stale", guarantee=Guarantee.VERBATIM, rule="", module="cache/gate.py", old=old, new=new
    )
    with pytest.raises(StaleVariantError, match="stale"):
        compile_broken(stale)


@pytest.mark.parametrize("name", CAUGHT_SOON)
def test_a_variant_is_caught(name: str) -> None:
    """The check of its own guarantee finds it, in a process of its own."""
    verdict = catch(VARIANTS[name], seed=1, histories=100, steps=50)
    assert verdict.is_caught, verdict


def test_those_caught_soon_are_of_all_guarantees() -> None:
    """Each guarantee's check is seen to fail."""
    assert {VARIANTS[name].guarantee for name in CAUGHT_SOON} == set(Guarantee)
