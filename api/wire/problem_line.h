/* Reads a server's JSON answers for the command line: a refusal as one line for a person, and a
 * member of a good answer. The bytes come from outside and are not trusted. */
#ifndef TACET_API_WIRE_PROBLEM_LINE_H
#define TACET_API_WIRE_PROBLEM_LINE_H

#include <stdbool.h>
#include <stddef.h>

#define PROBLEM_LINE_SIZE 1024
#define PROBLEM_SLUG_SIZE 64

/* A refusal, understood. */
struct problem_line {
    char slug[PROBLEM_SLUG_SIZE]; /* "budget-exhausted"; "" when the answer is no problem+json */
    char text[PROBLEM_LINE_SIZE];
};

/* Reads the SIZE bytes that came with STATUS. The text is one line without control characters:
 * "422 validation: The request ... (/budget/epsilon must be positive; line 3: /states/2 ...)", at
 * most three errors named and the rest counted, cut off with "..." when it is too long. For a body
 * that is not problem+json (RFC 9457) the text is the status alone. */
void problem_line_read(long status, const char *body, size_t size, struct problem_line *out);

/* The text member NAME of the JSON object in BODY, at most SIZE - 1 bytes, control characters
 * refused. False, with "" in OUT: it is not there, or no such text. */
bool answer_text(const char *body, size_t body_size, const char *name, char *out, size_t size);

/* The member NAME of the JSON object in BODY as a number; NAN when it is none. */
double answer_real(const char *body, size_t body_size, const char *name);

#endif
