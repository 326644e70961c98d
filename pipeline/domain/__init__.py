"""TODO pipeline/domain"""
