"""A DataNode: replicas as files, WebHDFS's second steps, recovery as primary."""
