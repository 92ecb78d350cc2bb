"""Reading the edits of the active NameNode: pages in order, paced, every gap noticed. (invalidation/edits/)"""
