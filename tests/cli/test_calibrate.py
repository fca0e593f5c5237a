"""`calibrate`."""

import json

QUICK = "dropout_is_a_penalty"


def test_calibration_names_what_failed_in_its_lines():
    from deeptheory.cli.calibration import calibrated

    (line,) = calibrated([], [{"claim": QUICK, "seed": 3, "reason": "it broke", "verdict": "inconclusive"}])
    assert line["failed"] == [{"seed": 3, "reason": "it broke"}]
    assert (line["claim"], line["runs"], line["holds"], line["controls"]) == (QUICK, 0, 0, {})
    assert json.loads(json.dumps(line)) == line
