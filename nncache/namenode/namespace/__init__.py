"""HDFS's rules, one file for each operation: they turn a view into an answer and a transaction. Pure."""
