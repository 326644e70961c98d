"""Documents of every kind → the one page text of `page_format`. Arrows: errors, text, page ← documents ← adapters."""
