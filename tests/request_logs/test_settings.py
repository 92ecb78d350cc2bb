"""What cannot be is refused by the name of its key."""

import pytest

from nncache.net.setting_error import SettingError
from nncache.request_logs.settings import RequestLogSettings


def test_no_log_is_kept_unless_it_is_asked_for() -> None:
    """And if so, of every hit."""
    settings = RequestLogSettings()
    assert (settings.access_log, settings.audit_log, settings.access_log_sample) == ("", "", 1)


@pytest.mark.parametrize("sample", [0, -1])
def test_a_sample_is_one_of_some(sample: int) -> None:
    """One of none would be nothing."""
    with pytest.raises(SettingError, match=rf"access_log_sample: {sample}: must be 1 or more"):
        RequestLogSettings(access_log_sample=sample)


@pytest.mark.parametrize("file", ["-", "/var/log/nncache.log"])
def test_two_logs_have_two_files(file: str) -> None:
    """Two writers in one would tear each other's lines."""
    with pytest.raises(SettingError, match=r"audit_log: .*: must be another file than access_log"):
        RequestLogSettings(access_log=file, audit_log=file)
