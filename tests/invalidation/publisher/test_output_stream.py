"""The output's shape, and the choice of one by name."""

import pytest

from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import SessionStats
from nncache.invalidation.publisher.output_stream import FilterChange, OutputSetup, load_output_class
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.publisher.stats import OutputStats
from nncache.invalidation.publisher.zookeeper_output import ZooKeeperInotifyEventOutputStream
from nncache.net.setting_error import SettingError
from tests.invalidation.publisher.fakes import FakeOutput
from tests.invalidation.publisher.samples import published


class NotAnOutput:
    """Something else."""


def test_the_built_in_output_has_a_short_name() -> None:
    """The default of the setting is one of them."""
    assert load_output_class(PublisherSettings().output_stream) is ZooKeeperInotifyEventOutputStream


def test_any_other_output_is_named_by_module_and_class() -> None:
    """Outputs are pluggable (dfs.inotify.outputstream.classname of HDFS-8940)."""
    assert load_output_class("tests.invalidation.publisher.fakes:FakeOutput") is FakeOutput


@pytest.mark.parametrize(
    "name",
    [
        "kafka",
        "",
        ":FakeOutput",
        "tests.invalidation.publisher.fakes",
        "tests.invalidation.publisher.fakes:Nothing",
        "tests.invalidation.publisher.test_output_stream:NotAnOutput",
        "tests.invalidation.no_such_module:Class",
    ],
)
def test_a_wrong_name_is_a_wrong_setting(name: str) -> None:
    """The error names the key, the value and what is allowed."""
    with pytest.raises(SettingError, match=r"must be zookeeper or package\.module:Class") as raised:
        load_output_class(name)
    assert (raised.value.key, raised.value.value) == ("output_stream", name)


async def test_what_an_output_does_not_count_is_zero() -> None:
    """An output may have neither figures nor a session."""
    output = FakeOutput(
        OutputSetup(
            nameservice="ns1",
            publisher=PublisherSettings(),
            zookeeper=ZooKeeperSettings(),
            clock=lambda: 0.0,
        )
    )
    await output.shut_down()
    assert (output.stats(), output.session_stats()) == (OutputStats(), SessionStats())


def test_a_change_of_nothing_is_empty() -> None:
    """Any part makes it one."""
    filter_ = published("f")
    assert FilterChange().is_empty
    for change in (
        FilterChange(removed=("f",)),
        FilterChange(added=(filter_,)),
        FilterChange(updated=(filter_,)),
    ):
        assert not change.is_empty
