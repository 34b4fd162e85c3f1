/* The file of marks in a directory of another machine, which survives the data directory.
 *
 *   tacet-marks 1 LIFE                                     begins the file
 *   a KIND RESOURCE CLIENT UNITS DELTA EPSILON DELTA ENTRIES    a mark; "o" instead: an orphan's
 *   a uncovered DATASET - 0 0 0 0 0                        its budget does not cover it any more
 *   a lost - - MS 0 0 0 0                                  marks of before this time are lost
 *   a keys - - 0 0 0 0 0                                   keys of before the marks count, too
 *   k MS                                                   keys up to this time may be answered
 *   = DIGEST                                               ends what was written at once
 *
 * The newest line of a name holds. The digest is keyed, and covers the lines before it and the
 * digest before them, so that nothing in the middle can be changed or left out. An end that was cut
 * off was never confirmed, and does not count. */
#ifndef TACET_STORAGE_MARKS_MARKS_FILE_H
#define TACET_STORAGE_MARKS_MARKS_FILE_H

#include <sys/types.h>

#include "memory/buffer.h"
#include "storage/db/id.h"

#define MARKS_NAME_SIZE   (16 + 2 * ID_SIZE) /* of "KIND RESOURCE CLIENT" */
#define MARKS_LIFE_SIZE   ID_SIZE
#define MARKS_DIGEST_SIZE 16
#define MARKS_KEY_SIZE    32
#define MARKS_FILE_MOST   ((size_t)1 << 40)

struct marks_amounts {
    int64_t units, delta;
};

struct mark {
    char name[MARKS_NAME_SIZE];
    struct marks_amounts used; /* the account has spent and held at most this */
    double epsilon, delta;     /* the greatest budget that was declared */
    int64_t entries;           /* of the account that were stored already */
    bool orphan; /* the account is not in the database that was restored, and may come back */
};

struct marks_file {
    char directory[4096], path[4096 + 8];
    unsigned char key[MARKS_KEY_SIZE];
    unsigned char digest[MARKS_DIGEST_SIZE]; /* the last one */
    int lock, file;                          /* -1: not open */
    off_t size, whole_size; /* of the file, and when it was last written as a whole */
    ino_t inode;
    char life[MARKS_LIFE_SIZE]; /* of the file that was read or written last; "": there was none */
};

/* Locks DIRECTORY, which must be there, for this process. False: ERROR holds a sentence. */
bool marks_file_open(struct marks_file *file, const char *directory,
                     const unsigned char key[MARKS_KEY_SIZE], char *error, size_t error_size);

/* Closes and unlocks. */
void marks_file_close(struct marks_file *file);

typedef void marks_file_fn(void *context, const struct mark *mark, int64_t key_ms);

enum marks_found {
    MARKS_FOUND,
    MARKS_NONE,    /* there is no file */
    MARKS_DAMAGED, /* it was changed, or is another service's */
    MARKS_UNREAD,  /* nobody knows: errno says why */
};

/* Reads the file: EACH sees every mark, and (with a NULL mark) every time of keys, in order. LIFE
 * receives the life that it belongs to. */
enum marks_found marks_file_read(struct marks_file *file, char life[MARKS_LIFE_SIZE],
                                 marks_file_fn *each, void *context);

/* Adds a line to what will be written. */
void marks_file_line(struct buffer *lines, const struct mark *mark);

/* Whether the file that is open is still the one of its name: a restored service replaces it, and a
 * directory may go away. */
bool marks_file_stands(const struct marks_file *file);

/* Whether it is time to write the file as a whole: most of its lines are of older marks. */
bool marks_file_has_grown(const struct marks_file *file);

/* Adds LINES, durably. False: they may be there or not, and the next call must be
 * marks_file_replace. */
bool marks_file_append(struct marks_file *file, struct buffer *lines);

/* Makes LINES, without the first one, the whole file, of LIFE; durable when true. It replaces
 * nothing but marks of the life that was read or written last, and only with the directory's lock:
 * a service that was restored meanwhile has begun another life there. */
bool marks_file_replace(struct marks_file *file, const char *life, const struct buffer *lines);

#endif
