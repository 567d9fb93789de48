"""Agreement with people, calibration and comparison (extra `groundjudge[analysis]`)."""
