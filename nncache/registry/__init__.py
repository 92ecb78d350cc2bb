"""The service registry: service records bound to names in ZooKeeper, in the format of Hadoop's registry."""
