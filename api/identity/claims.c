/* The claims of RFC 7519, section 4.1, and the one that names roles. */
#include "api/identity/claims.h"

#include <math.h>
#include <string.h>

#define ROLES_MOST 1000 /* that a token lists */
#define LATEST_S   1e11 /* the year 5138 */

/* ---- the registered claims */

/* True when VALUE is TEXT, or an array with TEXT in it. */
static bool holds_text(const json_t *value, const char *text)
{
    const char *own = json_string_value(value);
    if (own)
        return strcmp(own, text) == 0;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *one = json_string_value(json_array_get(value, i));
        if (one && strcmp(one, text) == 0)
            return true;
    }
    return false;
}

/* Reads the seconds CLAIM. False: it is there and is no time, or it is missing and REQUIRED. */
static bool read_time(const json_t *claims, const char *claim, bool required, double *out)
{
    const json_t *value = json_object_get(claims, claim);
    if (!value)
        return !required;
    *out = json_number_value(value);
    return json_is_number(value) && isfinite(*out) && *out >= 0;
}

/* Checks the times and sets *OUT_ENDS_MS. False: *WHY. */
static bool check_times(const json_t *claims, int64_t now_ms, int64_t *out_ends_ms,
                        const char **why)
{
    double expires = 0, begins = 0, now = (double)now_ms / 1000;
    *why = "The token needs \"exp\" and, if it has it, \"nbf\" as numbers of seconds.";
    if (!read_time(claims, "exp", true, &expires) || !read_time(claims, "nbf", false, &begins))
        return false;
    *why = "The token has expired.";
    if (now >= expires + IDENTITY_LEEWAY_S)
        return false;
    *why = "The token is not valid yet.";
    if (now < begins - IDENTITY_LEEWAY_S)
        return false;
    *out_ends_ms = (int64_t)(fmin(expires, LATEST_S) * 1000) + IDENTITY_LEEWAY_S * 1000;
    return true;
}

static bool read_subject(const json_t *claims, char out[IDENTITY_SUBJECT_SIZE])
{
    const json_t *value = json_object_get(claims, "sub");
    const char *subject = json_string_value(value);
    size_t length = json_string_length(value);
    if (length < 1 || length >= IDENTITY_SUBJECT_SIZE)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)subject[i] < ' ' || subject[i] == 127)
            return false;
    memcpy(out, subject, length + 1);
    return true;
}

/* ---- roles */

/* The claim PATH: a member of that very name, or else a path with dots. */
static const json_t *find_claim(const json_t *claims, const char *path)
{
    const json_t *at = json_object_get(claims, path);
    char name[256];
    if (at || strlen(path) >= sizeof name)
        return at;
    for (at = claims; at; path++) {
        size_t size = strcspn(path, ".");
        memcpy(name, path, size);
        name[size] = '\0';
        at = json_object_get(at, name);
        path += size;
        if (*path == '\0')
            return at;
    }
    return NULL;
}

/* What the map says of the issuer's NAME; NULL: nothing. */
static const char *map_name(const struct identity_settings *settings, const char *name)
{
    for (unsigned i = 0; i < settings->role_map_count; i++) {
        const char *row = settings->role_map[i], *ours = strrchr(row, '=');
        size_t size = (size_t)(ours - row);
        if (strlen(name) == size && memcmp(row, name, size) == 0)
            return ours + 1;
    }
    return NULL;
}

/* Our role for the issuer's NAME; NULL for none. */
static const char *map_role(const struct identity_settings *settings, const char *name)
{
    const char *ours = settings->role_map_count > 0 ? map_name(settings, name) : name;
    for (const char *const *role = settings->role_names; ours && *role; role++)
        if (strcmp(*role, ours) == 0)
            return *role;
    return NULL;
}

/* The one role that the token gives; NULL: none, or several. */
static const char *read_role(const json_t *claims, const struct identity_settings *settings)
{
    const json_t *list = find_claim(claims, settings->roles_claim);
    const char *found = NULL;
    if (json_is_string(list))
        return map_role(settings, json_string_value(list));
    if (json_array_size(list) > ROLES_MOST)
        return NULL;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        const char *role = name ? map_role(settings, name) : NULL;
        if (role && found && role != found)
            return NULL;
        if (role)
            found = role;
    }
    return found;
}

enum identity_status claims_check(const json_t *claims, const struct identity_settings *settings,
                                  int64_t now_ms, struct identity_caller *out, const char **why)
{
    const char *issuer = json_string_value(json_object_get(claims, "iss"));
    *why = "The token is of another issuer.";
    if (!issuer || strcmp(issuer, settings->issuer) != 0)
        return IDENTITY_INVALID;
    *why = "The token is for another audience.";
    if (!holds_text(json_object_get(claims, "aud"), settings->audience))
        return IDENTITY_INVALID;
    if (!check_times(claims, now_ms, &out->ends_ms, why))
        return IDENTITY_INVALID;
    *why = "The token has no subject of 1 to 255 bytes.";
    if (!read_subject(claims, out->subject))
        return IDENTITY_INVALID;
    out->role = read_role(claims, settings);
    *why =
        "The token's claim of roles must name exactly one role of this service that the operator "
        "lets it give.";
    return out->role ? IDENTITY_GOOD : IDENTITY_NO_ROLE;
}
