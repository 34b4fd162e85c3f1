/* Running `tacet import`. */
#include "tests/http/import_run.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/experts_run.h"

const char import_arrays_description[] =
    "{\"row\":\"a step\",\"expert\":\"the player\",\"features\":["
    "{\"name\":\"x\",\"low\":-1,\"high\":1},"
    "{\"name\":\"level\",\"low\":0.01,\"high\":100,\"scale\":\"log\"},"
    "{\"name\":\"kind\",\"categories\":[\"a\",\"b\"]}],\"actions\":[\"l\",\"m\",\"r\"]}";

const char *const import_arrays_lines[] = {
    "{\"expert\":\"7\",\"states\":[[0,0,1,0],[0.5,1,0,1],[-0.5,-1,1,0],[1,2,0,1]],"
    "\"actions\":[0,1,2],\"rewards\":[0.5,-1,2],\"terminated\":true,\"truncated\":false}\n",
    "{\"expert\":\"7\",\"states\":[[1,2,0,1],[0.25,0,0,1]],\"actions\":[0],\"rewards\":[0],"
    "\"terminated\":false,\"truncated\":true}\n",
    "{\"expert\":\"8\",\"states\":[[0.25,0,0,1],[0.75,1,1,0],[-1,-2,1,0]],\"actions\":[1,2],"
    "\"rewards\":[0.25,1],\"terminated\":true,\"truncated\":false}\n",
    "{\"expert\":\"8\",\"states\":[[-1,-2,1,0],[0.125,0,1,0],[0,0,1,0]],\"actions\":[0,1],"
    "\"rewards\":[1,-2],\"terminated\":false,\"truncated\":true}\n",
    NULL};

void import_place_open(struct import_place *place)
{
    server_prepare(&place->process);
    place->folder = place->process.folder;
}

void import_place_close(struct import_place *place)
{
    server_remove(&place->process);
}

const char *import_path(const struct import_place *place, const char *name)
{
    return experts_path(&place->process, name);
}

void import_place_write(const struct import_place *place, const char *name, const char *text)
{
    FILE *file = fopen(import_path(place, name), "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

void import_place_arrays(const struct import_place *place, const char *kind)
{
    char command[300];
    snprintf(command, sizeof command, "/usr/bin/python3 tests/http/arrays.py %s %s", kind,
             place->folder);
    cr_assert_eq(system(command), 0, "%s", command);
}

void import_expect(const struct import_place *place, int code, const char *name, const char *path,
                   const char *const *flags, const char *const *says)
{
    char out[30000], file[200];
    const char *f[6] = {NULL};
    for (unsigned i = 0; i < 6 && flags[i]; i++)
        f[i] = flags[i];
    snprintf(file, sizeof file, "%s/%s", place->folder, name);
    int got = tacet_run(out, sizeof out, "import", file, "--description", path, f[0], f[1], f[2],
                        f[3], f[4], f[5], NULL);
    cr_expect_eq(got, code, "%s: exit code %d: %s", name, got, out);
    for (; *says; says++)
        cr_expect(strstr(out, *says), "%s: \"%s\" is not in: %s", name, *says, out);
}

void import_refuses_arrays(const struct import_place *place, const char *kind)
{
    const struct {
        const char *name, *says;
    } wrong[] = {
        {"vectors", "actions are vectors of 2 numbers, which is not supported"},
        {"fractions", "step 0, actions: must be the index of an action, from 0 to 2; for "
                      "continuous actions declare bins"},
        {"outside", "step 3, x: x is 2, above its highest value 1"},
        {"short", "rewards have 5 rows and observations 8"},
        {"empty", "the arrays have no rows"},
        {"narrow", "observations have 2 numbers in a row, and the description has 3 features"},
        {"no_rewards", "there is no array \"rewards\""},
        {"mark", "step 2, terminals: must be 0 or 1"},
        {"nan", "step 1, x: is missing"},
        {"endless", "there is no array \"timeouts\", so an episode that did not terminate would"},
        {"mixed", "step 1, who: changes within an episode"},
    };
    char name[64], path[200];
    snprintf(path, sizeof path, "%s/d.json", place->folder);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(name, sizeof name, "%s.%s", wrong[i].name, kind);
        import_expect(place, 1, name, path, (const char *[]){"--experts-by", "who", NULL},
                      (const char *[]){wrong[i].says, NULL});
    }
    snprintf(name, sizeof name, "one_expert.%s", kind);
    import_expect(place, 0, name, path, (const char *[]){"--experts-by", "who", "--dry-run", NULL},
                  (const char *[]){"warning: there is one expert", NULL});
    snprintf(name, sizeof name, "one_action.%s", kind);
    import_expect(place, 0, name, path, (const char *[]){"--experts-by", "who", "--dry-run", NULL},
                  (const char *[]){"warning: the action r is never taken", NULL});
    snprintf(name, sizeof name, "endless.%s", kind);
    import_expect(
        place, 0, name, path,
        (const char *[]){"--expert-per-episode", "--ends-by", "terminals", "--dry-run", NULL},
        (const char *[]){"episodes  3, 2 of them", NULL});
    import_expect(place, 1, name, path,
                  (const char *[]){"--expert-per-episode", "--ends-by", "dones", "--dry-run", NULL},
                  (const char *[]){"--ends-by: there is no array \"dones\"", NULL});
    snprintf(name, sizeof name, "terminations.%s", kind);
    import_expect(
        place, 0, name, path,
        (const char *[]){"--expert-per-episode", "--ends-by", "terminals", "--dry-run", NULL},
        (const char *[]){"episodes  3, 2 of them", NULL});
    snprintf(name, sizeof name, "both.%s", kind);
    import_expect(
        place, 0, name, path,
        (const char *[]){"--expert-per-episode", "--ends-by", "terminals", "--dry-run", NULL},
        (const char *[]){"episodes  4, 4 of them", NULL});
    snprintf(name, sizeof name, "ended.%s", kind);
    import_expect(place, 0, name, path,
                  (const char *[]){"--expert-per-episode", "--ends-by", "ends", "--dry-run", NULL},
                  (const char *[]){"episodes  4, 2 of them", NULL});
    snprintf(name, sizeof name, "good.%s", kind);
    import_expect(place, 1, name, path, (const char *[]){"--experts-by", "whose", NULL},
                  (const char *[]){"there is no array \"whose\"", NULL});
}

void import_sees_all_ends(const struct import_place *place, const char *kind)
{
    static const char *const cases[][2] = {
        {"good", "terminals"}, {"cut_off", "terminals"},   {"cut_off", "truncations"},
        {"cut_off", "ends"},   {"of_d3rlpy", "terminals"},
    };
    char name[64], path[200];
    snprintf(path, sizeof path, "%s/d.json", place->folder);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(name, sizeof name, "%s.%s", cases[i][0], kind);
        import_expect(place, 0, name, path,
                      (const char *[]){"--episodes-per-expert", "2", "--ends-by", cases[i][1],
                                       "--dry-run", NULL},
                      (const char *[]){"experts   2", "episodes  4, 2 of them", NULL});
    }
}
