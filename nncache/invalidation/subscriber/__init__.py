"""How an application follows the events of one filter. (invalidation/subscriber/)"""
