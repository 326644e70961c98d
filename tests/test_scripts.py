"""A sentence and a question in each of eight languages: the sentence is kept as evidence, and the question finds it."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from pipeline.domain.reasoner_questions import Finding
from pipeline.reasoners.passages import ReadPage
from pipeline.research.quoted_facts import facts_and_rejected
from tests.commanding import said

# language: the sentence that answers, another of its document, the question
TEXTS = {
    "zh": ("白鹭水库的最大水深是四十二米。", "水库建于一九五八年。", "白鹭水库的最大水深是多少？"),
    "ja": ("鷺沼貯水池の最大水深は四十二メートルです。", "堤防は石で造られました。", "鷺沼貯水池の水深はどのくらいですか？"),
    "ko": ("백로 저수지의 최대 수심은 사십이 미터이다.", "둑은 돌로 지었다.", "백로 저수지의 수심은 얼마인가?"),
    "th": ("อ่างเก็บน้ำนกกระสามีความลึกสูงสุดสี่สิบสองเมตร", "เขื่อนสร้างด้วยหิน", "อ่างเก็บน้ำนกกระสามีความลึกเท่าไร"),
    "hi": ("बगुला जलाशय की अधिकतम गहराई बयालीस मीटर है।", "बाँध पत्थर से बना है।", "बगुला जलाशय की गहराई कितनी है?"),
    "ar": ("أقصى عمق لخزان البلشون هو اثنان وأربعون مترا.", "بني السد من الحجر.", "ما هو عمق خزان البلشون؟"),
    "ru": (
        "Наибольшая глубина водохранилища Цапля составляет сорок два метра.",
        "Плотина построена из камня.",
        "Какова глубина водохранилища Цапля?",
    ),
    "de": (
        "Die größte Tiefe des Reihersees beträgt zweiundvierzig Meter.",
        "Der Damm ist aus Stein gebaut.",
        "Welche Tiefe hat der Reihersee?",
    ),
}
LANGUAGES = pytest.mark.parametrize("language", TEXTS)


@LANGUAGES
def test_the_sentence_is_evidence_when_a_model_quotes_it_however_it_is_composed(language: str) -> None:
    answer, other, asked = TEXTS[language]
    text = f"# {language}\n\n{other} {answer} {other}\n"
    page = ReadPage("corpus:a.md", language, "0" * 64, text)
    facts, rejected = facts_and_rejected([(Finding(quote=answer, claim="42", question=asked), 1.0)], page)
    assert rejected == ()
    assert facts[0].quote.rstrip(".。।") in answer
    assert facts_and_rejected([(Finding(quote=unicodedata.normalize("NFD", answer), claim="42"), 1.0)], page)[1] == ()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "corpus").mkdir()
    for language, (answer, other, _) in TEXTS.items():
        for name, text in {"depth": answer, "dam": other}.items():
            (folder / "corpus" / f"{language}-{name}.md").write_text(f"# {language} {name}\n\n{text}\n", encoding="utf-8")
    lines = "".join(f"  - {{query: '{texts[-1]}', id: {language}}}\n" for language, texts in TEXTS.items())
    (folder / "queries.yaml").write_text(f"queries:\n{lines}", encoding="utf-8")
    assert said(folder, "run").code in {0, 5}
    return folder


@LANGUAGES
def test_the_question_finds_it_without_a_model(library: Path, language: str) -> None:
    (note,) = (
        path for path in (library / "vault" / "reports").rglob("*.md") if f'"{TEXTS[language][-1]}"' in path.read_text("utf-8")
    )
    lines = note.read_text("utf-8").splitlines()
    nearest = lines[next(at for at, line in enumerate(lines) if line.startswith("> [!abstract]")) + 1]
    assert TEXTS[language][0].rstrip(".。।") in nearest
