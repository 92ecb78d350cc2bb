"""Options from the environment."""

import pytest

from nncache.demo.dropping_stream import DroppingStream
from nncache.demo.options import CONSEQUENCES, PROXY_FLAGS, OptionError, Options, Without
from nncache.invalidation.stream import load_stream_class
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION


@pytest.mark.parametrize(
    ("environ", "options"),
    [
        ({}, Options(DEFAULT_HADOOP_VERSION, Without.NOTHING)),
        (
            {"HADOOP": "", "DEMO_WITHOUT": ""},
            Options(DEFAULT_HADOOP_VERSION, Without.NOTHING),
        ),  # as make exports them
        ({"SECURE": "1"}, Options(DEFAULT_HADOOP_VERSION, is_secured=True)),
        ({"SECURE": ""}, Options()),
        ({"HADOOP": "3.4.1", "DEMO_WITHOUT": "invalidation"}, Options("3.4.1", Without.INVALIDATION)),
    ],
)
def test_what_is_known_is_taken(environ: dict[str, str], options: Options) -> None:
    """Absent or empty asks for nothing."""
    assert Options.of(environ) == options


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        (
            {"DEMO_WITHOUT": "Invalidation"},
            "DEMO_WITHOUT=Invalidation: must be one of invalidation, publisher, or empty",
        ),
        ({"SECURE": "yes"}, "SECURE=yes: must be 1, or empty"),
        (
            {"SECURE": "1", "DEMO_WITHOUT": "publisher"},
            "DEMO_WITHOUT=publisher: must be empty, since SECURE=1 tells another story",
        ),
        ({"HADOOP": "2.7"}, "HADOOP=2.7: must be one of 3.5.0, 3.4.1, or empty"),
    ],
)
def test_anything_else_is_one_line(environ: dict[str, str], text: str) -> None:
    """Key, value and what is allowed."""
    with pytest.raises(OptionError) as caught:
        Options.of(environ)
    assert str(caught.value) == text


def test_without_invalidation_the_proxy_loads_a_stream_that_drops_changes() -> None:
    """By the name that its setting takes."""
    flag, name = PROXY_FLAGS[Without.INVALIDATION]
    assert flag == "--channel"
    assert load_stream_class(name) is DroppingStream
    assert set(CONSEQUENCES) == set(Without) - {Without.NOTHING}
