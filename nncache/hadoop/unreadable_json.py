"""What msgspec raises of JSON that is none, or not what was wanted."""

from typing import Final

import msgspec

UNREADABLE_JSON: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""The last for what is nested a thousand deep."""
