"""TODO pipeline/domain/events"""
