"""The short form of fuzzing: each target's seeds, the kept inputs, and a fixed number of mutations."""

from collections.abc import Callable

import pytest

from tests.hostile.fuzzing.mutating import mutated
from tests.hostile.fuzzing.table import TARGETS
from tests.hostile.fuzzing.target import CORPUS, Target

SEED = 13


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_any_bytes_keep_the_invariant(target: Target) -> None:
    """Each target has its own; an input that violates it is part of the failure message."""
    bases = (*target.seeds, *target.kept())
    for data in (*bases, *mutated(bases, target.short_executions, target.max_bytes, SEED)):
        try:
            target.check(data)
        except Exception as error:
            raise AssertionError(f"{target.name}: {data!r}: {error!r}") from error


def test_what_is_kept_belongs_to_a_target() -> None:
    """A corpus that no target reads proves nothing."""
    assert {path.name for path in CORPUS.iterdir()} <= set(TARGETS)
    assert all(path.stat().st_size <= TARGETS[path.parent.name].max_bytes for path in CORPUS.glob("*/*"))


def test_seeds_fit_their_targets() -> None:
    """A truncated seed has another meaning."""
    assert not [
        (name, seed)
        for name, target in TARGETS.items()
        for seed in target.seeds
        if len(seed) > target.max_bytes
    ]


@pytest.mark.parametrize(
    ("breaks", "name"),
    [
        (lambda data: b"%zz" in data, "path"),
        (lambda data: data.count(b"HTTP/1.1") > 3, "client-connection"),
        (lambda data: data.count(b"[") > 2, "cache-record"),
    ],
)
def test_mutation_reaches_what_no_seed_holds(breaks: Callable[[bytes], bool], name: str) -> None:
    """A parser that fails only on such an input would be caught."""
    target = TARGETS[name]
    seeds = [seed for seed in target.seeds if not breaks(seed)]
    assert any(map(breaks, mutated(seeds, target.short_executions, target.max_bytes, SEED)))
