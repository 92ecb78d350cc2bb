"""What a request costs, by its shape, beside nginx, HAProxy and the least that Python can do. (bench/request_cost/)"""
