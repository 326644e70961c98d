"""TODO pipeline/adapters"""
