"""The text of a web page, taken out in a separate process that can be killed."""
