"""HDFS's rules, one file an operation: from what was read to an answer and a transaction. Pure."""
