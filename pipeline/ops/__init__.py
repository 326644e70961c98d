"""TODO pipeline/ops"""
