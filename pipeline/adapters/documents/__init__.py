"""Documents of every kind → the one page text of `pipeline.text.page_format`. Arrows: errors, text, page ← documents ← adapters."""
