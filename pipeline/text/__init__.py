"""TODO pipeline/text"""
