/* Byte form, little endian:
 *
 *   u32 magic "TSTG"  u32 version 1  u64 fingerprint  u32 state_dim  u32 action_count  u32 slots
 *   u32 trajectories  u64 bytes of the records   records (trajectory.h)
 *   u32 zero where the records end at an odd word   u64 checksum of everything before it
 *   the trainer's checkpoint, or nothing */
#include "algos/offline/stage_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "algos/offline/trainer_state.h"
#include "algos/privacy/training/sparse_vector.h"
#include "memory/memory.h"

enum { MAGIC = 0x47545354, VERSION = 1 };

struct header {
    uint32_t magic, version;
    uint64_t fingerprint;
    uint32_t state_dim, action_count, slots, trajectories;
    uint64_t records;
};
static_assert(sizeof(struct header) == 40, "no padding in the byte form");

uint64_t stage_fingerprint(const struct algorithm_run *run)
{
    const struct stage_request *request = &run->request->stage;
    const struct stage_plan *plan = &run->plan->stage;
    uint64_t hash = trainer_fingerprint(run);
    const double numbers[] = {request->kind,
                              request->source,
                              request->max_length,
                              request->runs,
                              request->labels,
                              request->explore,
                              request->rounds,
                              request->skill.low,
                              request->skill.high,
                              request->skill.power,
                              request->skill.episodes,
                              plan->stable.request.min_probability,
                              (double)plan->stable.lattice.threshold,
                              (double)plan->stable.lattice.threshold_scale,
                              (double)plan->stable.lattice.query_scale,
                              (double)plan->consensus.lattice_scale};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        hash = checksum_number(hash, numbers[i]);
    const struct consensus_grid *grid = &request->grid;
    for (uint32_t d = 0; d < grid->dims; d++) {
        hash = checksum_number(hash, grid->low[d]);
        hash = checksum_number(hash, grid->high[d]);
        hash = checksum_number(hash, grid->points[d]);
    }
    if (grid->count > 0)
        hash = checksum_words(hash, grid->states,
                              (size_t)grid->count * grid->dims * sizeof *grid->states);
    return hash;
}

struct writing {
    uint32_t state_dim, trajectories;
    size_t size;
    unsigned char *at; /* NULL: only counts */
};

static bool write_one(void *context, const struct trajectory *one)
{
    struct writing *writing = context;
    size_t size = trajectory_record_size(one->length, writing->state_dim);
    writing->trajectories++;
    writing->size += size;
    if (writing->at) {
        trajectory_record_write(one, writing->state_dim, writing->at);
        writing->at += size;
    }
    return true;
}

unsigned char *stage_state_to_bytes(const struct dataset *released, uint64_t fingerprint,
                                    size_t *out_size)
{
    struct writing writing = {.state_dim = released->state_dim};
    (void)dataset_each_trajectory(released, write_one, &writing);
    const struct header header = {.magic = MAGIC,
                                  .version = VERSION,
                                  .fingerprint = fingerprint,
                                  .state_dim = released->state_dim,
                                  .action_count = released->action_count,
                                  .slots = released->expert_count,
                                  .trajectories = writing.trajectories,
                                  .records = writing.size};
    size_t end = sizeof header + checksum_padded(writing.size);
    unsigned char *bytes = checksum_room(end, out_size);
    memcpy(bytes, &header, sizeof header);
    writing.at = bytes + sizeof header;
    (void)dataset_each_trajectory(released, write_one, &writing);
    checksum_seal(bytes, end);
    return bytes;
}

/* Reads the header if BYTES begin with a whole state; else returns false. */
static bool read_header(uint64_t fingerprint, const unsigned char *bytes, size_t size,
                        struct header *out)
{
    if (!bytes || size < sizeof *out + sizeof(uint64_t))
        return false;
    memcpy(out, bytes, sizeof *out);
    size_t room = size - sizeof *out - sizeof(uint64_t);
    if (out->magic != MAGIC || out->version != VERSION || out->fingerprint != fingerprint ||
        out->records > room || checksum_padded(out->records) > room || out->state_dim == 0 ||
        out->action_count == 0 || out->action_count > UINT16_MAX ||
        out->slots > SPARSE_VECTOR_MAX_TRAJECTORIES)
        return false;
    return checksum_holds(bytes, sizeof *out + checksum_padded(out->records));
}

bool stage_state_from_bytes(uint64_t fingerprint, const unsigned char *bytes, size_t size,
                            struct dataset **out_released, size_t *out_used)
{
    struct header header;
    if (!read_header(fingerprint, bytes, size, &header))
        return false;
    struct dataset_builder *builder =
        dataset_builder_new(header.state_dim, header.action_count, header.slots);
    const unsigned char *at = bytes + sizeof header;
    size_t left = header.records;
    for (uint32_t i = 0; i < header.trajectories; i++) {
        struct trajectory one;
        size_t used = trajectory_record_read(at, left, header.state_dim, &one);
        if (used == 0 || one.expert >= header.slots) {
            dataset_builder_free(builder);
            return false;
        }
        (void)dataset_builder_add(builder, &one);
        at += used;
        left -= used;
    }
    *out_released = memory_must(dataset_builder_finish(builder));
    *out_used = sizeof header + checksum_padded(header.records) + sizeof(uint64_t);
    return true;
}
