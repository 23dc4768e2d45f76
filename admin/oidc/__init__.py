"""Signing in with an OpenID provider: the login that is under way, what is asked of the provider, what it signed."""
