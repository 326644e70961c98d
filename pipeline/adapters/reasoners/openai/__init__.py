"""The language-model reasoner, for any server with an OpenAI-style chat-completions API: prompts, calls, checked answers."""
