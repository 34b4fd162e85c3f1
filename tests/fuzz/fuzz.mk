# make fuzz builds build/fuzz/fuzz_*, libFuzzer programs with ASan and UBSan (tests/fuzz/README.md). Only clang has libFuzzer.
# They are linked by the C++ driver: Box2D, our digits and libFuzzer are C++.
FUZZERS   := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_KIT  := $(patsubst %,$(OUT)/tests/fuzz/%.c.o,fuzz mutate_json scene tokens)
FUZZ_LIBS := $(foreach r,$(ROOMS),$(if $(call room_src,$(r)),$(call room_lib,$(r))))
# For each fuzzer in make fuzz-night (all of them two at a time: seven hours).
NIGHT_SECONDS ?= 2400

.PHONY: fuzz fuzz-programs fuzz-night fuzz-cover
fuzz:
	@scripts/install-deps build fuzz
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=fuzz fuzz-programs

fuzz-programs: $(patsubst %,$(OUT)/%,$(FUZZERS))

# With an optimiser, in build/night.
fuzz-night:
	@scripts/install-deps build fuzz
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=night fuzz-programs
	@nice scripts/fuzz-run $(BUILD)/night $(NIGHT_SECONDS) $(shell nproc)

# Runs the kept inputs, and those that were found in build/fuzz/found and build/night/found, in programs that count.
fuzz-cover:
	@scripts/install-deps build fuzz
	@$(MAKE) $(ALL_CORES) --no-print-directory VARIANT=cover fuzz-programs
	@scripts/fuzz-cover $(BUILD)

# Where reach is counted, the failing side of an assertion is no edge of a parser; the fuzzers' own stay.
$(OUT)/tests/fuzz/%.c.o: CFLAGS += -UNDEBUG

$(OUT)/libfuzz-kit.a: $(FUZZ_KIT)
	@rm -f $@
	@$(AR) rcs $@ $^

$(OUT)/fuzz_%: $(OUT)/tests/fuzz/fuzz_%.c.o $(OUT)/libfuzz-kit.a $(FUZZ_LIBS)
	$(call say,LD ,$@)
	$(Q)$(CXX) $(COMMON) -fsanitize=fuzzer $(LDFLAGS) -o $@ $< -Wl,--start-group $(OUT)/libfuzz-kit.a $(FUZZ_LIBS) -Wl,--end-group $(LDLIBS)
