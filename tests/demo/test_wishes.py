"""What the environment may ask of the demo."""

import pytest

from nncache.demo.deaf import DeafStream
from nncache.demo.errors import WishError
from nncache.demo.wishes import Wishes, Without
from nncache.invalidation.stream import load_stream_class
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION


@pytest.mark.parametrize("environ", [{}, {"HADOOP": "", "DEMO_WITHOUT": ""}])
def test_nothing_asked_for_is_the_whole_story(environ: dict[str, str]) -> None:
    """Make exports both variables, empty when nobody sets them."""
    assert Wishes.of(environ) == Wishes(DEFAULT_HADOOP_VERSION, Without.NOTHING)


def test_what_is_known_is_taken() -> None:
    """Both may be wished for at once."""
    wishes = Wishes.of({"HADOOP": "3.4.1", "DEMO_WITHOUT": "invalidation"})
    assert wishes == Wishes("3.4.1", Without.INVALIDATION)


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        (
            {"DEMO_WITHOUT": "zookeeper"},
            "DEMO_WITHOUT=zookeeper: must be one of invalidation, publisher, or empty",
        ),
        (
            {"DEMO_WITHOUT": "Invalidation"},
            "DEMO_WITHOUT=Invalidation: must be one of invalidation, publisher, or empty",
        ),
        ({"HADOOP": "2.7"}, "HADOOP=2.7: must be one of 3.5.0, 3.4.1, or empty"),
    ],
)
def test_anything_else_is_said_in_one_line(environ: dict[str, str], text: str) -> None:
    """Key, value and what is allowed."""
    with pytest.raises(WishError) as caught:
        Wishes.of(environ)
    assert str(caught.value) == text


def test_without_invalidation_the_channel_is_deaf() -> None:
    """The setting names a class that the proxy can load."""
    flag, name = Without.INVALIDATION.proxy_flags
    assert flag == "--channel"
    assert load_stream_class(name) is DeafStream
    assert Without.NOTHING.proxy_flags == ()


def test_without_a_publisher_everything_else_is_as_it_is() -> None:
    """The proxy is an ordinary one, and nobody publishes for it."""
    assert [each for each in Without if not each.has_publisher] == [Without.PUBLISHER]
    assert Without.PUBLISHER.proxy_flags == Without.NOTHING.proxy_flags


@pytest.mark.parametrize("without", Without)
def test_what_is_left_out_on_purpose_is_explained(without: Without) -> None:
    """A reader of a story that failed on purpose is told so."""
    assert bool(without.consequence) == (without is not Without.NOTHING)
