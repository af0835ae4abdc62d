"""How far one pass over fixed base codes can go: one module a question, answered in docs/quality.md."""
