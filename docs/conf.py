"""How Sphinx builds the documentation: ``make docs``. Nothing is fetched from the network."""

import os
import re
import sys
from pathlib import Path

import primum

ROOT = Path(__file__).parent.parent

project = "primum"
author = "The primum developers"
copyright = f"2026, {author}"  # the name that Sphinx reads
version = release = primum.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = [
    "_templates",
    "figures",
    "auto_examples/backreferences",
]
nitpicky = False
highlight_language = "none"  # indented blocks are formulas and output; Python blocks say so

# --- Pages in Markdown ---
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# --- The reference ---
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc sections have the types
autodoc_inherit_docstrings = True
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the template of classes lists them
numpydoc_class_members_toctree = False

# --- Pictures ---
plot_include_source = False
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 160)]
plot_rcparams = {"savefig.bbox": "tight", "font.size": 10}

# --- The gallery ---
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"[/\\]plot_",
    "ignore_pattern": r"^(?!plot_)",  # demo.py and others are programs, not pages
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 5,
    "abort_on_example_error": False,
    "backreferences_dir": "auto_examples/backreferences",
    "doc_module": ("primum", "primum_lab"),
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib",),
}

# --- The theme ---
html_theme = "pydata_sphinx_theme"
html_title = f"primum {release}"
html_static_path = ["_static"]
html_css_files = ["primum.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "use_edit_page_button": False,
}
html_sidebars = {"index": [], "install": [], "changelog": [], "citing": []}
html_context = {"default_mode": "auto"}

# Programs that are run in the build (figures, gallery) use one thread each.
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(ROOT / "docs" / "figures"))


def links_of_included_pages(app, relative_path, parent_docname, content):
    """Make the links of pages outside this folder, such as CONTRIBUTING.md, relative to it."""
    here = Path(str(relative_path)).parent

    def moved(match):
        target, _, anchor = match[1].partition("#")
        path = (Path(app.srcdir) / here / target).resolve()
        if not target or not path.exists():
            return match[0]
        return f"]({os.path.relpath(path, app.srcdir)}{'#' * bool(anchor)}{anchor})"

    if ".." in here.parts:
        content[0] = re.sub(r"\]\(([^):]+)\)", moved, content[0])


def setup(app):
    """Connect what the settings above cannot express."""
    app.connect("include-read", links_of_included_pages)
