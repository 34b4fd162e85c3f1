/* The flags of a subcommand that uploads to a dataset, and the checks between them. */
#ifndef TACET_CLI_UPLOAD_FLAGS_H
#define TACET_CLI_UPLOAD_FLAGS_H

#include "cli/cli.h"
#include "cli/http_out.h"

#define UPLOAD_MAX_PATIENCE 86400

struct upload_options {
    /* texts point into argv; NULL: not given */
    const char *url, *token_file, *ca_file, *dataset, *name;
    char token[FLAG_SECRET_SIZE]; /* wherever it came from; "" without an upload */
    double epsilon, delta;        /* NAN: not given */
    bool seal;
    uint64_t patience;
};

/* The rows of a table whose options have the struct in MEMBER. WHAT is sent; NAME is the default of
 * --name for people. */
#define UPLOAD_FLAG_ROWS(MEMBER, WHAT, NAME)                                                       \
    {"upload", AS_TEXT(MEMBER.url), NULL, "URL", "send " WHAT " to a Tacet server", 0},            \
        {"token",                                                                                  \
         AS_SECRET(MEMBER.token),                                                                  \
         NULL,                                                                                     \
         "TOKEN",                                                                                  \
         "a steward's; better in TACET_TOKEN or a file: others can see flags for a moment",        \
         0},                                                                                       \
        {"token-file",                                                                             \
         AS_TEXT(MEMBER.token_file),                                                               \
         NULL,                                                                                     \
         "FILE",                                                                                   \
         "the token is this file's first line",                                                    \
         0},                                                                                       \
        HTTP_OUT_FLAG_CA(MEMBER.ca_file), {"dataset",                                              \
                                           AS_TEXT(MEMBER.dataset),                                \
                                           NULL,                                                   \
                                           "ID",                                                   \
                                           "upload to this dataset instead of a new one",          \
                                           0},                                                     \
        {"name", AS_TEXT(MEMBER.name), NULL, "NAME", "name of the new dataset (" NAME ")", 0},     \
        {"epsilon",                                                                                \
         AS_NUMBER(MEMBER.epsilon, 0, FLAG_UNBOUNDED),                                             \
         NULL,                                                                                     \
         "E",                                                                                      \
         "budget of the new dataset, for each expert; required for one",                           \
         FLAG_ABOVE},                                                                              \
        {"delta", AS_NUMBER(MEMBER.delta, 0, 1),      NULL,                                        \
         "D",     "budget of the new dataset (1e-5)", FLAG_ABOVE | FLAG_BELOW},                    \
        {"seal", AS_SWITCH(MEMBER.seal), NULL, "", "seal the dataset when all is there", 0},       \
    {                                                                                              \
        "retry-for", AS_COUNT(MEMBER.patience, 0, UPLOAD_MAX_PATIENCE), "300", "S",                \
            "seconds for which a server may be away", 0                                            \
    }

#define UPLOAD_DEFAULT_DELTA 1e-5

/* A flag and whether it was given. */
struct upload_given {
    const char *name;
    bool given;
};

/* 0, or a complaint "--NAME RULE" about the first of COUNT flags that was given. */
int upload_flags_none(const struct flags *flags, const struct upload_given *given, size_t count,
                      const char *rule);

/* Checks what goes together. 0, or an exit code after one line. */
int upload_flags_check(const struct flags *flags, const struct upload_options *options);

/* Finds the token of an upload: the flag's, the file's or TACET_TOKEN's. 0, or an exit code after
 * one line. */
int upload_flags_token(const struct flags *flags, struct upload_options *options);

#endif
