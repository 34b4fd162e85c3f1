# make fuzz builds build/fuzz/fuzz_*, libFuzzer programs with ASan and UBSan. Run one with its corpus:
#   build/fuzz/fuzz_api -max_total_time=60 build/fuzz/found tests/fuzz/corpus_api
FUZZERS   := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_LIBS := $(foreach r,$(ROOMS),$(if $(call room_src,$(r)),$(call room_lib,$(r))))

.PHONY: fuzz
fuzz:
	@$(MAKE) --no-print-directory VARIANT=fuzz $(patsubst %,$(BUILD)/fuzz/%,$(FUZZERS))

$(OUT)/fuzz_%: $(OUT)/tests/fuzz/fuzz_%.c.o $(FUZZ_LIBS)
	$(CXX) $(COMMON) -fsanitize=fuzzer $(LDFLAGS) -o $@ $< -Wl,--start-group $(FUZZ_LIBS) -Wl,--end-group $(LDLIBS)
