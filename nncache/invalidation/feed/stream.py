"""The channel that reads the feed of a namespace in ZooKeeper: an example of a custom channel (docs/inotify.md)."""

from nncache.invalidation.edits.direct import EditsInputStream
from nncache.invalidation.feed.source import Connect, FeedEdits
from nncache.invalidation.stream import ChannelSetup


class FeedInotifyEventInputStream(EditsInputStream):
    """The stream of the edits that a namespace in ZooKeeper writes, through watches and without polls."""

    def __init__(self, setup: ChannelSetup, connect: Connect | None = None) -> None:
        super().__init__(
            FeedEdits(
                setup.namenodes,
                setup.zookeeper,
                setup.feed.feed_root,
                setup.clock,
                login=setup.login,
                connect=connect,
            )
        )
