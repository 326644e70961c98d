from __future__ import annotations

import pytest

from pipeline.documents.soft_404 import soft_404_reason


@pytest.mark.parametrize(
    ("title", "text", "word"),
    [
        ("Just a moment...", "Enable JavaScript and cookies to continue", "captcha"),
        ("Attention Required! | Cloudflare", "Please complete the security check", "captcha"),
        ("x", "Please verify you are a human by completing the action below.", "captcha"),
        ("x", "Our systems have detected unusual traffic from your network.", "captcha"),
        ("Log in", "Please log in to see this page.", "log-in"),
        ("x", "Subscribe to continue reading this article.", "log-in"),
        ("x", "Already a subscriber? Sign in", "log-in"),
        ("Before you continue to the site", "Some text", "consent"),
        ("404 Not Found", "nginx", "no such page"),
        ("x", "Sorry, the page you are looking for doesn't exist.", "no such page"),
        ("Access Denied", "You don't have permission", "error or a block"),
        ("x", "The site is under maintenance, come back later.", "error or a block"),
        ("x", "This domain is for sale. Buy this domain.", "parked"),
    ],
)
def test_each_kind_of_no_page_is_told_apart(title: str, text: str, word: str) -> None:
    assert word in soft_404_reason("", title, text)


def test_a_form_that_asks_for_a_password_is_a_log_in() -> None:
    assert "log-in" in soft_404_reason('<form><input name="p" type="password"></form>', "Welcome", "Welcome to the site")


@pytest.mark.parametrize(
    "source",
    [
        '<div id="root"></div>' + "<script src=a.js></script>" * 40,
        "<noscript>You need to enable JavaScript to run this app.</noscript><script src=a.js></script>",
    ],
)
def test_a_page_that_a_program_would_fill_is_an_empty_shell(source: str) -> None:
    assert "empty shell" in soft_404_reason(source, "App", "App")


def test_a_short_page_with_an_answer_is_a_page() -> None:
    source = "<html><title>The fsync call</title><p>fsync waits until the disk has the data.</p></html>"
    assert soft_404_reason(source, "The fsync call", "fsync waits until the disk has the data.") == ""


def test_a_long_page_about_captchas_is_a_page() -> None:
    assert soft_404_reason("<script></script>", "What a captcha is", "captcha access denied 404 " * 250) == ""


def test_a_page_of_links_alone_is_not_called_a_shell() -> None:
    links = "".join(f"<li><a href=/{n}>Chapter {n}</a></li>" for n in range(60))
    assert soft_404_reason(f"<script src=a.js></script><ul>{links}</ul>" + " " * 2_000, "Contents", "") == ""
