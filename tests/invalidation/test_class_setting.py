"""A class named by a setting: what is taken, and what is told of anything else."""

import pytest

from nncache.invalidation.class_setting import load_class
from nncache.net.setting_error import SettingError

HERE = "tests.invalidation.test_class_setting"


class Bird:
    """What is wanted."""


class Duck(Bird):
    """One of them."""


class Stone:
    """None of them."""


BUILT_IN = {"duck": f"{HERE}:Duck", "any": f"{HERE}:Bird"}


def test_a_built_in_class_has_a_short_name_and_any_other_its_full_one() -> None:
    """Both lead to the class itself."""
    assert load_class("bird", "duck", BUILT_IN, Bird) is Duck
    assert load_class("bird", f"{HERE}:Bird", BUILT_IN, Bird) is Bird


@pytest.mark.parametrize(
    "name", ["", ":", "goose", HERE, f"{HERE}:", ":Duck", f"{HERE}:Stone", f"{HERE}:BUILT_IN", "no.such:Duck"]
)
def test_a_wrong_name_is_a_wrong_setting(name: str) -> None:
    """The error names the key, the value and what is allowed."""
    with pytest.raises(
        SettingError, match=r"^bird: .*must be duck, any or package\.module:Class, an Bird"
    ) as raised:
        load_class("bird", name, BUILT_IN, Bird)
    assert (raised.value.key, raised.value.value) == ("bird", name)
