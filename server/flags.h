/* The one reader of command lines: a table of flags drives reading, the environment, --help and the
 * sentences about what is wrong. `--name value` and `--name=value` mean the same.
 *
 * It is in server/ because two folders need it: the settings of the service (config.c) are such a
 * table, and so are the flags of every subcommand in cli/, which may use server/. */
#ifndef TACET_SERVER_FLAGS_H
#define TACET_SERVER_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum flag_kind {
    FLAG_TEXT,      /* const char *: a text that is not empty */
    FLAG_ANY_TEXT,  /* const char *: a text that may be empty */
    FLAG_BARE_TEXT, /* const char *: a text; "" when no value follows */
    FLAG_ID,        /* const char *: letters, digits and _, at most 40 of them */
    FLAG_SECRET,    /* char[FLAG_SECRET_SIZE]: copied, and overwritten in argv */
    FLAG_LIST,      /* struct flag_list: may be repeated, MOST times */
    FLAG_COUNT,     /* uint64_t from LEAST to MOST */
    FLAG_BYTES,     /* the same; K, M or G may follow */
    FLAG_NUMBER,    /* double from LOW to HIGH */
    FLAG_WHOLE,     /* the same without a fraction */
    FLAG_CHOICE,    /* int: the index of one of CHOICES */
    FLAG_SWITCH,    /* bool: takes no value */
    FLAG_ON_OFF,    /* bool: on or off; alone it means on */
};

enum flag_trait {
    FLAG_REQUIRED = 1,
    FLAG_ENVIRONMENT = 2, /* TACET_NAME sets it, too, and a line of the file */
    FLAG_ABOVE = 4,       /* LOW itself is out of bounds */
    FLAG_BELOW = 8,       /* HIGH itself is out of bounds */
    FLAG_FILE = 16,       /* names a file that sets other rows */
    FLAG_PRIVATE = 32,    /* a file that everybody may read must not set it */
};

#define FLAG_SECRET_SIZE 512
#define FLAG_LIST_MAX    64
#define FLAG_ROWS_MOST   128   /* of a table */
#define FLAG_UNBOUNDED   1e300 /* as HIGH: no upper bound to speak of */

struct flag_list {
    const char *text[FLAG_LIST_MAX];
    unsigned count;
};

/* One flag of a table. Texts in options are borrowed from argv, the environment, the file's text or
 * this row. */
struct flag {
    const char *name; /* without its dashes */
    enum flag_kind kind;
    size_t offset; /* of its place in the options */
    struct {
        uint64_t least, most;
        double low, high;
        const char *const *choices; /* ends with NULL */
    } range;
    const char *fallback; /* as a user would write it; NULL: the options keep what they had */
    const char *value;    /* its name in the help: "FILE", "SECONDS" */
    const char *meaning;  /* a line of the help, broken where it is too long */
    unsigned traits;
};

/* Kind, offset and range of a row that fills MEMBER of FLAG_OPTIONS, a struct that the table's file
 * defines. */
#define AS_PLAIN(KIND, MEMBER)                                                                     \
    KIND, offsetof(FLAG_OPTIONS, MEMBER),                                                          \
    {                                                                                              \
        0                                                                                          \
    }
#define AS_RANGE(KIND, MEMBER, LEAST, MOST)                                                        \
    KIND, offsetof(FLAG_OPTIONS, MEMBER),                                                          \
    {                                                                                              \
        .least = (LEAST), .most = (MOST)                                                           \
    }
#define AS_TEXT(MEMBER)               AS_PLAIN(FLAG_TEXT, MEMBER)
#define AS_ANY_TEXT(MEMBER)           AS_PLAIN(FLAG_ANY_TEXT, MEMBER)
#define AS_BARE_TEXT(MEMBER)          AS_PLAIN(FLAG_BARE_TEXT, MEMBER)
#define AS_ID(MEMBER)                 AS_PLAIN(FLAG_ID, MEMBER)
#define AS_SECRET(MEMBER)             AS_PLAIN(FLAG_SECRET, MEMBER)
#define AS_SWITCH(MEMBER)             AS_PLAIN(FLAG_SWITCH, MEMBER)
#define AS_ON_OFF(MEMBER)             AS_PLAIN(FLAG_ON_OFF, MEMBER)
#define AS_LIST(MEMBER, MOST)         AS_RANGE(FLAG_LIST, MEMBER, 0, MOST)
#define AS_COUNT(MEMBER, LEAST, MOST) AS_RANGE(FLAG_COUNT, MEMBER, LEAST, MOST)
#define AS_BYTES(MEMBER, LEAST, MOST) AS_RANGE(FLAG_BYTES, MEMBER, LEAST, MOST)
#define AS_CHOICE(MEMBER, CHOICES)                                                                 \
    FLAG_CHOICE, offsetof(FLAG_OPTIONS, MEMBER),                                                   \
    {                                                                                              \
        .choices = (CHOICES)                                                                       \
    }
#define AS_NUMBER(MEMBER, LOW, HIGH)                                                               \
    FLAG_NUMBER, offsetof(FLAG_OPTIONS, MEMBER),                                                   \
    {                                                                                              \
        .low = (LOW), .high = (HIGH)                                                               \
    }
#define AS_WHOLE(MEMBER, LOW, HIGH)                                                                \
    FLAG_WHOLE, offsetof(FLAG_OPTIONS, MEMBER),                                                    \
    {                                                                                              \
        .low = (LOW), .high = (HIGH)                                                               \
    }

/* A subcommand's command line. */
struct flags {
    const char *program;      /* "tacet student" */
    const char *usage;        /* the help before the table; lines end with \n */
    void (*more)(FILE *out);  /* writes more of it, or NULL */
    const struct flag *table; /* at most FLAG_ROWS_MOST rows */
    size_t count;
    const char *notes;           /* the help after the table, or NULL */
    const char *const *others;   /* TACET_ variables of other programs, NULL at the end; one that is
                                    unknown is then refused. NULL: it is ignored */
    const char *text;            /* what the file holds; NULL: it is read */
    const struct flags *file_of; /* the file may also set rows of this table, which are skipped; or
                                    NULL */
    bool takes_arguments;        /* what begins with no dash, or is just "-", is an argument */
    bool once;                   /* a flag that is given twice is refused */
};

/* Initializes table and count from the array ROWS. */
#define FLAG_TABLE(ROWS) .table = (ROWS), .count = sizeof(ROWS) / sizeof(ROWS)[0]

struct flags_found {
    bool help;      /* --help or -h was met; reading ended there */
    uint64_t given; /* bit i: row i, of the first 64, was on the command line */
    int arguments;  /* how many; they stand first in argv now */
    char *file;     /* text of the file, for the caller to free after the options; or NULL */
    char error[400];
};

/* Fills OPTIONS: a row's value is that of argv[argc], else that of the environment, else that of
 * the file which a row with FLAG_FILE names, else the fallback. What an earlier one of these has
 * set, a later one does not read. False: *out has one line that names what was wrong, without the
 * program's name and without control characters. */
bool flags_read(const struct flags *flags, int argc, char **argv, void *options,
                struct flags_found *out);

/* Writes the help: usage, every row with its default and its variable, notes. */
void flags_help(const struct flags *flags, FILE *out);

/* ---- names (flag_names.c) */

#define FLAG_NAME_SIZE 64 /* of a flag or its variable */

/* Writes the variable of FLAG: TACET_MAX_BODY of max-body. */
void flag_variable(const struct flag *flag, char out[FLAG_NAME_SIZE]);

/* Writes the flag that the text TACET_NAME or TACET_NAME=VALUE stands for, cut where it is long. */
void flag_of_variable(const char *variable, char out[FLAG_NAME_SIZE]);

/* The flag with exactly the SIZE letters of NAME; NULL: none. */
const struct flag *flag_find(const struct flags *flags, const char *name, size_t size);

/* The flag whose name is nearest to NAME or begins with it; NULL: none is near. */
const struct flag *flag_nearest(const struct flags *flags, const char *name, size_t size);

/* Whether FLAG has the same value in the options A and B. Secrets count as the same: they are wiped
 * after use. */
bool flag_same(const struct flag *flag, const void *a, const void *b);

/* The first TACET_ variable of ENVIRONMENT that neither a row of FLAGS nor FLAGS->others nor an
 * orchestrator of containers has made; NULL: none. */
char *const *flag_unknown_variable(const struct flags *flags, char *const *environment);

#endif
