"""What a wrong setting says."""

from nncache.hadoop.errors import HadoopError
from nncache.hadoop.settings import SettingError


def test_a_wrong_setting_names_key_value_and_what_is_allowed() -> None:
    """The message is one line, and its parts can be had one by one."""
    error = SettingError("max_staleness_s", -1, "must be more than 0")
    assert str(error) == "max_staleness_s: -1: must be more than 0"
    assert (error.key, error.value, error.allowed) == ("max_staleness_s", -1, "must be more than 0")
    assert isinstance(error, ValueError)
    assert isinstance(error, HadoopError)
