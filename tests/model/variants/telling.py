"""Run histories of one broken variant in a process of its own.

Used by `tests.model.variants.catching`: `python -m tests.model.variants.telling NAME FIRST_SEED HISTORIES STEPS`,
followed by `whole` for the unbroken product.
One line of JSON reports the number of histories and the violations.
"""

import json
import signal
import sys
import traceback
from collections import Counter
from functools import partial
from types import FrameType
from typing import Final, NoReturn

from tests.model.variants import patching
from tests.model.variants.variant import TWO_NAMESPACES, VARIANTS

PATIENCE_S: Final = 30
"""Seconds after which a history is aborted: a broken product may never end one."""


def main(name: str, first_seed: int, histories: int, steps: int, *, is_whole: bool) -> None:
    """Run histories until one violates the variant's own guarantee."""
    variant = VARIANTS[name]
    if not is_whole:
        patching.install(variant)
    from tests.model.channels import ChannelName  # noqa: PLC0415 - imports the product, so not before it is broken
    from tests.model.federated_history import tell_federated  # noqa: PLC0415 - as above
    from tests.model.history import begin, tell  # noqa: PLC0415 - as above

    begin()
    is_federated = variant.where == TWO_NAMESPACES
    channel = ChannelName(variant.where) if variant.where and not is_federated else None
    run_history = tell_federated if is_federated else partial(tell, has_scenarios=True)
    signal.signal(signal.SIGALRM, _give_up)
    others: Counter[str] = Counter()  # number of histories with other violations
    reported, what = 0, None
    while reported < histories and what is None:
        reported += 1
        signal.alarm(PATIENCE_S)
        try:
            violations = run_history(first_seed + reported - 1, steps, channel=channel).violations
        except Exception as exc:  # noqa: BLE001 - a broken product may do anything
            violations = ()
            others[f"{type(exc).__name__} at {_place(exc)}"] += 1
        signal.alarm(0)
        others.update({each.guarantee for each in violations} - {variant.guarantee})
        what = next((each.what for each in violations if each.guarantee == variant.guarantee), None)
    summary = {"reported": reported, "others": others, "what": what}
    print(json.dumps(summary))  # noqa: T201 - read by the parent


def _give_up(_: int, __: FrameType | None) -> NoReturn:
    raise TimeoutError("the history did not end")


def _place(exc: Exception) -> str:
    last = traceback.extract_tb(exc.__traceback__)[-1]
    return f"{last.filename.rpartition('/')[2]}:{last.lineno}"


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]), is_whole=sys.argv[5:] == ["whole"])
