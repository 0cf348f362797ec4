"""Code that constructs deploy: each folder is a function's own, and what lies in it is all that it is made from."""
