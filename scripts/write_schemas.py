"""Write the schemas of a model's replies beside the prompts' templates. Run it after a change of the answers' types."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.domain import reasoner_questions
from pipeline.reasoners.model.prompts import schema_of

FOLDER = Path(__file__).resolve().parent.parent / "templates" / "prompts"


def main() -> None:
    """Write one file a question."""
    for question in vars(reasoner_questions).values():
        if "answer_type" in getattr(question, "__dict__", ()) and not question.is_text:
            text = json.dumps(schema_of(question.answer_type), indent=2, ensure_ascii=False) + "\n"
            (FOLDER / f"{question.name}.schema.json").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
