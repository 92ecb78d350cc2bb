"""Options of the demo, from the environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Self

from nncache.testbed.jars import DEFAULT_HADOOP_VERSION, SUPPORTED_HADOOP_VERSIONS


class DemoError(Exception):
    """The demo cannot go on; the text is one line for the terminal."""


class OptionError(DemoError):
    """The environment asks for something unknown."""


class Without(Enum):
    """What is left out to show that the checks can fail: the values of DEMO_WITHOUT."""

    NOTHING = ""
    INVALIDATION = "invalidation"
    PUBLISHER = "publisher"


PROXY_FLAGS = {Without.INVALIDATION: ("--channel", "nncache.demo.dropping_stream:DroppingStream")}
"""What the proxy is given beside its ordinary flags."""

CONSEQUENCES = {
    Without.INVALIDATION: (
        "The proxy hears of no change (DEMO_WITHOUT=invalidation): its channel claims to have read every change and "
        "delivers none, so what is in memory is never forgotten, and old answers stay."
    ),
    Without.PUBLISHER: (
        "There was no publisher (DEMO_WITHOUT=publisher): the NameNode's edits are not read, so the proxy can never "
        "show that what it remembers is still true. It forwards every call; each step that needs answers from memory "
        "fails, and no answer was wrong."
    ),
}
"""Why the story fails then."""


@dataclass(frozen=True, slots=True)
class Options:
    """The environment, read."""

    hadoop_version: str = DEFAULT_HADOOP_VERSION
    without: Without = Without.NOTHING
    is_secured: bool = False

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Self:
        """Read HADOOP, DEMO_WITHOUT and SECURE; one that is absent or empty asks for nothing.

        Raises:
            OptionError: one of them has an unknown value.
        """
        version = environ.get("HADOOP") or DEFAULT_HADOOP_VERSION
        if version not in SUPPORTED_HADOOP_VERSIONS:
            raise OptionError(
                f"HADOOP={version}: must be one of {', '.join(SUPPORTED_HADOOP_VERSIONS)}, or empty"
            )
        word = environ.get("DEMO_WITHOUT", "")
        try:
            without = Without(word)
        except ValueError:
            allowed = ", ".join(each.value for each in Without if each.value)
            raise OptionError(f"DEMO_WITHOUT={word}: must be one of {allowed}, or empty") from None
        secure = environ.get("SECURE", "")
        if secure not in {"", "1"}:
            raise OptionError(f"SECURE={secure}: must be 1, or empty")
        if secure and word:
            raise OptionError(f"DEMO_WITHOUT={word}: must be empty, since SECURE=1 tells another story")
        return cls(version, without, bool(secure))
