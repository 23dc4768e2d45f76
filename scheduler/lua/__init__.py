"""The Lua scripts, one file a transition (package data)."""
