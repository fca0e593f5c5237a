"""Skills: how falling loss turns into competence on skills and tuples of skills.

- `emergence`: emergence of skills on a random skill graph: how many of a skill's text pieces can lie in one small
  error set.
"""

from deeptheory.foundations.packages import submodules

__getattr__ = submodules(__name__)
