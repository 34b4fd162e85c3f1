# make soak-worlds: random steps in every world under ASan and UBSan (hiv: half an hour; the others: minutes). Not part of make test.
SOAK_STEPS  ?= 10000000
SOAK_SEED   ?= 1
SOAK_WORLDS ?=

$(OUT)/soak_worlds: $(OUT)/tests/soak/soak_worlds.c.o $(call room_lib,envs)
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LDFLAGS) -o $@ $^ -lbox2d -lstdc++ -lm

.PHONY: soak-worlds
soak-worlds:
	@scripts/install-deps build
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=asan $(BUILD)/asan/soak_worlds
	@UBSAN_OPTIONS=print_stacktrace=1 $(BUILD)/asan/soak_worlds $(SOAK_STEPS) $(SOAK_SEED) $(SOAK_WORLDS)

# make soak-retention: 2.4 million paid answers in sixteen days of a sped-up clock, of which two are kept. Ten minutes of processor time,
# and 0.7 GB in SOAK_DIR. On a disk it waits for 2.4 million commits.
SOAK_DIR ?= /dev/shm
$(OUT)/soak_retention: $(OUT)/tests/soak/soak_retention.c.o $(foreach r,$(ROOMS),$(if $(call room_src,$(r)),$(call room_lib,$(r))))
	$(call say,LD ,$@)
	$(Q)$(CC) $(COMMON) $(LDFLAGS) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LDLIBS)

.PHONY: soak-retention
soak-retention:
	@scripts/install-deps build
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=release $(BUILD)/release/soak_retention
	@work=$$(mktemp -d -p $(SOAK_DIR)) && { $(BUILD)/release/soak_retention $$work/data; code=$$?; rm -rf $$work; exit $$code; }
