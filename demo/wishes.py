"""What the environment may ask of the demo. (demo/wishes.py)"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Self

from nncache.demo.errors import WishError
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION, SUPPORTED_HADOOP_VERSIONS


class Without(Enum):
    """What is left out to show that the checks can fail: the values of DEMO_WITHOUT."""

    NOTHING = ""
    INVALIDATION = "invalidation"
    PUBLISHER = "publisher"

    @property
    def proxy_flags(self) -> tuple[str, ...]:
        """What the proxy is told beside what any proxy on ZooKeeper is."""
        match self:
            case Without.NOTHING | Without.PUBLISHER:
                return ()
            case Without.INVALIDATION:
                return ("--channel", "nncache.demo.deaf:DeafStream")

    @property
    def has_publisher(self) -> bool:
        """Whether a publisher runs."""
        return self is not Without.PUBLISHER

    @property
    def consequence(self) -> str:
        """Why the story fails then; empty when nothing is left out."""
        match self:
            case Without.NOTHING:
                return ""
            case Without.INVALIDATION:
                return (
                    "The proxy was made deaf on purpose (DEMO_WITHOUT=invalidation): its channel says that it has "
                    "read every change and delivers none, so nothing in memory is forgotten when somebody else "
                    "changes it, and old answers stay."
                )
            case Without.PUBLISHER:
                return (
                    "There was no publisher on purpose (DEMO_WITHOUT=publisher): nobody reads the NameNode's edits, so "
                    "the proxy can never show that what it remembers is still true. It forwards every call, and no "
                    "step comes true that is about answers from memory; nobody was told anything wrong."
                )


@dataclass(frozen=True, slots=True)
class Wishes:
    """The environment, read."""

    hadoop_version: str = DEFAULT_HADOOP_VERSION
    without: Without = Without.NOTHING

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Self:
        """Read HADOOP and DEMO_WITHOUT; what is not there or empty asks for nothing.

        Raises:
            WishError: one of them has a value that is not known.
        """
        version = environ.get("HADOOP", "") or DEFAULT_HADOOP_VERSION
        if version not in SUPPORTED_HADOOP_VERSIONS:
            raise WishError(
                f"HADOOP={version}: must be one of {', '.join(SUPPORTED_HADOOP_VERSIONS)}, or empty"
            )
        word = environ.get("DEMO_WITHOUT", "")
        try:
            without = Without(word)
        except ValueError:
            allowed = ", ".join(each.value for each in Without if each is not Without.NOTHING)
            raise WishError(f"DEMO_WITHOUT={word}: must be one of {allowed}, or empty") from None
        return cls(version, without)
