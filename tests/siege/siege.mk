# make siege: a student among all attacks at once, and campaigns of thousands (tests/siege/siege.py). It takes hours, and is not part
# of make test. The machine should do nothing else for the first ten minutes, which measure. SEED=N repeats what clients chose;
# SIEGE="load", SIEGE="power cuts" run a part.
SIEGE ?=

.PHONY: siege
siege:
	@scripts/install-deps build test
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BUILD)/release/tacet \
	  $(addprefix $(BUILD)/release/,test_crash test_storage test_faults test_system test_simulator failing_system.so)
	@SEED=$(SEED) /usr/bin/python3 tests/siege/siege.py $(BUILD)/release "$(SIEGE)"
