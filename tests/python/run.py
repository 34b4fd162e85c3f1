#!/usr/bin/env python3
"""Runs these tests and sums up as Criterion does: tests/python/run.py [MODULE.CLASS.TEST...]"""
import pathlib
import sys
import unittest
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
warnings.simplefilter("error")
warnings.simplefilter("ignore", ResourceWarning)  # connections are kept until the end
loader = unittest.defaultTestLoader
suite = loader.loadTestsFromNames(sys.argv[1:]) if sys.argv[1:] else loader.discover(str(HERE), top_level_dir=str(HERE))
result = unittest.TextTestRunner(verbosity=2).run(suite)
bad = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
print("Synthesis: Tested: %d | Passing: %d | Failing: %d" % (result.testsRun, result.testsRun - bad, bad))
sys.exit(bad > 0)
