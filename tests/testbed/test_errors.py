"""The error tree of the test bed."""

import pytest

from nncache.testbed import errors


@pytest.mark.parametrize(
    "kind", [errors.MissingToolError, errors.ResolveError, errors.PortError, errors.StartError]
)
def test_one_root_catches_all(kind: type[errors.TestbedError]) -> None:
    """Whoever starts a cluster catches one error."""
    assert issubclass(kind, errors.TestbedError)


def test_pytest_does_not_take_the_root_for_a_test() -> None:
    """A test module may import `TestbedError`; pytest would warn of it, and warnings are errors here."""
    assert not errors.TestbedError.__test__
