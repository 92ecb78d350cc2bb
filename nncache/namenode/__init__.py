"""HDFS's namespace and leases without Java: a NameNode on a store of znodes, and a DataNode in the same process.

Each operation reads, decides (`namespace/`, pure) and commits one guarded transaction (docs/decisions/0027).
"""
