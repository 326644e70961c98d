"""Documents of every kind → the one page text of `pipeline.page`. Arrows: errors, text, page ← documents ← adapters."""
