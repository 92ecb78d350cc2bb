"""Have the log say nothing where troubles are made by the thousand."""

import logging


def be_quiet() -> None:
    """Log nothing in this process, of any library; each test begins with a log that speaks again."""
    logging.disable(logging.CRITICAL)


def enable_logging() -> None:
    """Undo `be_quiet`."""
    logging.disable(logging.NOTSET)
