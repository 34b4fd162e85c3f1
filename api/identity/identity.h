/* Callers who show a token of an outside issuer: a JWT (RFC 7519) that is signed by one of its keys
 * and made for this service, as of OpenID Connect. */
#ifndef TACET_API_IDENTITY_IDENTITY_H
#define TACET_API_IDENTITY_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDENTITY_TOKEN_MOST   8192 /* bytes of a token */
#define IDENTITY_SUBJECT_SIZE 256  /* bytes of a subject, its NUL included */
#define IDENTITY_LEEWAY_S     60   /* for clocks that differ */

/* Texts are borrowed for the life of what identity_new makes. */
struct identity_settings {
    const char *issuer;            /* what "iss" must be */
    const char *audience;          /* what "aud" must be, or have */
    const char *roles_claim;       /* a member of the claims, or a path with dots to one */
    const char *const *role_map;   /* "THEIRS=OURS"; none: the claim has our names */
    unsigned role_map_count;       /* with one or more, only these names count */
    const char *const *role_names; /* all roles that a token may give; ends in NULL */
    /* Called when a token names a key that is not known: perhaps the issuer has a new one. Anybody
     * can make such a token. Any thread; NULL: nothing is called. */
    void (*unknown_key)(void *context);
    void *unknown_key_context;
};

struct identity;

/* Who the issuer says that the caller is. */
struct identity_caller {
    char subject[IDENTITY_SUBJECT_SIZE];
    const char *role; /* one of role_names */
    int64_t ends_ms;  /* the token is valid until then */
};

enum identity_status {
    IDENTITY_GOOD,
    IDENTITY_INVALID, /* not signed by the issuer's keys, not for this service, or not valid now */
    IDENTITY_NO_ROLE, /* valid, but its claim gives none of the roles, or several */
};

/* Knows no keys yet: every token is invalid. NULL: *WHY is a sentence about SETTINGS (static text).
 * Free with identity_free. */
struct identity *identity_new(const struct identity_settings *settings, const char **why);

/* NULL is fine. */
void identity_free(struct identity *identity);

/* The keys are those of TEXT[size] from now on (jwks.h), and no others. Any thread. False: *WHY is
 * a sentence (static text), and the keys stay as they were. */
bool identity_set_keys(struct identity *identity, const char *text, size_t size, const char **why);

/* The issuer of the settings. */
const char *identity_issuer(const struct identity *identity);

/* Checks TOKEN at NOW. Any thread. IDENTITY_GOOD fills *out; otherwise *WHY is a sentence (static
 * text) that tells nothing about tokens whose signature is wrong. */
enum identity_status identity_check(struct identity *identity, const char *token, int64_t now_ms,
                                    struct identity_caller *out, const char **why);

#endif
