"""TODO pipeline/wiring"""
