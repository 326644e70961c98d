"""HTTP for every adapter: one client, one failure policy, one guard. Arrows: errors, text ← http ← adapters."""
