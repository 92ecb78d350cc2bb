"""Several namespaces behind one address: the choice of the namespace for each request. (federation/)"""
