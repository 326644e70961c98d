"""The notes of imports. All of them say first that nothing in them is checked."""
