"""Skills: how falling loss turns into competence on skills and tuples of skills.

- `competence`: error rates of skills and pairs, repeated skills, mistaken pieces, pieces merged into groups.
- `compound_tasks`: success at k sub-tasks at once: where it rises, correlated sub-tasks, metrics and detectors.
- `emergence`: emergence of skills on a random skill graph: how many of a skill's text pieces can lie in one small
  error set.
- `performance_curves`: what the theorem guarantees to which share of skills, and of tuples of skills.
- `simulator`: from a scaling law to the skills in error, simulated; and the order in which tasks emerge.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
