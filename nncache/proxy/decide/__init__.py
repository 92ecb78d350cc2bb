"""What is done with a request, and with what comes back. (proxy/decide/)"""
