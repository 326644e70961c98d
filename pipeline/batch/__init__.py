"""TODO pipeline/batch"""
