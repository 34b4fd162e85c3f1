/* Running `tacet import` in a folder of its own. */
#ifndef TACET_TESTS_HTTP_IMPORT_RUN_H
#define TACET_TESTS_HTTP_IMPORT_RUN_H

#include "tests/http/server_process.h"

struct import_place {
    struct server_process process; /* does not run */
    const char *folder;
};

/* Makes and removes the folder. */
void import_place_open(struct import_place *place);
void import_place_close(struct import_place *place);

/* The path of NAME in the folder; two of them live at a time. */
const char *import_path(const struct import_place *place, const char *name);

/* Writes TEXT to the file NAME of the folder. */
void import_place_write(const struct import_place *place, const char *name, const char *text);

/* Writes the files of arrays.py there, as "npz" or "hdf5". */
void import_place_arrays(const struct import_place *place, const char *kind);

/* Imports the file NAME of the folder by the description at PATH with FLAGS (up to a NULL): it ends
 * with CODE and what it says holds every text of SAYS (up to a NULL). */
void import_expect(const struct import_place *place, int code, const char *name, const char *path,
                   const char *const *flags, const char *const *says);

/* The description of the arrays of arrays.py, and their trajectories as lines, up to a NULL. */
extern const char import_arrays_description[];
extern const char *const import_arrays_lines[];

/* The files of arrays.py that any kind of file refuses, KIND being their ending. */
void import_refuses_arrays(const struct import_place *place, const char *kind);

/* An episode ends where any of the arrays says so, whatever --ends-by names. */
void import_sees_all_ends(const struct import_place *place, const char *kind);

#endif
