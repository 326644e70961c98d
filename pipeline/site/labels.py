"""Labels on the site: kinds in the plural, names of properties, numbers, durations."""

from __future__ import annotations

PLURALS = {
    "home": "Home",
    "report": "Reports",
    "earlier": "Earlier",
    "topic": "Topics",
    "night": "Nights",
    "session": "Sessions",
    "source": "Sources",
    "worker": "Workers",
    "note": "Notes",
}
LISTS = {
    plural.lower(): kind for kind, plural in PLURALS.items() if kind != "home"
}  # the names of the lists, and what is in them
_COUNTS = {"sources", "facts", "words", "quotes", "tokens", "pages", "searches", "sessions", "reports", "workers", "events"}
_LABELS = {"source_url": "Address", "cost_usd": "Cost", "duration_s": "Time", "cited_by": "Cited by", "query": "Question"}
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def month_name(month: str) -> str:
    """Return the name of the month ``2026-11``; what no calendar has, and "", as a person would say it."""
    number = int(month[5:] or 0)
    return _MONTHS[number - 1] if 1 <= number <= len(_MONTHS) else month[5:] or "Without a day"


def label(name: str) -> str:
    """Return the words for a property's key."""
    return _LABELS.get(name) or name.replace("_", " ").replace("-", " ").capitalize()


def shown_number(name: str, text: str) -> str:
    """Return a property's number as a person writes it; any other text as it is."""
    try:
        number = float(text)
    except ValueError:
        return text
    if name == "cost_usd":
        return money(number)
    if name == "duration_s":
        return duration(number)
    return f"{int(text):,}" if name in _COUNTS and text.isdecimal() else text


def money(usd: float) -> str:
    """Return a sum with as many digits as a small one needs."""
    return "0" if not usd else f"${usd:,.2f}" if usd >= 0.1 else f"${usd:.4f}"


def duration(seconds: float) -> str:
    """Return a length of time in its two largest units."""
    if seconds < 1:
        return "under a second"
    whole = round(seconds)
    parts = [(whole // 3600, "h"), (whole // 60 % 60, "min"), (whole % 60, "s")]
    return " ".join([f"{number} {unit}" for number, unit in parts if number][:2])
