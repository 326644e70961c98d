"""What is behind the ports: storage, HTTP, the web, documents, search and reasoners."""
