"""The attacker wins where a rule is broken, and the invariant that is about it notices."""

import subprocess
import sys

import pytest

from tests.hostile.attacker.history import Broken
from tests.hostile.attacker.variants import CAUGHT_BY, VARIANTS
from tests.model.variants.patching import compile_broken
from tests.model.variants.variant import PACKAGE, Variant


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_a_variant_is_caught(variant: Variant) -> None:
    """Soon, in a process of its own, by its own invariant."""
    compile_broken(variant)
    assert CAUGHT_BY[variant.guarantee] in Broken.__members__
    command = (sys.executable, "-m", "tests.hostile.attacker.variants", variant.name)
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
