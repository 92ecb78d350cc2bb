"""Edits from JournalNodes or a NameNode's directory: without polls of the NameNode, with all that inotify omits."""
