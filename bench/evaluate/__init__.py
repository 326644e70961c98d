"""Evaluation of the program on questions with known answers over a folder of documents."""
