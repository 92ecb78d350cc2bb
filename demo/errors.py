"""What can keep the demo from being told. (demo/errors.py)"""


class DemoError(Exception):
    """Root of this room's errors; the text is one line for the person at the terminal."""


class WishError(DemoError):
    """The environment asks for something that the demo does not know."""


class SilentCounterError(DemoError):
    """The NameNode's counters do not show what it has certainly done."""


class NotInMemoryError(DemoError):
    """What the story is about to change is not answered from memory: seeing the change would prove nothing."""


class CommandError(DemoError):
    """A command of nncache failed; the text has its own words."""


class NoPublisherError(DemoError):
    """The story is told without a publisher, and this part of it is about one."""
