"""Silence the log in tests that cause faults by the thousand."""

import logging


def be_quiet() -> None:
    """Disable all logging in this process; it is enabled again for the next test."""
    logging.disable(logging.CRITICAL)


def enable_logging() -> None:
    """Undo `be_quiet`."""
    logging.disable(logging.NOTSET)
