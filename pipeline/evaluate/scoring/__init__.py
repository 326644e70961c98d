"""TODO pipeline/evaluate/scoring"""
