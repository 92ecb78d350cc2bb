"""How changes reach the cache: a stream of HDFS events, and the consumer that applies it. (invalidation/)"""
