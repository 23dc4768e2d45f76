"""The page at `/`: what a person sees of the API, in a browser. Its programs are in `files`, and are no Python."""
