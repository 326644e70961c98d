"""TODO pipeline/site/pages"""
