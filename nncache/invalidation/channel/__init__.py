"""What publishers and readers say to each other by way of ZooKeeper. (invalidation/channel/)"""
