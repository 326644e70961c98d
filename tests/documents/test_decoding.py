"""Charsets: undeclared, declared rightly and wrongly, and text that no charset makes plausible."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents.extract import decoded, extract
from pipeline.errors import ReadFailed

TEXTS = {
    "ru": "Шлюзы канала были построены в 1895 году. Длина канала составляет девяносто восемь километров, и судов здесь много.",
    "uk": "Шлюзи каналу були побудовані в 1895 році. Довжина каналу становить дев'яносто вісім кілометрів.",
    "bg": "Шлюзовете на канала са построени през 1895 година. Дължината му е деветдесет и осем километра.",
    "ja": "運河の閘門は1895年に建設されました。運河の長さは九十八キロメートルで、毎年三万隻の船が通過します。",
    "zh": "运河的船闸建于1895年。运河全长九十八公里，每年有三万艘船只通过。河床宽九十米，两端各有两对船闸调节潮汐。",
    "zh-tw": "運河的船閘建於1895年。運河全長九十八公里，每年有三萬艘船隻通過。河床寬九十米，兩端各有兩對船閘調節潮汐。",
    "ko": "운하의 갑문은 1895년에 건설되었다. 운하의 길이는 구십팔 킬로미터이며 해마다 삼만 척의 배가 지나간다.",
    "de": "Der Kanal wurde 1895 eröffnet. Die Schleusen gleichen die Gezeiten für größere Schiffe aus – „über Jahre“.",
    "fr": "Les écluses du canal ont été construites en 1895. Sa longueur est de quatre-vingt-dix-huit kilomètres, l’été.",
    "pl": "Śluzy kanału zbudowano w 1895 roku. Kanał ma dziewięćdziesiąt osiem kilometrów długości.",
    "el": "Οι δεξαμενές της διώρυγας κατασκευάστηκαν το 1895. Το μήκος της είναι ενενήντα οκτώ χιλιόμετρα.",
    "tr": "Kanalın havuzları 1895 yılında yapıldı. Kanalın uzunluğu doksan sekiz kilometredir. İşçiler çok çalıştı, gemi geçti.",
    "he": "שערי התעלה נבנו בשנת 1895. אורכה של התעלה תשעים ושמונה קילומטרים ועוברות בה אלפי אוניות בשנה.",
    "ar": "بنيت أهوسة القناة في عام 1895 ويبلغ طول القناة ثمانية وتسعين كيلومترا وتمر بها آلاف السفن كل عام.",
    "cs": "Plavební komory průplavu byly postaveny roku 1895. Průplav je dlouhý devadesát osm kilometrů, lodě plují.",
    "hu": "A csatorna zsilipjei 1895-ben épültek. A csatorna hossza kilencvennyolc kilométer. Őrzők vigyázzák, hűvös ősz.",
}
UNDECLARED = [
    ("ru", "cp1251"), ("ru", "koi8-r"), ("ru", "cp866"), ("uk", "cp1251"), ("bg", "cp1251"), ("ja", "cp932"), ("ja", "euc-jp"),
    ("ja", "iso-2022-jp"), ("zh", "gb18030"), ("zh-tw", "big5"), ("ko", "cp949"), ("de", "cp1252"), ("fr", "cp1252"),
    ("pl", "cp1250"), ("el", "cp1253"), ("he", "cp1255"), ("ar", "cp1256"), ("cs", "cp1250"), ("ru", "utf-16-le"),
    ("de", "utf-16-be"), ("zh", "utf-16-le"), ("fr", "utf-16-le"),
    ("pl", "iso-8859-2"), ("cs", "iso-8859-2"), ("tr", "cp1254"), ("hu", "cp1250"), ("hu", "iso-8859-2"),
]  # fmt: skip
# language, charset, charset declared
WRONG = [
    ("ru", "cp1251", "iso-8859-1"), ("ru", "cp1251", "utf-8"), ("ru", "koi8-r", "windows-1251"), ("ru", "utf-8", "windows-1251"),
    ("de", "utf-8", "iso-8859-1"), ("de", "cp1252", "utf-8"), ("ja", "euc-jp", "shift_jis"), ("ja", "cp932", "utf-8"),
    ("ja", "cp932", "iso-8859-1"), ("zh", "gb18030", "utf-8"), ("zh", "utf-8", "gb2312"), ("zh-tw", "big5", "iso-8859-1"),
    ("ko", "cp949", "utf-8"), ("el", "cp1253", "iso-8859-1"), ("ar", "cp1256", "windows-1252"), ("pl", "utf-8", "iso-8859-2"),
    ("he", "cp1255", "utf-8"), ("fr", "utf-8", "shift_jis"),
]  # fmt: skip


def page(language: str, charset: str, head: str = "", times: int = 2) -> bytes:
    text = TEXTS[language]
    return f"<html{head}><head><title>{text[:20]}</title></head><body><p>{text * times}</p></body></html>".encode(charset)


@pytest.mark.parametrize(("language", "charset"), UNDECLARED)
@pytest.mark.parametrize("times", [1, 6])
def test_an_undeclared_charset_is_recognised(language: str, charset: str, times: int) -> None:
    assert TEXTS[language] in decoded(page(language, charset, times=times), "text/html")


@pytest.mark.parametrize(("language", "charset", "declared"), WRONG)
def test_a_wrong_declaration_is_not_followed(language: str, charset: str, declared: str) -> None:
    assert TEXTS[language] in decoded(page(language, charset), f"text/html; charset={declared}")


@pytest.mark.parametrize("data", [bytes(range(128, 256)) * 20, bytes([0x81, 0xFF, 0x8D, 0x20, 0xFE, 0x90]) * 200])
def test_bytes_that_no_charset_makes_plausible_are_refused(data: bytes) -> None:
    with pytest.raises(ReadFailed, match="charset"):
        decoded(b"<html><p>" + data, "text/html; charset=utf-8")


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_a_text_as_it_should_be_is_not_taken_for_garbled(language: str) -> None:
    assert extract((TEXTS[language] * 3).encode(), path="x.txt").stored


@pytest.mark.parametrize(
    ("language", "charset"), [("ru", "cp1251"), ("ru", "utf-8"), ("el", "cp1253"), ("ja", "euc-jp"), ("ko", "cp949")]
)
def test_a_text_that_was_garbled_before_it_was_sent_is_refused(language: str, charset: str) -> None:
    garbled = TEXTS[language].encode(charset).decode("latin-1") * 3
    with pytest.raises(ReadFailed, match="garbled"):
        extract(f"<p>{garbled}".encode(), content_type="text/html; charset=utf-8", url="https://example.org/")


def test_some_damage_does_not_make_utf_8_another_charset() -> None:
    assert decoded(("Größe " * 200).encode() + b"\xff", "").startswith("Größe Größe")


def test_a_line_that_somebody_added_in_another_charset_does_not_spoil_the_others() -> None:
    lines = "Größe der Kähne\nŁódź, żółw, čáp\n".encode() + "Zufluß vom Süden\n".encode("latin-1") + "naïve\n".encode()
    assert decoded(lines) == "Größe der Kähne\nŁódź, żółw, čáp\nZufluß vom Süden\nnaïve\n"


@given(st.binary(max_size=400))
def test_any_bytes_are_text_or_refused(data: bytes) -> None:
    with suppress(ReadFailed):
        assert isinstance(decoded(data, ""), str)


WORDS = {
    "Grüße": ("utf-8", "iso-8859-1", "windows-1252"),
    "żółw": ("iso-8859-2", "windows-1250"), "Привет": ("windows-1251", "koi8-r"),
    "ığşİ": ("iso-8859-9",), "Γειά": ("windows-1253",), "日本語テキスト": ("shift_jis", "euc-jp", "iso-2022-jp"),
    "中文文本": ("gb18030", "gb2312", "big5"), "한국어": ("euc-kr",),
}  # fmt: skip


@pytest.mark.parametrize(("word", "charset"), [(word, charset) for word, charsets in WORDS.items() for charset in charsets])
def test_a_charset_is_read_by_its_header_and_by_what_the_page_says_itself(word: str, charset: str) -> None:
    page = f"<html><meta charset={charset}><p>{word}".encode(charset)
    assert word in decoded(page, f"text/html; charset={charset}")
    assert word in decoded(page, f'text/html;charset="{charset.upper()}"')
    assert word in decoded(page)


@pytest.mark.parametrize(
    "charset",
    ["utf-7", "unicode_escape", "raw_unicode_escape", "idna", "punycode", "zlib", "rot13", "hex", "base64", "bz2", "uu", "mbcs",
     "undefined", "utf-32", "x" * 39, "../../etc/passwd"],
)  # fmt: skip
def test_a_charset_that_is_no_charset_is_not_followed(charset: str) -> None:
    page = b"<html><p>+ADw-script+AD4- \\u003cscript\\u003e plain"
    assert decoded(page, f"text/html; charset={charset}") == page.decode("ascii")
    assert decoded(b"<meta charset=" + charset.encode() + b">" + page).endswith("plain")
