"""Skills: how falling loss turns into competence on skills and tuples of skills."""

from deeptheory.skills.emergence import (
    change_of_measure_concentration,
    containing_share,
    emergence_margin,
    exact_concentration,
    first_moment_concentration,
    log_first_moment,
    searched_concentration,
    skill_graph,
    worst_concentration,
)

__all__ = [
    "change_of_measure_concentration",
    "containing_share",
    "emergence_margin",
    "exact_concentration",
    "first_moment_concentration",
    "log_first_moment",
    "searched_concentration",
    "skill_graph",
    "worst_concentration",
]
