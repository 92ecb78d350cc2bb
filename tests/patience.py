"""How long a test waits: it may fail because something hangs, never because the machine is busy."""

from typing import Final

HANG_S: Final = 60.0
"""Only what hangs takes so long, on whatever machine."""

SLACK_S: Final = 15.0
"""What a busy machine may add to a wait that has an end of its own."""
