"""How a proxy or a publisher follows the feed of a namespace in ZooKeeper. (invalidation/feed/)"""
