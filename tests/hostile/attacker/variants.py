"""Lines of the product without which the attacker wins, and by which invariant that is seen.

`python -m tests.hostile.attacker.variants NAME` tells histories of one of them until it is caught, in this process.
(tests/hostile/attacker/variants.py)
"""

import sys
from typing import Final

from tests.model.guarantee import Guarantee
from tests.model.variants import patching
from tests.model.variants.variant import Variant

MAX_HISTORIES: Final = 200

NO_SHARE: Final = Variant(
    name="no-share",
    guarantee=Guarantee.HITS_KEPT,
    rule="Each caller and each address has a share of the windows.",
    module="cache/windows.py",
    old="if len(theirs) >= self._share else []",
    new="if len(theirs) >= self._share * 1000 else []",
)
NO_BOUND: Final = Variant(
    name="no-bound",
    guarantee=Guarantee.FAIL_TO_NAMENODE,
    rule="The cache holds so many entries and rights, and no more.",
    module="cache/store.py",
    old="while (taken := self.bytes) > self._max_bytes or self._items > self._max_items:",
    new="while (taken := self.bytes) > self._max_bytes:",
)
NO_RIGHT: Final = Variant(
    name="no-right",
    guarantee=Guarantee.HITS_KEPT,
    rule="A window opens only for a caller who has the right to carry out the second step.",
    module="cache/windows.py",
    old="        if place is None or not write.writer.has_right:\n            self._aside.add(write)",
    new="        if place is None:\n            self._aside.add(write)",
)
FOREIGN_APPEND: Final = Variant(
    name="foreign-append",
    guarantee=Guarantee.HITS_KEPT,
    rule="The redirected APPEND of a directory costs nobody its status.",
    module="hadoop/effects.py",
    old="case Effect.TOUCHES if call.op.two_step and existing.is_directory:",
    new="case Effect.TOUCHES if call.op.two_step and existing.takes_in:",
)
FOREIGN_OPEN: Final = Variant(
    name="foreign-open",
    guarantee=Guarantee.HITS_KEPT,
    rule="The redirected OPEN of a directory costs nobody its status.",
    module="cache/store.py",
    old="(spares_directory and entry.kind is EntryKind.DIRECTORY)",
    new="(spares_directory and entry.kind is EntryKind.MISSING)",
)
ORACLE_HEADER: Final = Variant(
    name="oracle-header",
    guarantee=Guarantee.PROVEN_GRANT,
    rule="What the cache knows of a path is said in Cache-Status to callers to whom the NameNode shows the path.",
    module="proxy/cache_status.py",
    old="why if is_shown or REASONS[why].is_open else Reason.MISS",
    new="why",
)

CAUGHT_BY: Final = {
    NO_SHARE: "HITS_STAY_HITS",
    NO_BOUND: "BOUNDED_MEMORY",
    NO_RIGHT: "HITS_STAY_HITS",
    FOREIGN_APPEND: "HITS_STAY_HITS",
    FOREIGN_OPEN: "HITS_STAY_HITS",
    ORACLE_HEADER: "SAYS_NO_MORE",
}
"""The name of the invariant, of `tests.hostile.attacker.history.Broken`, that notices each."""

VARIANTS: Final = {variant.name: variant for variant in CAUGHT_BY}
"""By name."""


def main(name: str) -> int:
    """Say after how many histories the invariant broke; 1 if it never did."""
    variant = VARIANTS[name]
    patching.install(variant)
    from tests.hostile.attacker.history import Broken, tell  # noqa: PLC0415 - imports the product, broken by now
    from tests.model.history import begin  # noqa: PLC0415 - as above

    begin()
    expected = Broken[CAUGHT_BY[variant]]
    for seed in range(1, MAX_HISTORIES + 1):
        found = next((each for each in tell(seed).findings if each.broken is expected), None)
        if found is not None:
            print(f"{name}: caught after {seed} histories: {found.broken}: {found.what}")  # noqa: T201 - a command
            return 0
    print(f"{name}: NOT CAUGHT in {MAX_HISTORIES} histories")  # noqa: T201 - a command
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
