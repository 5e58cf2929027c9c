"""Reports: tables, figures, pages and pictures of what was run."""
