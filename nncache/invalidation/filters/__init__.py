"""Filters: globs of paths, their subscribers, and their storage in HDFS. (invalidation/filters/)"""
