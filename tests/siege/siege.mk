# make siege: a student among all attacks at once, and campaigns of thousands (tests/siege/siege.py). Half an hour on an idle
# machine; not part of make test. SEED=N repeats what clients chose; SIEGE="load" runs a part.
SIEGE ?=

.PHONY: siege
siege:
	@scripts/install-deps build test
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BUILD)/release/tacet $(BUILD)/release/test_crash
	@SEED=$(SEED) /usr/bin/python3 tests/siege/siege.py $(BUILD)/release $(SIEGE)
