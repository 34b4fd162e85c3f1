/* `tacet import` of HDF5: it becomes the program that reads it, whose answers are those for NPZ. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/import_run.h"

TestSuite(import_hdf5, .timeout = 600);

static void open_place(struct import_place *place)
{
    import_place_open(place);
    import_place_write(place, "d.json", import_arrays_description);
    import_place_arrays(place, "hdf5");
}

static const char *const by_who[] = {"--experts-by", "who", NULL};

Test(import_hdf5, both_forms_become_episodes)
{
    struct import_place place;
    open_place(&place);
    const char *d = import_path(&place, "d.json");
    const char *const files[] = {"good.hdf5", "small_types.hdf5", "names.hdf5", "minari.hdf5"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        import_expect(&place, 0, files[i], d, by_who, import_arrays_lines);
    import_expect(&place, 0, "minari.hdf5", d,
                  (const char *[]){"--episodes-per-expert", "3", "--dry-run", NULL},
                  (const char *[]){"HDF5, 8 rows", "experts   2", "episodes  4, 2 of them", NULL});
    import_expect(&place, 0, "large.hdf5", d, by_who,
                  (const char *[]){"\"expert\":\"9223372036854775808\"",
                                   "\"expert\":\"9223372036854775811\"", NULL});
    import_place_close(&place);
}

Test(import_hdf5, flat_arrays_that_do_not_fit_are_refused)
{
    struct import_place place;
    open_place(&place);
    import_refuses_arrays(&place, "hdf5");
    import_sees_all_ends(&place, "hdf5");
    const char *d = import_path(&place, "d.json");
    const struct {
        const char *file, *says;
    } wrong[] = {
        {"texts.hdf5", "the array rewards holds texts, not numbers"},
        {"nothing.hdf5", "neither an array \"observations\" nor a group \"episode_0\""},
        {"cut.hdf5", "the HDF5 file is damaged or cut short"},
        {"elsewhere.hdf5", "the array observations is a link to somewhere else"},
        {"outside_file.hdf5", "the array rewards is stored in another file"},
        {"flat.hdf5", "say by --last-state repeat"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        import_expect(&place, 1, wrong[i].file, d, by_who, (const char *[]){wrong[i].says, NULL});
    import_place_close(&place);
}

Test(import_hdf5, groups_that_do_not_fit_are_refused)
{
    struct import_place place;
    open_place(&place);
    const char *d = import_path(&place, "d.json");
    const struct {
        const char *file, *says;
    } wrong[] = {
        {"gap.hdf5", "step 0, episode_1: is missing or no group"},
        {"few.hdf5", "episode_1, observations: must have 2 rows, not 1"},
        {"vector.hdf5", "episode_1, actions: are vectors of 2 numbers"},
        {"long.hdf5", "episode_1, rewards: must have 1 rows, not 3"},
        {"lost.hdf5", "episode_1, truncations: is missing"},
        {"open.hdf5", "step 1, episode_1: is the last of an episode that is neither terminated"},
        {"minari_mark.hdf5", "step 0, episode_1, truncations: must be 0 or 1"},
        {"nobody.hdf5", "episode_1, who: is missing: the episode has no such attribute"},
        {"array.hdf5", "episode_1, who: must be one text or whole number"},
        {"wide.hdf5", "episode_1, who: must be one text or whole number"},
        {"groups.hdf5", "episode_1, observations: is a group of arrays"},
        {"link.hdf5", "episode_1, observations: is a link to somewhere else"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        import_expect(&place, 1, wrong[i].file, d, by_who,
                      (const char *[]){wrong[i].says, "1 fault; nothing was written", NULL});
    import_expect(&place, 1, "minari.hdf5", d, (const char *[]){NULL},
                  (const char *[]){"say whose the episodes are", NULL});
    import_expect(&place, 1, "minari.hdf5", d,
                  (const char *[]){"--expert-per-episode", "--last-state", "drop", NULL},
                  (const char *[]){"the episodes hold their last states", NULL});
    import_place_close(&place);
}

/* Where the other program is not beside it, it says how to get it. */
Test(import_hdf5, without_its_program_it_says_what_is_missing)
{
    struct import_place place;
    char command[600];
    open_place(&place);
    snprintf(command, sizeof command,
             "cp %s %s/tacet && %s/tacet import %s/good.hdf5 --description %s/d.json "
             "--expert-per-episode 2>&1 | grep -q 'make hdf5 builds it'",
             server_program(), place.folder, place.folder, place.folder, place.folder);
    cr_expect_eq(system(command), 0, "%s", command);
    import_place_close(&place);
}
