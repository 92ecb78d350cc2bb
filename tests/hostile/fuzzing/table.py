"""All fuzz targets."""

from typing import Final

from tests.hostile.fuzzing.channel import CHANNEL
from tests.hostile.fuzzing.connections import CONNECTIONS
from tests.hostile.fuzzing.edit_log import EDIT_LOG
from tests.hostile.fuzzing.operators import OPERATORS
from tests.hostile.fuzzing.registry import REGISTRY_TARGETS
from tests.hostile.fuzzing.replies import REPLIES
from tests.hostile.fuzzing.requests import REQUESTS

TARGETS: Final = {
    target.name: target
    for target in (*REQUESTS, *CONNECTIONS, *OPERATORS, *CHANNEL, *REGISTRY_TARGETS, *REPLIES, *EDIT_LOG)
}
"""By name."""
