"""What publishers write to ZooKeeper and readers read from it. (invalidation/channel/)"""
