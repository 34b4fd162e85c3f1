/* A file of steps, read as trajectories. Which kind it is, its first bytes say. */
#ifndef TACET_CLI_IMPORT_IMPORT_SOURCE_H
#define TACET_CLI_IMPORT_IMPORT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/data/description.h"
#include "api/data/json_stream.h"
#include "api/data/table_values.h"

#define IMPORT_ERROR_SIZE 600

/* Which expert an episode of arrays belongs to. A table has a column for it. */
enum import_experts {
    IMPORT_EXPERTS_UNSAID,
    IMPORT_EXPERTS_BY_KEY,      /* an array, or an attribute, says it */
    IMPORT_EXPERTS_OF_EPISODES, /* each expert has the same number of episodes in a row */
};

struct import_request {
    const char *path;
    const struct description *description;
    uint32_t max_steps;
    enum import_experts experts;
    const char *experts_key;
    uint64_t episodes_per_expert;
    const char *ends_by; /* of arrays: one more that marks last steps, or "terminals"; NULL: none */
    int last_state;      /* an enum description_last_state for arrays; -1: not given */
    struct json_stream_faults faults;
    struct table_tally *tally; /* NULL: nothing is counted */
};

struct import_source;

/* A kind of file. */
struct import_kind {
    const char *name;  /* "CSV" */
    const char *place; /* what faults count: "line", "step" */
    const char *magic; /* the first bytes; NULL: any */
    size_t magic_size;
    /* Opens the file of source->request. False: source->error says why not. */
    bool (*open)(struct import_source *source);
    enum json_stream_status (*next)(struct import_source *source, struct trajectory *out,
                                    const char **out_expert);
    void (*close)(struct import_source *source);
};

/* A file that is open. */
struct import_source {
    const struct import_kind *kind;
    struct import_request request;
    void *hand;          /* the kind's own */
    uint64_t rows;       /* that were read */
    const char *ignored; /* columns or arrays that mean nothing, joined by ", " */
    char error[IMPORT_ERROR_SIZE];
};

/* The kinds. */
extern const struct import_kind import_csv, import_npz;

/* Opens the file of REQUEST, which is copied. MORE (NULL: none) is a kind besides CSV and NPZ.
 * False: SOURCE->error says why not. The caller closes it in either case. */
bool import_source_open(struct import_source *source, const struct import_request *request,
                        const struct import_kind *more);

/* The next trajectory, as json_stream_next gives it. JSON_STREAM_GONE: SOURCE->error says why. */
enum json_stream_status import_source_next(struct import_source *source, struct trajectory *out,
                                           const char **out_expert);

/* Closes what is open. */
void import_source_close(struct import_source *source);

/* True when the file at PATH begins with the magic of HDF5. */
bool import_is_hdf5(const char *path);

/* Notes why something failed; gives false. */
bool import_failed(struct import_source *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
