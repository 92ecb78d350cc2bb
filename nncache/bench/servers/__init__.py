"""The servers that pollers ask (the NameNode itself, nncache, nginx), and their resource usage."""
