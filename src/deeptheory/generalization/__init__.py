"""Generalization: bounds, exact risks, and what they say about a network. One module a subject; import those.

- Chance: `concentration`, `sub_exponential`, `martingales`, `matrix_concentration`, `symmetrization`.
- Capacity: `risks`, `finite_classes`, `description_length`, `covers`, `growth`, `vc_bounds`, `rademacher`,
  `rademacher_bounds`, `solution_sets`.
- Norms and compression: `norms`, `norm_bounds`, `all_layer_margin`, `compression`.
- PAC-Bayes and information: `pac_bayes`, `comparison_bounds`, `change_of_measure`, `gaussian_posteriors`,
  `linear_posteriors`, `mutual_information`.
- Stability and memory: `stability`, `memorization`, `uniform_convergence`.
- Interpolation: `ridgeless`, `ridge_risk`, `correlated_risk`, `random_feature_risk`, `polynomials`, `smoothers`,
  `nearest_neighbours`, `nadaraya_watson`, `overfitting`.
- All bounds on one network: the package `league`, the computation behind `deeptheory.league`.
"""
