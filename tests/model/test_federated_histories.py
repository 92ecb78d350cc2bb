"""Two namespaces behind one proxy, in random histories; `test_histories.py` runs more of them."""

import pytest

from tests.model.federated_history import FEDERATED_EVERY, is_federated, tell_federated
from tests.model.mount_oracle import ACROSS, FIXED, NOT_MOUNTED, TABLES, MountOracle, Refusal, Verdict

WITH_ROOT, _, WITHOUT_ROOT = TABLES


def test_a_seed_tells_the_same_again() -> None:
    """A seed reproduces its history, so a violation can be repeated."""
    seed = next(filter(is_federated, range(1, 2 * FEDERATED_EVERY)))
    reported = [tell_federated(seed, 30), tell_federated(seed, 30)]
    assert reported[0] == reported[1]
    assert not reported[0].violations
    assert reported[0].hits


@pytest.mark.parametrize(
    ("method", "target", "verdict"),
    [
        ("GET", "/?op=GETFILESTATUS", "main"),
        ("GET", "/a?op=GETFILESTATUS", "main"),
        ("GET", "/a/b?op=GETFILESTATUS", "lake"),
        ("GET", "/a//b%2Ff/?op=GETFILESTATUS", "lake"),
        ("GET", "/a/bx?op=GETFILESTATUS", "main"),
        ("PUT", "/a/b/f?op=RENAME&destination=/d/e/f", "lake"),
        ("PUT", "/a/f?op=RENAME&destination=/a/b/f", Refusal(*ACROSS)),
        ("POST", "/a/b/f?op=CONCAT&sources=/a/b/g,/c/f", Refusal(*ACROSS)),
        ("PUT", "/a/b?op=MKDIRS", "lake"),
        ("DELETE", "/a/b?op=DELETE", Refusal(*FIXED)),
        ("PUT", "/a?op=RENAME&destination=/z", Refusal(*FIXED)),
        ("PUT", "/a?op=X", Refusal(*FIXED)),
    ],
)
def test_the_oracle_keeps_the_rules_of_the_docs(method: str, target: str, verdict: Verdict) -> None:
    """The rules of docs/federation.md, with a namespace at the root."""
    assert MountOracle(WITH_ROOT).verdict(method, f"/webhdfs/v1{target}") == verdict


@pytest.mark.parametrize(
    ("path", "verdict"),
    [("/a/x", "main"), ("/d/e", "lake"), ("/d", Refusal(*FIXED)), ("/cf", Refusal(*NOT_MOUNTED))],
)
def test_the_oracle_refuses_what_is_mounted_nowhere(path: str, verdict: Verdict) -> None:
    """A mount table without a namespace at the root."""
    assert MountOracle(WITHOUT_ROOT).verdict("GET", f"/webhdfs/v1{path}?op=GETFILESTATUS") == verdict
