"""What a NameNode is among its peers.

Source: org.apache.hadoop.ha.HAServiceProtocol.HAServiceState of Hadoop 3.4.1 and 3.5.0.
"""

from enum import Enum, auto


class HaState(Enum):
    """The state of one NameNode. Without HA it is ACTIVE."""

    INITIALIZING = auto()
    ACTIVE = auto()
    STANDBY = auto()
    OBSERVER = auto()
