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
