"""A case is what a judge rates; its shapes, and where its fields are found in what a framework gives."""
