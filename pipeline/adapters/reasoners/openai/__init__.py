"""The language-model reasoner: any server that speaks chat completions over HTTP. Prompts out, checked answers in."""
