# make torture: three servers and two workers on PostgreSQL with a standby, under faults drawn from SEED, for MINUTES or until QUERIES
# answers (tests/torture). Needs root; not part of make test. FAULTS=kill_primary,fail_over deals these alone; KEEP=FOLDER keeps logs.
.PHONY: torture
torture:
	@scripts/install-deps build torture
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BUILD)/release/tacet
	@tests/torture/torture $(BUILD)/release/tacet "$(SEED)" "$(or $(MINUTES),3)" "$(QUERIES)" "$(FAULTS)"
