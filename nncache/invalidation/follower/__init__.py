"""How a proxy follows what a publisher writes to ZooKeeper. (invalidation/follower/)"""
