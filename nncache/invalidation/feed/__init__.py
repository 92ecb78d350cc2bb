"""The feed of a namespace in ZooKeeper, as proxies and publishers follow it. (invalidation/feed/)"""
