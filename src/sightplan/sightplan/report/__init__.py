"""What people look at: pictures now, pages and tables later."""
