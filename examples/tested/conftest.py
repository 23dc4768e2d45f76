"""The fixtures `bandmaster_broker` and `bandmaster_worker`, for all tests of this folder."""

pytest_plugins = ["bandmaster.testing.fixtures"]
