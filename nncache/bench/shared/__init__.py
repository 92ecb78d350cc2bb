"""The shared parts of benchmarks: limits and figures, clusters, workloads, and the tables of a run."""
