"""Point-It-Out: where in the picture is it, where does one act on it, along which path?"""
