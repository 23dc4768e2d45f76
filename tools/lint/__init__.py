"""What `make lint` holds the Lua scripts to: ``python -m tools.lint`` lists each failure with its file and line.

A script is called with positions, not with names, so an argument that slipped by one place would be a wrong effect and
no error. Every file is read (`lua_files`); `headers` compares header and body, `groups` the arguments of which a script
takes many, `names` what the files use of each other. That wrappers and headers agree, `Scripts` sees when it is made.
"""
