"""All bounds on one network, the computation behind `deeptheory.league`.

`ranking` puts the rows together; they come from `counting` (held-out data, bits, dimension), `margins` (norms),
`compressed` (a shorter network) and `noise` (PAC-Bayes). `door` says what is accepted, `network` what a model is to
them, `table` what they make.
"""
