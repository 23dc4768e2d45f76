"""The Lua scripts, one file for each, and their shared files in `include` (package data)."""
