"""Answers to the questions of a talk, without a model."""
