/* A look at a text before jansson reads it: how much room its tokens need, and whether one is
 * longer than jansson may be given. */
#ifndef TACET_API_JSON_JSON_LOOK_H
#define TACET_API_JSON_JSON_LOOK_H

#include <stdbool.h>
#include <stddef.h>

/* Most characters of a number. Every double can be written exactly in fewer: a sign, the 309 digits
 * of the largest, a point, and the 1,074 places behind it of the smallest. RFC 8259 (section 9)
 * leaves such limits to the reader. */
#define JSON_NUMBER_MAX 1400

struct json_look {
    /* Most characters of a token behind which jansson takes one back: a number, a word, or a text
     * up to the control character that it may not hold. */
    size_t longest;
    unsigned depth;  /* most arrays and objects that are open at once */
    size_t odd_at;   /* where such a token begins that is longer than JSON_NUMBER_MAX; SIZE: none */
    bool odd_number; /* it is a number, and so it is JSON */
};

/* Looks up to the first token that is too long. */
struct json_look json_look(const char *bytes, size_t size);

#endif
