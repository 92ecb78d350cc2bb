"""What a NameNode is among its peers. (hadoop/ha_state.py)

Source: org.apache.hadoop.ha.HAServiceProtocol.HAServiceState of Hadoop 3.4.1 and 3.5.0.
"""

from enum import Enum


class HaState(Enum):
    """The state of one NameNode; the values are those of HAServiceStateProto. Without HA it is ACTIVE."""

    INITIALIZING = 0
    ACTIVE = 1
    STANDBY = 2
    OBSERVER = 3
