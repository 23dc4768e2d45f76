"""The site of the documents: `make docs` builds it in build/docs.

Pages are Markdown and read well in the repository, too. The reference of the Python names comes from their docstrings.
"""

from importlib.metadata import version as version_of

project = "Bandmaster"
author = "the Bandmaster maintainers"
copyright = author
release = version = version_of("bandmaster")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.mermaid"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"Bandmaster {release}"
html_static_path: list[str] = []

# Links to headings as repositories make them, and diagrams in plain fences.
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
myst_links_external_new_tab = False

# Docstrings are in plain text with `names` in single backticks.
default_role = "code"
autoclass_content = "both"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"show-inheritance": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False  # what stands before a colon after "Returns" is no type: types are annotations
