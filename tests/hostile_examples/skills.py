FOUND = """
emergence.skill_graph, texts: billion
emergence.exact_concentration, k: negative
"""
