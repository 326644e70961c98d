"""TODO pipeline/system"""
