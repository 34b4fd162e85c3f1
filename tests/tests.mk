# A folder below tests/unit is one Criterion program of the same name: build/<variant>/test_<folder>.
# It links the rooms it speaks of and those below them, so that a floor can be tested while one above it is rebuilt.
FLOOR_algos     := $(filter envs algos%,$(ROOMS))
NEEDS_envs      := envs
NEEDS_privacy   := envs algos/privacy
NEEDS_nn        := envs algos/privacy algos/nn
NEEDS_algos     := $(FLOOR_algos)
NEEDS_storage   := storage
NEEDS_api       := $(FLOOR_algos) storage api
NEEDS_server    := $(ROOMS)

UNIT_TESTS := $(filter $(patsubst NEEDS_%,%,$(filter NEEDS_%,$(.VARIABLES))),$(notdir $(patsubst %/,%,$(wildcard tests/unit/*/))))
unit_obj = $(patsubst %,$(OUT)/%.o,$(wildcard tests/unit/$(1)/*.c))
unit_lib = $(foreach r,$(NEEDS_$(1)),$(if $(call room_src,$(r)),$(call room_lib,$(r))))

define unit_rule
$(OUT)/test_$(1): $(call unit_obj,$(1)) $(call unit_lib,$(1))
	$(CC) $(COMMON) $(LDFLAGS) -o $$@ $(call unit_obj,$(1)) \
	  -Wl,--start-group $(call unit_lib,$(1)) -Wl,--end-group $(TEST_LIBS) $(LDLIBS)
endef
$(foreach t,$(UNIT_TESTS),$(eval $(call unit_rule,$(t))))
