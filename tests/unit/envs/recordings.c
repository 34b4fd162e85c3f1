/* Reading them. */
#include "tests/unit/envs/recordings.h"

#include <criterion/criterion.h>
#include <stdio.h>

json_t *recordings_of(const char *world)
{
    char path[96];
    json_error_t error;
    snprintf(path, sizeof path, "tests/golden/environments/%s.json", world);
    json_t *root = json_load_file(path, 0, &error);
    cr_assert(root, "run from the repository's root: %s", error.text);
    json_t *cases = json_incref(json_object_get(root, "cases"));
    json_decref(root);
    cr_assert(json_is_array(cases));
    return cases;
}
