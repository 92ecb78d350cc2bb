"""What 10,000 connects within a second cost those who are connected already. (bench/connects/)"""
