"""Reports on runs: tables, figures, pages and pictures."""
