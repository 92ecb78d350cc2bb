"""PollingSettings, ChannelSettings: each value outside what is allowed is refused by name."""

from dataclasses import fields
from typing import Any

import pytest

from nncache.invalidation.settings import PollingSettings, load_class
from nncache.net.setting_error import SettingError


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("poll_interval_s", 0.0),
        ("poll_interval_s", float("nan")),
        ("poll_budget_share", 0.0),
        ("poll_budget_share", 1.5),
        ("poll_budget_burst_s", -1.0),
        ("roll_after_txids", 0),
        ("roll_interval_s", -1.0),
        ("roll_interval_s", float("nan")),
    ],
)
def test_a_wrong_value_is_refused_by_name(key: str, value: Any) -> None:
    """The error names the key, the value and what is allowed."""
    with pytest.raises(SettingError, match=f"^{key}: {value}: must be ") as raised:
        PollingSettings(**{key: value})
    assert raised.value.key == key


def test_the_defaults_are_allowed_and_explained() -> None:
    """Every field has one sentence of help."""
    PollingSettings()
    for key in fields(PollingSettings):
        assert key.metadata["help"].endswith(".")


def test_never_rolling_is_allowed() -> None:
    """An interval of 0 means never."""
    assert PollingSettings(roll_interval_s=0).roll_interval_s == 0


HERE = "tests.invalidation.test_settings"


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
