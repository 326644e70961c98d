"""What answers the questions of ``pipeline.domain.reasoner_questions``: a language model, or passages without one."""
