"""The routes of the API, one module for each thing that they are about."""
