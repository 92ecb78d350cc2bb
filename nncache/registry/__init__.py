"""The service registry: names bound to service records in ZooKeeper, as Hadoop's registry binds them."""
