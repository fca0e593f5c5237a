from typing import Any

import numpy as np

EXAMPLES: dict[str, dict[str, Any]] = {
    "performance_curves.tuple_performance_curve": {"loss": 0.1},
    "simulator.simulate_emergence": {"losses": np.array([0.2, 0.1]), "texts": 60, "skills": 6, "alpha": 0.3},
}

FOUND = """
emergence.skill_graph, measure: given
emergence.skill_graph, measure: zeros
emergence.skill_graph, texts: billion
emergence.exact_concentration, k: negative
"""
