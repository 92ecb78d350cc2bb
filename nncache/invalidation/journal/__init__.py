"""Edits from the JournalNodes of an HA cluster: no call to the NameNode, and nothing that inotify leaves out."""
