"""Several namespaces behind one address: which of them a request is about, and its answer. (federation/)"""
