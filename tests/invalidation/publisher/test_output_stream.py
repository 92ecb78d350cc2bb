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


def test_the_built_in_output_has_a_short_name() -> None:
    """The default of the setting is one of them."""
    assert load_output_class(PublisherSettings().output_stream) is ZooKeeperInotifyEventOutputStream


def test_any_other_output_is_named_by_module_and_class() -> None:
    """Outputs are pluggable (dfs.inotify.outputstream.classname of HDFS-8940)."""
    assert load_output_class("tests.invalidation.publisher.fakes:FakeOutput") is FakeOutput
    with pytest.raises(
        SettingError, match=r"^output_stream: kafka: must be zookeeper or package\.module:Class"
    ):
        load_output_class("kafka")


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


@pytest.mark.parametrize("part", ["removed", "added", "updated", "modified"])
def test_a_change_of_nothing_is_empty(part: str) -> None:
    """Any part makes it one."""
    assert FilterChange().is_empty
    assert not FilterChange(**{part: ("f",)}).is_empty  # type: ignore[arg-type]  # what is in it does not matter
