"""The attacker in the model: the short form of `make hostile`."""

import subprocess
import sys

import pytest

from tests.hostile.attacker.figures import tell_chunk
from tests.hostile.attacker.history import Broken, tell
from tests.hostile.attacker.variants import CAUGHT_BY, VARIANTS
from tests.model.variants.patching import compile_broken
from tests.model.variants.variant import PACKAGE, Variant

HISTORIES = 80


def test_a_strangers_call_costs_no_hit_and_leaks_nothing() -> None:
    """Each invariant holds for any cheap calls, and the histories have all wanted kinds of calls."""
    figures = tell_chunk(range(1, HISTORIES + 1))
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.shortfalls(histories=HISTORIES) == []


def test_a_seed_tells_the_same_again() -> None:
    """A seed reproduces its history, so that a finding can be repeated."""
    assert tell(5) == tell(5)


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_a_variant_is_caught(variant: Variant) -> None:
    """Its own invariant catches it quickly, in a process of its own."""
    compile_broken(variant)
    assert CAUGHT_BY[variant.guarantee] in Broken.__members__
    command = (sys.executable, "-m", "tests.hostile.attacker.variants", variant.name)
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
