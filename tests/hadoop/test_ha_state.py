"""The states of a NameNode."""

from nncache.hadoop.ha_state import HaState


def test_the_values_are_those_of_the_wire() -> None:
    """HAServiceStateProto of HAServiceProtocol.proto."""
    assert {state.name: state.value for state in HaState} == {
        "INITIALIZING": 0,
        "ACTIVE": 1,
        "STANDBY": 2,
        "OBSERVER": 3,
    }
