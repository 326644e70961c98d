"""TODO pipeline/site/cache"""
