"""A DataNode: replicas as files, the redirected steps of WebHDFS, and block recovery as the primary DataNode."""
