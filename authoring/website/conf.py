"""What Sphinx is told; ``authoring.website.build`` calls it."""

from pathlib import Path

project = "A course that runs"
html_title = project
language = "en"
extensions = [
    "authoring.website.fragments",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "numpydoc",
]
exclude_patterns = ["_build"]

html_theme_path = [str(Path(__file__).parent)]
html_theme = "theme"
html_copy_source = False
html_show_sphinx = False
html_use_index = True
html_domain_indices = False
html_permalinks = False
# A page opened from a folder may not fetch another one: no summaries of what is found.
html_show_search_summary = False
smartquotes = False

autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
add_module_names = False
toc_object_entries = False  # each has a heading already
