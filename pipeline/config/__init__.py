"""TODO pipeline/config"""
