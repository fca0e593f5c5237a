FOUND = """
emergence.exact_concentration, k: negative
"""
