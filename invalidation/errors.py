"""What can go wrong between the NameNode's edits and the cache. (invalidation/errors.py)"""


class InvalidationError(Exception):
    """Root of this room's errors. Caught only where the consumer's loop is supervised."""


class MissingEventsError(InvalidationError):
    """Continuity is lost: edits were purged or rolled back, or another incarnation is the active NameNode.

    All that was learnt from the stream is in doubt and must be forgotten (guarantee GapFlush). A new life of
    the stream may begin at once. Named after org.apache.hadoop.hdfs.inotify.MissingEventsException.
    """


class ChannelUnavailableError(InvalidationError):
    """The stream can't be opened now; asking again later may help."""


class UnconfirmedReplyError(ChannelUnavailableError):
    """An answer came over a connection of which it is not known who is at its other end; it was thrown away."""


class NotPermittedError(ChannelUnavailableError):
    """The NameNode refuses its edits to this user; only an administrator can help."""
