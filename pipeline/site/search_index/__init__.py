"""TODO pipeline/site/search_index"""
