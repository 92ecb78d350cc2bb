"""Filters: which paths matter, who may subscribe to them, and where HDFS keeps that. (invalidation/filters/)"""
