"""The edits of the active NameNode: read page by page, paced, every gap noticed. (invalidation/edits/)"""
