"""The job that makes the changes, straight at the NameNode, and writes down what they were."""
