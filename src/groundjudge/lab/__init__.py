"""Agreement with human labels, calibration and comparison (extra `groundjudge[analysis]`)."""
