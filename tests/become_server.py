"""The program of a test's own server."""

# It ends when the process that started it does, however that ends.
BECOME_SERVER = "import sys; from bandmaster.scheduler.valkey import become_server; become_server(sys.argv[1:])"
