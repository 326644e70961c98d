"""What answers the questions of ``pipeline.domain.reasoner_questions``: passages of the pages, without a model."""
