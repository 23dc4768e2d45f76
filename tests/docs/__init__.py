"""The documents, held to the repository: what they name is there, and what code cites stands in them."""
