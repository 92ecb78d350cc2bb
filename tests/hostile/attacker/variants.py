"""Lines of the product without which the attacker succeeds, each with the invariant that shows it.

`python -m tests.hostile.attacker.variants NAME` runs histories of one until it is caught, in this process.
"""

import sys
from pathlib import Path
from typing import Final

from tests.model.guarantee import Guarantee
from tests.model.variants import patching
from tests.model.variants.variant import read_variants

MAX_HISTORIES: Final = 200

CAUGHT_BY: Final = {
    Guarantee.HITS_KEPT: "HITS_STAY_HITS",
    Guarantee.FAIL_TO_NAMENODE: "BOUNDED_MEMORY",
    Guarantee.PROVEN_GRANT: "SAYS_NO_MORE",
}
"""The member of `tests.hostile.attacker.history.Broken` that catches the variants of a guarantee."""

VARIANTS: Final = read_variants(Path(__file__).with_name("variants.txt"))


def main(name: str) -> int:
    """Print the number of histories after which the invariant broke; return 1 if it did not break."""
    variant = VARIANTS[name]
    patching.install(variant)
    from tests.hostile.attacker.history import Broken, tell  # noqa: PLC0415 - imports the product, broken by now
    from tests.model.history import begin  # noqa: PLC0415 - as above

    begin()
    expected = Broken[CAUGHT_BY[variant.guarantee]]
    for seed in range(1, MAX_HISTORIES + 1):
        found = next((each for each in tell(seed).findings if each.broken is expected), None)
        if found is not None:
            print(f"{name}: caught after {seed} histories: {found.broken}: {found.what}")  # noqa: T201 - a command
            return 0
    print(f"{name}: NOT CAUGHT in {MAX_HISTORIES} histories")  # noqa: T201 - a command
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
