"""The program of a test's own server: the bundled Valkey, or the one that BANDMASTER_TEST_SERVER names."""

# It ends when the process that started it does, however that ends.
BECOME_SERVER = """
import os, sys
from bandmaster.scheduler.server.valkey import end_with_parent, server_binary
end_with_parent()
binary = os.environ.get("BANDMASTER_TEST_SERVER") or os.fspath(server_binary())
os.execvp(binary, [binary, *sys.argv[1:]])
"""
