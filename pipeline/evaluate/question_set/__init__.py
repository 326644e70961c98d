"""TODO pipeline/evaluate/question_set"""
