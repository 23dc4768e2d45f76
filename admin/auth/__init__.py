"""Who may call the API: tokens, their scopes, and where tokens are kept."""
