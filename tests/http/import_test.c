/* `tacet import` as people run it: a table and NumPy's arrays become trajectories, and whatever is
 * wrong is said before anything is written. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/http/desk.h"
#include "tests/http/experts_run.h"
#include "tests/http/import_run.h"

TestSuite(import, .timeout = 600);

/* ---- tables */

/* Runs COMMAND in a shell; it must succeed. */
static void run_shell(const char *command)
{
    cr_assert_eq(system(command), 0, "%s", command);
}

/* Two numbers agree to six digits. */
static void expect_near(const json_t *a, const json_t *b)
{
    double x = json_number_value(a), y = json_number_value(b);
    cr_assert(fabs(x - y) <= 1e-5 * fmax(1, fabs(x)), "%.9g and %.9g", x, y);
}

static void expect_same_line(const char *one, const char *two)
{
    json_t *a = json_loads(one, 0, NULL), *b = json_loads(two, 0, NULL);
    const json_t *row;
    size_t t, i;
    static const char *const same[] = {"expert", "actions", "terminated", "truncated"};
    cr_assert(a && b, "%s", two);
    for (i = 0; i < 4; i++)
        cr_assert(json_equal(json_object_get(a, same[i]), json_object_get(b, same[i])), "%s: %s",
                  same[i], two);
    const json_t *others = json_object_get(b, "states");
    cr_assert_eq(json_array_size(json_object_get(a, "states")), json_array_size(others));
    json_array_foreach(json_object_get(a, "states"), t, row)
    {
        for (i = 0; i < json_array_size(row); i++)
            expect_near(json_array_get(row, i), json_array_get(json_array_get(others, t), i));
    }
    for (t = 0; t < json_array_size(json_object_get(a, "rewards")); t++)
        expect_near(json_array_get(json_object_get(a, "rewards"), t),
                    json_array_get(json_object_get(b, "rewards"), t));
    json_decref(a);
    json_decref(b);
}

/* The table of WORLD's trajectories is imported as those trajectories. */
static void check_round_trip(const char *world)
{
    struct server_process place;
    char command[1000], out[4000];
    server_prepare(&place);
    snprintf(command, sizeof command,
             "%s experts --environment %s --experts 6 --trajectories 4 --output %s/made.ndjson && "
             "/usr/bin/python3 examples/table.py examples/%s.json < %s/made.ndjson > %s/table.csv "
             "&& gzip -k %s/table.csv",
             server_program(), world, place.folder, world, place.folder, place.folder,
             place.folder);
    run_shell(command);
    for (unsigned packed = 0; packed < 2; packed++) {
        char table[128], description[64], output[128];
        snprintf(table, sizeof table, "%s/table.csv%s", place.folder, packed ? ".gz" : "");
        snprintf(description, sizeof description, "examples/%s.json", world);
        snprintf(output, sizeof output, "%s/back%u.ndjson", place.folder, packed);
        int code = tacet_run(out, sizeof out, "import", table, "--description", description,
                             "--output", output, NULL);
        cr_assert_eq(code, 0, "%s", out);
        cr_expect_str_eq(out, "");
        FILE *made = fopen(experts_path(&place, "made.ndjson"), "r");
        FILE *back = fopen(output, "r");
        char *lines[2] = {NULL, NULL};
        size_t sizes[2] = {0, 0}, count = 0;
        cr_assert(made && back);
        while (getline(&lines[0], &sizes[0], made) > 0) {
            cr_assert(getline(&lines[1], &sizes[1], back) > 0, "the import is too short");
            expect_same_line(lines[0], lines[1]);
            count++;
        }
        cr_expect_eq(count, 24);
        cr_expect(getline(&lines[1], &sizes[1], back) < 0, "the import is too long");
        free(lines[0]);
        free(lines[1]);
        fclose(made);
        fclose(back);
    }
    server_remove(&place);
}

Test(import, the_table_of_the_ward_is_its_trajectories)
{
    check_round_trip("ward");
}

Test(import, the_table_of_the_fund_is_its_trajectories)
{
    check_round_trip("fund");
}

#define HEADER                                                                                     \
    "clinician,stay,hour,age,heart_rate,pressure,lactate,oxygen,diabetes,treatment,reward,ended\n"
#define ROWS                                                                                       \
    "a,1,0,50,99,60,5,95,no,fluids,-0.1,0\n"                                                       \
    "a,1,1,50,98,61,4,95,no,none,0,0\n"                                                            \
    "a,1,2,50,97,62,3,95,no,,,1\n"

Test(import, a_dry_run_says_what_it_understood)
{
    struct import_place place;
    import_place_open(&place);
    import_place_write(&place, "good.csv", HEADER ROWS);
    import_expect(&place, 0, "good.csv", "examples/ward.json", (const char *[]){"--dry-run", NULL},
                  (const char *[]){"CSV, 3 rows", "experts   1 (the clinician", "episodes  1, 1 of",
                                   "ignored   age", "97 to 99", "no 3, yes 0",
                                   "warning: there is one expert",
                                   "warning: the action both is never taken",
                                   "warning: diabetes has one value", "Nothing is wrong", NULL});
    import_place_close(&place);
}

/* ROWS of EXPERTS clinicians. */
static void write_experts(const struct import_place *place, const char *name, int experts)
{
    char text[20000] = HEADER;
    size_t at = strlen(text);
    for (int e = 0; e < experts; e++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "c%d,%d,0,50,99,60,5,95,no,fluids,-0.1,0\n"
                               "c%d,%d,1,50,98,61,4,95,no,,,1\n",
                               e, e, e, e);
    import_place_write(place, name, text);
}

/* What a dry run, which needs neither server nor token, says of 40 experts with a DELTA and NOMINAL
 * experts. */
static void dry_run_forty(const struct import_place *place, const char *delta, const char *nominal,
                          char out[4000])
{
    unsetenv("TACET_TOKEN");
    int code = tacet_run(out, 4000, "import", import_path(place, "forty.csv"), "--description",
                         "examples/ward.json", "--dry-run", "--upload", "http://127.0.0.1:1",
                         "--epsilon", "3", "--max-steps", "48", "--discount", "0.95", "--delta",
                         delta, "--nominal-experts", nominal, NULL);
    cr_assert_eq(code, 0, "%s", out);
}

Test(import, a_large_delta_and_other_nominal_experts_are_told)
{
    struct import_place place;
    char out[4000];
    import_place_open(&place);
    write_experts(&place, "forty.csv", 40);
    dry_run_forty(&place, "1e-6", "80", out);
    cr_expect_null(strstr(out, "delta"), "%s", out);
    cr_expect_null(strstr(out, "nominal_experts"), "%s", out);
    dry_run_forty(&place, "0.025", "20", out);
    cr_expect_not_null(strstr(out, "warning: delta 0.025 is not below 1/40, and the file has 40"),
                       "%s", out);
    cr_expect_null(strstr(out, "nominal_experts"), "%s", out);
    dry_run_forty(&place, "1e-6", "400", out);
    cr_expect_not_null(strstr(out, "nominal_experts is 400, but the file has 40 experts"), "%s",
                       out);
    dry_run_forty(&place, "1e-6", "19", out);
    cr_expect_not_null(strstr(out, "nominal_experts is 19, but the file has 40 experts"), "%s",
                       out);
    import_place_close(&place);
}

/* One fault of another kind is not lost among many that are alike. */
Test(import, faults_of_one_kind_are_summed_up)
{
    struct import_place place;
    char text[20000] = HEADER;
    size_t at = strlen(text);
    import_place_open(&place);
    for (int hour = 0; hour < 150; hour++)
        at += (size_t)snprintf(text + at, sizeof text - at, "a,1,%d,50,99,60,,95,no,none,0,0\n",
                               hour);
    snprintf(text + at, sizeof text - at, "a,1,150,50,999,61,4,95,no,none,0,0\n");
    import_place_write(&place, "missing.csv", text);
    import_expect(
        &place, 1, "missing.csv", "examples/ward.json", (const char *[]){"--dry-run", NULL},
        (const char *[]){"line 6, lactate: is missing", "145 more lines, lactate: is missing",
                         "line 152, heart_rate: heart_rate is 999, above", NULL});
    import_place_close(&place);
}

Test(import, rewards_that_are_all_alike_are_told)
{
    struct import_place place;
    import_place_open(&place);
    import_place_write(&place, "alike.csv",
                       HEADER "a,1,0,50,99,60,5,95,no,fluids,2,0\n"
                              "a,1,1,50,98,61,4,95,no,none,2,0\na,1,2,50,97,62,3,95,no,,,1\n");
    import_expect(&place, 0, "alike.csv", "examples/ward.json", (const char *[]){"--dry-run", NULL},
                  (const char *[]){"rewards from 2 to 2",
                                   "warning: all rewards are alike: only behaviour_cloning can "
                                   "learn from them",
                                   NULL});
    import_place_close(&place);
}

/* Behind a row whose episode goes on, and within a row. */
Test(import, a_table_that_is_cut_short_is_refused)
{
    static const char *const cuts[][2] = {
        {"a,1,1,50,98,61,4,95,no,none,0,0\n", "line 3: is the last of its episode"},
        {"a,1,1,50,98,61,4,95,no,none,0,0\na,1,2,50,97,6",
         "line 4: has 6 cells, and the header has 12: is it cut short"},
    };
    struct import_place place;
    import_place_open(&place);
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, HEADER "a,1,0,50,99,60,5,95,no,fluids,-0.1,0\n%s", cuts[i][0]);
        import_place_write(&place, "cut.csv", text);
        import_expect(&place, 1, "cut.csv", "examples/ward.json", (const char *[]){NULL},
                      (const char *[]){cuts[i][1], "nothing was written or sent", NULL});
    }
    import_place_close(&place);
}

/* The block of PAGE that begins with FENCE below HEADING: malloc'ed, without its last line feed. */
static char *find_block(const char *page, const char *heading, const char *fence)
{
    const char *begin = strstr(page, heading);
    const char *block = begin ? strstr(begin, fence) : NULL;
    cr_assert(block, "%s: %s", heading, fence);
    block += strlen(fence);
    return strndup(block, (size_t)(strstr(block, "\n```") - block));
}

/* The example of the documentation is what the documentation says. */
Test(import, the_documented_table_is_understood)
{
    struct import_place place;
    size_t size = 0;
    char text[4000], *page = read_whole("docs/own-data.md", &size);
    cr_assert(page);
    char *rows = find_block(page, "\n## From a table", "```csv\n");
    char *features = find_block(page, "\n## Describe the features", "```json\n");
    char *table = find_block(page, "\n## From a table", "```json\n");
    import_place_open(&place);
    import_place_write(&place, "patients.csv", rows);
    *strrchr(features, '}') = '\0';
    snprintf(text, sizeof text, "%s,%s}", features, table);
    import_place_write(&place, "d.json", text);
    import_expect(&place, 0, "patients.csv", import_path(&place, "d.json"), (const char *[]){NULL},
                  (const char *[]){"{\"expert\":\"c3\",\"states\":[[118,0.612783849,1,0],[104,"
                                   "0.477121264,1,0],[92,0.477121264,1,0],[90,0.255272508,1,0]],"
                                   "\"actions\":[1,0,0],\"rewards\":[0,0,1],\"terminated\":true,"
                                   "\"truncated\":false}\n",
                                   NULL});
    free(rows);
    free(features);
    free(table);
    free(page);
    import_place_close(&place);
}

/* The documented program marks the last row of each stay, also of two stays with one number. */
Test(import, the_documented_ends_are_those_of_each_stay)
{
    struct import_place place;
    size_t size = 0;
    char command[300], *page = read_whole("docs/own-data.md", &size);
    cr_assert(page);
    char *program = find_block(page, "\n**The column of `terminated` is required**", "```sh\n");
    import_place_open(&place);
    import_place_write(&place, "ends.sh", program);
    import_place_write(&place, "stays.csv",
                       "clinician,stay,hour\nc1,1,0\nc1,1,1\nc2,1,0\nc2,1,1\nc2,2,0\n");
    snprintf(command, sizeof command, "cd %s && sh ends.sh", place.folder);
    run_shell(command);
    char *rows = read_whole(import_path(&place, "patients.csv"), &size);
    cr_expect_str_eq(rows, "clinician,stay,hour,discharged\r\nc1,1,0,0\r\nc1,1,1,1\r\n"
                           "c2,1,0,0\r\nc2,1,1,1\r\nc2,2,0,1\r\n");
    free(rows);
    free(program);
    free(page);
    import_place_close(&place);
}

Test(import, a_fault_stops_everything_before_it_is_written)
{
    struct import_place place;
    char output[160];
    struct stat facts;
    import_place_open(&place);
    import_place_write(&place, "bad.csv",
                       HEADER ROWS "b,2,0,50,300,60,5,95,maybe,fluids,-0.1,0\n"
                                   "b,2,1,50,97,62,3,95,no,,,1\n");
    snprintf(output, sizeof output, "%s/out.ndjson", place.folder);
    import_expect(&place, 1, "bad.csv", "examples/ward.json",
                  (const char *[]){"--output", output, NULL},
                  (const char *[]){"line 5, heart_rate: heart_rate is 300, above its highest",
                                   "line 5, diabetes: is none of the feature's categories",
                                   "2 faults; nothing was written or sent", NULL});
    cr_expect_neq(stat(output, &facts), 0, "something was written");
    import_expect(
        &place, 1, "bad.csv", "examples/ward.json", (const char *[]){"--dry-run", NULL},
        (const char *[]){"line 5, heart_rate", "2 faults: all of the file would be refused", NULL});
    import_place_close(&place);
}

/* Writes examples/ward.json as PATH, with NOW in place of WAS. The caller frees the text. */
static char *write_other_ward(const char *path, const char *was, const char *now)
{
    json_error_t error;
    json_t *ward = json_load_file("examples/ward.json", 0, &error);
    char *text = json_dumps(ward, JSON_COMPACT), *at = text ? strstr(text, was) : NULL;
    FILE *file = fopen(path, "w");
    cr_assert(at && file, "%s", was);
    fprintf(file, "%.*s%s%s", (int)(at - text), text, now, at + strlen(was));
    cr_assert_eq(fclose(file), 0);
    json_decref(ward);
    return text;
}

/* The path of NAME beside PLACE's files has TEXT; NULL: it is not there. */
static void expect_file(const struct import_place *place, const char *name, const char *text)
{
    size_t size = 0;
    char *whole = read_whole(import_path(place, name), &size);
    cr_expect_eq(whole != NULL, text != NULL, "%s", name);
    if (whole && text)
        cr_expect_str_eq(whole, text);
    free(whole);
}

Test(import, an_output_does_not_destroy_what_is_read)
{
    static const char *const outputs[] = {"in.csv", "./in.csv", "link.csv", "in", "d.json"};
    struct import_place place;
    char output[160], command[400];
    import_place_open(&place);
    free(write_other_ward(import_path(&place, "d.json"), "one hour of", "an hour of"));
    size_t size = 0;
    char *description = read_whole(import_path(&place, "d.json"), &size);
    import_place_write(&place, "in.csv", HEADER ROWS);
    import_place_write(&place, "in.new", HEADER ROWS);
    snprintf(command, sizeof command, "ln %s/in.csv %s/link.csv", place.folder, place.folder);
    run_shell(command);
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        snprintf(output, sizeof output, "%s/%s", place.folder, outputs[i]);
        bool beside = strcmp(outputs[i], "in") == 0; /* whose in.new is somebody's */
        import_expect(&place, 1, "in.csv", import_path(&place, "d.json"),
                      (const char *[]){"--output", output, NULL},
                      (const char *[]){beside
                                           ? "which already exists"
                                           : "--output would be written over a file that is read",
                                       NULL});
        expect_file(&place, "in.csv", HEADER ROWS);
        expect_file(&place, "in.new", HEADER ROWS);
        expect_file(&place, "d.json", description);
    }
    free(description);
    import_place_close(&place);
}

/* A disk that is full, here as a limit of the shell, comes when half is written. */
Test(import, an_output_that_cannot_be_written_leaves_the_earlier_one)
{
    struct import_place place;
    char output[160], command[1000], text[60000] = HEADER;
    struct stat facts;
    size_t at = strlen(text);
    import_place_open(&place);
    for (int stay = 0; stay < 500; stay++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "a,%d,0,50,99,60,5,95,no,fluids,-0.1,0\n"
                               "a,%d,1,50,97,62,3,95,no,,,1\n",
                               stay, stay);
    import_place_write(&place, "good.csv", text);
    import_place_write(&place, "out.ndjson", "an earlier one\n");
    snprintf(output, sizeof output, "%s/out.ndjson", place.folder);
    cr_assert_eq(chmod(output, 0600), 0);
    snprintf(command, sizeof command,
             "trap '' XFSZ; ulimit -f 4; ! %s import %s/good.csv --description examples/ward.json "
             "--output %s 2> "
             "%s/said && grep -q 'cannot write' %s/said",
             server_program(), place.folder, output, place.folder, place.folder);
    run_shell(command);
    expect_file(&place, "out.ndjson", "an earlier one\n");
    expect_file(&place, "out.ndjson.new", NULL);
    import_expect(&place, 0, "good.csv", "examples/ward.json",
                  (const char *[]){"--output", output, NULL}, (const char *[]){NULL});
    cr_assert(stat(output, &facts) == 0 && facts.st_size > 4 * 1024);
    cr_expect_eq(facts.st_mode & 0777, 0600, "it is not more open than the earlier one");
    expect_file(&place, "out.ndjson.new", NULL);
    import_place_close(&place);
}

Test(import, files_that_cannot_be_read_are_told_apart)
{
    struct import_place place;
    import_place_open(&place);
    const char *const none[] = {NULL};
    import_place_write(&place, "empty.csv", "");
    import_place_write(&place, "header.csv", HEADER);
    import_place_write(&place, "cut.csv.gz", "\x1F\x8B\x08");
    import_place_write(&place, "bare.json",
                       "{\"row\":\"a\",\"expert\":\"b\",\"features\":[{\"name\":\"x\",\"low\":0,"
                       "\"high\":1}],\"actions\":[\"a\",\"b\"]}");
    import_place_write(&place, "wrong.json", "{\"row\":\"a\"}");
    const char *ward = "examples/ward.json";
    import_expect(&place, 1, "nothing.csv", ward, none,
                  (const char *[]){"cannot read", "No such file", NULL});
    import_expect(&place, 1, ".", ward, none, (const char *[]){"is no file on a disk", NULL});
    import_expect(&place, 1, "empty.csv", ward, none,
                  (const char *[]){"line 1: is missing: a table begins with", NULL});
    import_expect(&place, 1, "header.csv", ward, none,
                  (const char *[]){"there is no episode in it", NULL});
    import_expect(&place, 1, "cut.csv.gz", ward, none,
                  (const char *[]){"damaged or cut short", NULL});
    import_expect(&place, 1, "header.csv", import_path(&place, "bare.json"), none,
                  (const char *[]){"the description has no \"table\"", NULL});
    import_expect(&place, 1, "header.csv", import_path(&place, "wrong.json"), none,
                  (const char *[]){"/expert is required", NULL});
    import_expect(&place, 1, "header.csv", ward, (const char *[]){"--experts-by", "who", NULL},
                  (const char *[]){"a table has a column for the expert", NULL});
    import_expect(&place, 1, "header.csv", ward, (const char *[]){"--last-state", "drop", NULL},
                  (const char *[]){"leave out --last-state", NULL});
    import_place_close(&place);
}

Test(import, flags_that_make_no_sense_together_are_refused)
{
    struct import_place place;
    import_place_open(&place);
    const char *ward = "examples/ward.json";
    const struct {
        const char *flags[8], *says;
    } wrong[] = {
        {{"--dry-run", "--output", "x", NULL}, "--output does nothing with --dry-run"},
        {{"--seal", NULL}, "--seal goes with --upload"},
        {{"--discount", "0.9", NULL}, "--discount is of a new dataset"},
        {{"--dry-run", "--discount", "0.9", NULL}, "--discount is of a new dataset"},
        {{"--nominal-experts", "9", NULL}, "--nominal-experts is of a new dataset"},
        {{"--dry-run", "--epsilon", "1", "--delta", "0.1", NULL}, "--epsilon goes with --upload"},
        {{"--delta", "0.1", NULL}, "--delta goes with --upload"},
        {{"--upload", "http://127.0.0.1:1", NULL}, "give --epsilon"},
        {{"--upload", "http://127.0.0.1:1", "--epsilon", "1", NULL}, "--discount is required"},
        {{"--upload", "http://127.0.0.1:1", "--epsilon", "1", "--discount", "0.9", NULL},
         "--max-steps is required"},
        {{"--upload", "http://127.0.0.1:1", "--dataset", "ds_1", "--name", "x", NULL},
         "--name is of a new dataset"},
        {{"--upload", "http://127.0.0.1:1", "--dataset", "ds_1", "--output", "x", NULL},
         "--output and --upload do not go together"},
        {{"--experts-by", "a", "--expert-per-episode", NULL}, "do not go together"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        import_expect(&place, 2, "x.csv", ward, wrong[i].flags,
                      (const char *[]){wrong[i].says, NULL});
    import_place_close(&place);
}

/* ---- arrays */

Test(import, arrays_of_numpy_become_episodes)
{
    struct import_place place;
    import_place_open(&place);
    import_place_write(&place, "d.json", import_arrays_description);
    import_place_arrays(&place, "npz");
    const char *d = import_path(&place, "d.json");
    const char *const by_who[] = {"--experts-by", "who", NULL};
    import_expect(&place, 0, "good.npz", d, by_who, import_arrays_lines);
    import_expect(&place, 0, "small_types.npz", d, by_who, import_arrays_lines);
    import_expect(&place, 0, "good.npz", d, (const char *[]){"--episodes-per-expert", "3", NULL},
                  (const char *[]){"\"e000000\"", "\"e000001\"", NULL});
    import_place_close(&place);
}

/* Two files whose experts are named by their place have the same names. */
Test(import, says_that_names_by_place_meet_in_one_dataset)
{
    struct import_place place;
    char out[4000];
    import_place_open(&place);
    import_place_write(&place, "d.json", import_arrays_description);
    import_place_arrays(&place, "npz");
    setenv("TACET_TOKEN", "tacet_nobody", 1);
    const char *const whose[][2] = {
        {"--expert-per-episode", NULL}, {"--episodes-per-expert", "3"}, {"--experts-by", "who"}};
    for (size_t i = 0; i < 3; i++) {
        int code =
            tacet_run(out, sizeof out, "import", import_path(&place, "good.npz"), "--description",
                      import_path(&place, "d.json"), "--upload", "http://127.0.0.1:1",
                      "--retry-for", "0", "--dataset", "ds_1", whose[i][0], whose[i][1], NULL);
        cr_expect_eq(code, 1, "nobody listens: %s", out);
        cr_expect_eq(strstr(out, "experts are named by their place in the file") != NULL, i < 2,
                     "%s: %s", whose[i][0], out);
    }
    int code = tacet_run(out, sizeof out, "import", import_path(&place, "good.npz"),
                         "--description", import_path(&place, "d.json"), "--output", "/dev/null",
                         "--expert-per-episode", NULL);
    cr_expect(code == 0 && !strstr(out, "named by their place"), "%s", out);
    import_place_close(&place);
}

Test(import, flat_arrays_need_a_rule_for_their_last_states)
{
    struct import_place place;
    import_place_open(&place);
    import_place_write(&place, "d.json", import_arrays_description);
    import_place_arrays(&place, "npz");
    const char *d = import_path(&place, "d.json");
    import_expect(&place, 1, "flat.npz", d, (const char *[]){"--expert-per-episode", NULL},
                  (const char *[]){"say by --last-state repeat, drop or repeat_or_drop", NULL});
    import_expect(&place, 1, "flat.npz", d,
                  (const char *[]){"--expert-per-episode", "--last-state", "own_row", NULL},
                  (const char *[]){"say by --last-state", NULL});
    import_expect(&place, 1, "good.npz", d,
                  (const char *[]){"--expert-per-episode", "--last-state", "drop", NULL},
                  (const char *[]){"next_observations hold the last states", NULL});
    import_expect(&place, 1, "flat.npz", d,
                  (const char *[]){"--experts-by", "who", "--last-state", "repeat", NULL},
                  (const char *[]){"step 3: is the last of an episode that has not terminated",
                                   "step 7: is the last", "2 faults", NULL});
    import_expect(&place, 1, "flat.npz", d,
                  (const char *[]){"--experts-by", "who", "--last-state", "repeat_or_drop", NULL},
                  (const char *[]){"step 3: is the only one of its episode", "1 fault;", NULL});
    import_expect(&place, 1, "flat.npz", d, (const char *[]){"--last-state", "drop", NULL},
                  (const char *[]){"say whose the episodes are", NULL});
    import_place_close(&place);
}

Test(import, arrays_that_do_not_fit_are_refused)
{
    struct import_place place;
    import_place_open(&place);
    import_place_write(&place, "d.json", import_arrays_description);
    import_place_arrays(&place, "npz");
    import_refuses_arrays(&place, "npz");
    import_sees_all_ends(&place, "npz");
    const struct {
        const char *file, *says;
    } wrong[] = {
        {"fortran.npz", "the array observations is in Fortran's order"},
        {"swapped.npz", "the array observations has the bytes of its numbers in the other order"},
        {"pickled.npz", "the array rewards holds pickled objects, which are not read"},
        {"complex.npz", "the array rewards is of a type that is not read"},
        {"texts.npz", "the array rewards holds texts, not numbers"},
        {"sheet.npz", "if it is a spreadsheet, save that as CSV"},
        {"cut.npz", "the ZIP file is damaged or cut short"},
        {"damaged.npz", "the array observations is damaged"},
        {"liar.npz", "the array observations has not as many bytes as its shape says"},
        {"bomb.npz", "the array rewards says that it decodes to over 1000 times its size"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        import_expect(
            &place, 1, wrong[i].file, import_path(&place, "d.json"),
            (const char *[]){"--experts-by", "who", "--output", "/dev/null",
                             strcmp(wrong[i].file, "damaged.npz") == 0 ? "--last-state" : NULL,
                             "drop", NULL},
            (const char *[]){wrong[i].says, NULL});
    import_place_close(&place);
}

/* ---- uploads */

#define MANY_FLAGS "--epsilon", "3", "--delta", "1e-6", "--max-steps", "48", "--discount", "0.95"

Test(import, a_table_arrives_once_and_is_sealed)
{
    struct server_process server;
    char token[160], table[128], out[4000], says[200];
    server_open(&server, NULL);
    server_token(&server, "steward", token);
    setenv("TACET_TOKEN", token, 1);
    snprintf(table, sizeof table, "%s/ward.csv", server.folder);
    FILE *file = fopen(table, "w");
    cr_assert(file && fputs(HEADER ROWS "b,2,0,50,99,60,5,95,yes,both,-0.1,0\n"
                                        "b,2,1,50,97,62,3,95,yes,,,0\n",
                            file) >= 0);
    fclose(file);
    int code = tacet_run(out, sizeof out, "import", table, "--description", "examples/ward.json",
                         "--upload", server.base, "--name", "the \"ward\"", "--nominal-experts",
                         "60", "--seal", MANY_FLAGS, NULL);
    cr_expect_eq(code, 0, "%s", out);
    cr_expect(strstr(out, " is sealed\n"), "%s", out);
    cr_expect(strstr(out, "nominal_experts is 60, but the file has 2 experts"), "%s", out);
    cr_expect_null(strstr(out, token));

    struct http_client *client = http_client_new(&server);
    struct http_call list = {.method = "GET", .path = "/v1/datasets", .token = token};
    struct http_answer answer = http_expect(client, 200, &list);
    const json_t *items = json_object_get(answer.json, "items"), *one = json_array_get(items, 0);
    cr_assert_eq(json_array_size(items), 1);
    cr_expect_str_eq(json_string_value(json_object_get(one, "name")), "the \"ward\"");
    cr_expect_str_eq(json_string_value(json_object_get(one, "state")), "sealed");
    cr_expect_eq(json_integer_value(json_object_get(one, "trajectories")), 2);
    cr_expect_eq(json_integer_value(json_object_get(one, "transitions")), 3);
    cr_expect_eq(json_integer_value(json_object_get(one, "experts")), 2);
    cr_expect_eq(json_integer_value(json_object_get(one, "state_dim")), 6);
    cr_expect_eq(json_integer_value(json_object_get(one, "max_episode_steps")), 48);
    cr_expect_eq(json_integer_value(json_object_get(one, "nominal_experts")), 60);
    http_answer_clear(&answer);
    http_client_free(client);

    /* The same command finds that all of it is there. Without --seal it would add to what is
     * sealed. */
    code = tacet_run(out, sizeof out, "import", table, "--description", "examples/ward.json",
                     "--upload", server.base, "--name", "the \"ward\"", "--nominal-experts", "60",
                     "--seal", MANY_FLAGS, NULL);
    cr_expect_eq(code, 0, "%s", out);
    cr_expect(strstr(out, "of 1 parts the server had 1"), "%s", out);
    code = tacet_run(out, sizeof out, "import", table, "--description", "examples/ward.json",
                     "--upload", server.base, "--name", "the \"ward\"", "--nominal-experts", "60",
                     MANY_FLAGS, NULL);
    cr_expect_eq(code, 1, "%s", out);
    snprintf(says, sizeof says, "made by an earlier run of this command, is sealed");
    cr_expect(strstr(out, says), "%s", out);
    cr_expect(strstr(out, "get a second budget, and what is spent of both adds up"), "%s", out);

    /* A file that was changed is refused. */
    file = fopen(table, "a");
    cr_assert(file && fputs("c,3,0,50,99,60,5,95,yes,both,-0.1,0\nc,3,1,50,97,62,3,95,yes,,,0\n",
                            file) >= 0);
    fclose(file);
    code = tacet_run(out, sizeof out, "import", table, "--description", "examples/ward.json",
                     "--upload", server.base, "--name", "the \"ward\"", "--nominal-experts", "60",
                     "--seal", MANY_FLAGS, NULL);
    cr_expect_eq(code, 1, "%s", out);
    cr_expect(strstr(out, "already has a dataset of this name, ds_"), "%s", out);
    cr_expect(strstr(out, "It was made from another file, with other flags"), "%s", out);
    cr_expect_null(strstr(out, "--accept-erased"), "%s", out);
    server_close(&server);
}

static int import_again(const struct desk *desk, const char *table, const char *id,
                        const char *flag, char out[4000])
{
    return tacet_run(out, 4000, "import", table, "--description", "examples/ward.json", "--upload",
                     desk->server->base, "--dataset", id, flag, NULL);
}

static void expect_trajectories(struct desk *desk, const char *path, json_int_t count)
{
    struct http_answer seen = desk_get(desk, path);
    cr_expect_eq(json_integer_value(json_object_get(seen.json, "trajectories")), count, "%s",
                 seen.body);
    http_answer_clear(&seen);
}

/* A table that still has somebody who was erased is refused, unless it is meant; then it is added
 * once, too. */
static void check_erased(struct desk *desk, const char *table, const char *path)
{
    const char *id = strrchr(path, '/') + 1;
    char out[4000], expert[128];
    snprintf(expert, sizeof expert, "%s/experts/a", path);
    struct http_answer gone = http_expect(
        desk->client, 200,
        &(struct http_call){.method = "DELETE", .path = expert, .token = desk->steward});
    http_answer_clear(&gone);
    cr_expect_eq(import_again(desk, table, id, NULL, out), 0, "%s", out);
    cr_expect(strstr(out, "of 1 parts the server had 1 from an earlier run"), "%s", out);
    cr_expect(strstr(out, "Experts that were erased since then stay erased"), "%s", out);
    expect_trajectories(desk, path, 3);
    FILE *file = fopen(table, "a");
    cr_assert(file && fputs("c,3,0,50,99,60,5,95,yes,both,-0.1,0\nc,3,1,50,97,62,3,95,yes,,,0\n",
                            file) >= 0);
    fclose(file);
    cr_expect_eq(import_again(desk, table, id, NULL, out), 1, "%s", out);
    cr_expect(strstr(out, "\"a\" was erased from this dataset"), "%s", out);
    cr_expect(strstr(out, "--accept-erased does that"), "%s", out);
    expect_trajectories(desk, path, 3);
    for (unsigned run = 0; run < 2; run++) {
        cr_expect_eq(import_again(desk, table, id, "--accept-erased", out), 0, "%s", out);
        const char *says =
            run == 0 ? "1 of 1 parts have experts that were erased" : "the server had 1";
        cr_expect(strstr(out, says), "%s", out);
        expect_trajectories(desk, path, 6);
    }
}

/* Imports TABLE by WHERE and its value, which a new dataset has as its name, too: it says WHAT. */
static void expect_import(const struct server_process *server, const char *table, const char *where,
                          const char *value, const char *what)
{
    char out[4000];
    const char *more = strcmp(where, "--epsilon") == 0 ? "--discount" : NULL; /* of a new dataset */
    int code = tacet_run(out, sizeof out, "import", table, "--description", "examples/ward.json",
                         "--upload", server->base, where, value, more, "0.9", "--max-steps", "2",
                         "--name", value, NULL);
    cr_expect_eq(code, 0, "%s", out);
    cr_expect(strstr(out, what), "%s", out);
    size_t size = strlen(out); /* of a line "ds_..." with 20 further characters */
    cr_expect(size > 25 && strncmp(out + size - 25, "\nds_", 4) == 0, "%s", out);
}

/* Under keys that name no time, and which a server refuses that was restored. */
Test(import, after_a_restore_a_table_arrives_once)
{
    struct server_process server;
    struct desk desk;
    char table[128], marks[128], out[4000], path[200] = "/v1/datasets/";
    server_prepare(&server);
    snprintf(marks, sizeof marks, "%s/marks", server.folder);
    snprintf(table, sizeof table, "%s/ward.csv", server.folder);
    cr_assert_eq(mkdir(marks, 0700), 0);
    server.flags[0] = "--marks";
    server.flags[1] = marks;
    server_start(&server);
    desk_open(&desk, &server);
    setenv("TACET_TOKEN", desk.steward, 1);
    FILE *file = fopen(table, "w");
    cr_assert(file && fputs(HEADER ROWS, file) >= 0 && fclose(file) == 0);
    expect_import(&server, table, "--epsilon", "1", "uploading to dataset");
    server_end(&server, SIGTERM);
    int code = tacet_run(out, sizeof out, "restore", "--data", server.data, "--marks", marks, NULL);
    cr_assert_eq(code, 0, "%s", out);
    cr_expect_not_null(strstr(out, "UUID version 7; a date works from tomorrow, UTC"), "%s", out);
    server_start(&server);
    http_client_free(desk.client);
    desk.client = http_client_new(&server);
    expect_import(&server, table, "--epsilon", "1", "an earlier run of this command has made");
    expect_import(&server, table, "--epsilon", "2", "uploading to dataset");
    expect_import(&server, table, "--epsilon", "2", "an earlier run of this command has made");
    struct http_answer made = desk_post(
        &desk, 201, "/v1/datasets",
        "{\"name\":\"w\",\"environment\":\"ward\",\"budget\":{\"epsilon\":1,\"delta\":1e-5}}",
        NULL);
    strcat(path, http_text(&made, "id"));
    http_answer_clear(&made);
    expect_import(&server, table, "--dataset", strrchr(path, '/') + 1, "uploading to dataset");
    expect_import(&server, table, "--dataset", strrchr(path, '/') + 1, "uploading to dataset");
    expect_trajectories(&desk, path, 1);
    desk_close(&desk);
    server_close(&server);
}

/* Actions in another order would be stored as other actions, silently. */
Test(import, a_description_that_is_not_the_datasets_sends_nothing)
{
    static const char *const others[][3] = {
        {"\"none\",\"fluids\"", "\"fluids\",\"none\"",
         "number 0 of the actions is \"fluids\", not \"none\""},
        {"\"both\"]", "\"both\",\"more\"]", "the number of the actions is 5, not 4"},
        {"\"heart_rate\",\"unit\":\"1/"
         "min\",\"low\":30,\"high\":220,\"scale\":\"linear\"},{\"name\":\"pressure\"",
         "\"pressure\",\"unit\":\"1/"
         "min\",\"low\":30,\"high\":220,\"scale\":\"linear\"},{\"name\":\"heart_rate\"",
         "feature 0 is \"pressure\", not \"heart_rate\""},
        {"\"mmHg\"", "\"kPa\"", "the unit of pressure is \"kPa\", not \"mmHg\""},
        {"\"low\":60", "\"low\":50", "the lowest value of oxygen is 50, not 60"},
        {"\"high\":20,", "\"high\":25,", "the highest value of lactate is 25, not 20"},
        {"\"log\"", "\"linear\"", "the scale of lactate is \"linear\", not \"log\""},
        {"\"no\",\"yes\"", "\"yes\",\"no\"",
         "number 0 of categories of diabetes is \"yes\", not \"no\""},
        {"\"refuse\",\"actions", "\"clip\",\"actions",
         "the rule of values outside is \"clip\", not \"refuse\""},
        {"the clinician,", "the ward,", "the expert is \"the ward,"},
    };
    struct server_process server;
    struct desk desk;
    char table[128], other[128], body[4000], path[100], out[4000];
    server_open(&server, NULL);
    desk_open(&desk, &server);
    setenv("TACET_TOKEN", desk.steward, 1);
    snprintf(table, sizeof table, "%s/ward.csv", server.folder);
    snprintf(other, sizeof other, "%s/other.json", server.folder);
    FILE *file = fopen(table, "w");
    cr_assert(file && fputs(HEADER ROWS, file) >= 0 && fclose(file) == 0);
    char *ward = write_other_ward(other, "one hour of", "an hour of");
    snprintf(body, sizeof body,
             "{\"name\":\"w\",\"max_episode_steps\":48,\"discount\":0.9,"
             "\"budget\":{\"epsilon\":1,\"delta\":1e-5},\"description\":%s}",
             ward);
    free(ward);
    struct http_answer made = desk_post(&desk, 201, "/v1/datasets", body, NULL);
    snprintf(path, sizeof path, "/v1/datasets/%s", http_text(&made, "id"));
    http_answer_clear(&made);
    const char *id = strrchr(path, '/') + 1;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        free(write_other_ward(other, others[i][0], others[i][1]));
        int code = tacet_run(out, sizeof out, "import", table, "--description", other, "--upload",
                             server.base, "--dataset", id, NULL);
        cr_expect(code == 1 && strstr(out, others[i][2]), "%s: %s", others[i][1], out);
    }
    expect_trajectories(&desk, path, 0);
    /* What a row is called is each contributor's own. */
    free(write_other_ward(other, "one hour of", "an hour of"));
    cr_expect_eq(tacet_run(out, sizeof out, "import", table, "--description", other, "--upload",
                           server.base, "--dataset", id, NULL),
                 0, "%s", out);
    cr_expect(strstr(out, ": 1 episodes of 1 experts, "), "%s", out);
    expect_trajectories(&desk, path, 1);
    desk_close(&desk);
    server_close(&server);
}

/* No new dataset has such a description; one from before may, and is then filled further. */
Test(import, a_policy_that_would_read_an_end_is_told_before_the_upload)
{
    struct import_place place;
    import_place_open(&place);
    const char *path = import_path(&place, "d.json");
    import_place_write(&place, "good.csv", HEADER ROWS);
    free(write_other_ward(path, "\"terminated\":\"ended\"", "\"terminated\":\"diabetes\""));
    import_expect(
        &place, 1, "good.csv", path, (const char *[]){"--dry-run", NULL},
        (const char *[]){"d.json: /table/terminated is the column of a feature, too", NULL});
    setenv("TACET_TOKEN", "tct_nobody", 1);
    import_expect(&place, 1, "good.csv", path,
                  (const char *[]){"--upload", "http://127.0.0.1:1", "--dataset", "ds_1", NULL},
                  (const char *[]){"GET /v1/clients/me: ", NULL});
    import_place_close(&place);
}

/* Another site may number its treatments in another order. */
Test(import, says_which_action_a_number_was_read_as)
{
    struct import_place place;
    const char *const says[] = {
        "actions are given by number: 0 was read as none, 1 was read as fluids", NULL};
    import_place_open(&place);
    import_place_write(&place, "codes.csv",
                       HEADER "a,1,0,50,99,60,5,95,yes,1,-0.1,0\na,1,1,50,97,62,3,95,yes,,,0\n");
    import_expect(&place, 0, "codes.csv", "examples/ward.json", (const char *[]){"--dry-run", NULL},
                  says);
    import_expect(&place, 0, "codes.csv", "examples/ward.json",
                  (const char *[]){"--output", "/dev/null", NULL}, says);
    import_place_close(&place);
}

/* With "clip" a misplaced point is no fault. */
Test(import, a_dry_run_names_values_far_outside)
{
    struct import_place place;
    char path[128], table[4000];
    import_place_open(&place);
    snprintf(path, sizeof path, "%s/clips.json", place.folder);
    free(write_other_ward(path, "\"refuse\",\"actions", "\"clip\",\"actions"));
    snprintf(table, sizeof table,
             HEADER "a,1,0,50,825,60,0.001,95,yes,both,-0.1,0\n"
                    "a,1,1,50,97,62,30,95,yes,,,0\n");
    import_place_write(&place, "far.csv", table);
    import_expect(&place, 0, "far.csv", path, (const char *[]){"--dry-run", NULL},
                  (const char *[]){"heart_rate has the value 825, far above 220: is it a typing",
                                   "lactate has the value 0.001, far below 0.3", NULL});
    import_place_close(&place);
}

/* A file that is not in a sealed dataset is refused, and nothing is said of the erased. */
static void check_sealed(struct desk *desk, const char *table, const char *path)
{
    char out[4000], seal[120];
    snprintf(seal, sizeof seal, "%s:seal", path);
    struct http_answer sealed = desk_post(desk, 200, seal, NULL, "by-hand");
    http_answer_clear(&sealed);
    FILE *file = fopen(table, "w");
    cr_assert(file && fputs(HEADER "d,1,0,50,99,60,5,95,yes,both,-0.1,0\n"
                                   "d,1,1,50,97,62,3,95,yes,,,0\n",
                            file) >= 0);
    fclose(file);
    cr_expect_eq(import_again(desk, table, strrchr(path, '/') + 1, "--seal", out), 1, "%s", out);
    cr_expect(strstr(out, "The dataset is sealed: nothing can be added."), "%s", out);
    cr_expect_null(strstr(out, "--accept-erased"), "%s", out);
}

/* A second upload of the same file to the same dataset adds nothing. */
Test(import, the_same_file_is_not_added_twice)
{
    struct server_process server;
    struct desk desk;
    char table[128], out[4000];
    server_open(&server, NULL);
    desk_open(&desk, &server);
    setenv("TACET_TOKEN", desk.steward, 1);
    struct http_answer made = desk_post(
        &desk, 201, "/v1/datasets",
        "{\"name\":\"w\",\"environment\":\"ward\",\"budget\":{\"epsilon\":1,\"delta\":1e-5}}",
        NULL);
    char id[64], path[100];
    snprintf(id, sizeof id, "%s", http_text(&made, "id"));
    snprintf(path, sizeof path, "/v1/datasets/%s", id);
    http_answer_clear(&made);
    snprintf(table, sizeof table, "%s/ward.csv", server.folder);
    for (unsigned run = 0; run < 3; run++) {
        FILE *file = fopen(table, "w");
        cr_assert(file && fputs(HEADER ROWS, file) >= 0);
        if (run == 2) /* other data are added */
            fputs("b,2,0,50,99,60,5,95,yes,both,-0.1,0\nb,2,1,50,97,62,3,95,yes,,,0\n", file);
        fclose(file);
        int code = tacet_run(out, sizeof out, "import", table, "--description",
                             "examples/ward.json", "--upload", server.base, "--dataset", id, NULL);
        cr_expect_eq(code, 0, "%s", out);
        expect_trajectories(&desk, path, run == 2 ? 3 : 1);
        cr_expect_eq(strstr(out, " held 1 trajectories before, ") != NULL, run == 2, "%s", out);
    }
    check_erased(&desk, table, path);
    check_sealed(&desk, table, path);
    int code = tacet_run(out, sizeof out, "import", table, "--description", "examples/factory.json",
                         "--upload", server.base, "--dataset", id, NULL);
    cr_expect_eq(code, 1, "%s", out);
    desk_close(&desk);
    server_close(&server);
}

/* Writes the episode STAY of EXPERT with ACTIONS. */
static void write_stay(FILE *file, const char *expert, int stay, int actions)
{
    for (int hour = 0; hour <= actions; hour++)
        fprintf(file, "%s,%d,%d,50,9%d.%04d,6%d.%04d,5.%04d,95.125,no,%s,%s,0\n", expert, stay,
                hour, stay % 10, stay, hour % 10, stay, stay, hour < actions ? "fluids" : "",
                hour < actions ? "-0.125" : "");
}

#define STAYS_OF_TWO_PARTS 3200

/* Writes a table that is sent in two parts, with EXPERT alone at the end of the second. */
static void write_two_parts(const char *table, const char *expert)
{
    FILE *file = fopen(table, "w");
    cr_assert(file && fputs(HEADER, file) >= 0);
    for (int stay = 0; stay < STAYS_OF_TWO_PARTS; stay++)
        write_stay(file, "many", stay, 48);
    write_stay(file, expert, STAYS_OF_TWO_PARTS, 48);
    cr_assert_eq(fclose(file), 0);
}

/* Of a file that is mended after the server refused a part, the parts before it are there. */
Test(import, a_mended_file_adds_no_part_twice)
{
    struct server_process server;
    struct desk desk;
    char table[128], out[4000], path[100], expert[140];
    server_open(&server, NULL);
    desk_open(&desk, &server);
    setenv("TACET_TOKEN", desk.steward, 1);
    struct http_answer made = desk_post(
        &desk, 201, "/v1/datasets",
        "{\"name\":\"w\",\"environment\":\"ward\",\"budget\":{\"epsilon\":1,\"delta\":1e-5}}",
        NULL);
    snprintf(path, sizeof path, "/v1/datasets/%s", http_text(&made, "id"));
    cr_assert_eq(json_integer_value(json_object_get(made.json, "max_episode_steps")), 48);
    http_answer_clear(&made);
    const char *id = strrchr(path, '/') + 1;
    snprintf(table, sizeof table, "%s/ward.csv", server.folder);
    FILE *file = fopen(table, "w");
    cr_assert(file && fputs(HEADER, file) >= 0);
    write_stay(file, "gone", 1, 2);
    cr_assert_eq(fclose(file), 0);
    cr_expect_eq(import_again(&desk, table, id, NULL, out), 0, "%s", out);
    snprintf(expert, sizeof expert, "%s/experts/gone", path);
    struct http_answer gone =
        http_expect(desk.client, 200,
                    &(struct http_call){.method = "DELETE", .path = expert, .token = desk.steward});
    http_answer_clear(&gone);
    expect_trajectories(&desk, path, 1); /* its size stays */

    write_two_parts(table, "gone");
    cr_expect_eq(import_again(&desk, table, id, NULL, out), 1, "%s", out);
    struct http_answer seen = desk_get(&desk, path);
    json_int_t first = json_integer_value(json_object_get(seen.json, "trajectories"));
    cr_assert(first > 1 && first <= STAYS_OF_TWO_PARTS, "the first part: %s", seen.body);
    http_answer_clear(&seen);
    write_two_parts(table, "kept");
    cr_expect_eq(import_again(&desk, table, id, NULL, out), 0, "%s", out);
    cr_expect(strstr(out, "of 2 parts the server had 1 from an earlier run"), "%s", out);
    expect_trajectories(&desk, path, 1 + STAYS_OF_TWO_PARTS + 1);
    desk_close(&desk);
    server_close(&server);
}

/* Makes an open dataset, and a table with its lines beside it; its path. */
static void make_ward(const struct desk *desk, char path[100])
{
    char command[1000];
    const char *folder = desk->server->folder;
    struct http_answer made = desk_post(
        desk, 201, "/v1/datasets",
        "{\"name\":\"w\",\"environment\":\"ward\",\"budget\":{\"epsilon\":1,\"delta\":1e-5}}",
        NULL);
    snprintf(path, 100, "/v1/datasets/%s", http_text(&made, "id"));
    http_answer_clear(&made);
    snprintf(command, sizeof command,
             "printf '%%s' '" HEADER ROWS "' > %s/ward.csv && %s import %s/ward.csv "
             "--description examples/ward.json --output %s/ward.ndjson",
             folder, server_program(), folder, folder);
    run_shell(command);
}

/* Sends the lines by hand, not compressed, under the key of part 0 that is made with SALT, which
 * may be "". */
static void send_by_hand(const struct desk *desk, const char *path, const char *salt)
{
    char command[1000], key_file[128], lines_file[128], trajectories[140];
    const char *folder = desk->server->folder;
    size_t size = 0;
    snprintf(key_file, sizeof key_file, "%s/key", folder);
    snprintf(lines_file, sizeof lines_file, "%s/ward.ndjson", folder);
    snprintf(command, sizeof command,
             "/usr/bin/python3 -c 'import hashlib, sys\n"
             "def digest(data, size): return hashlib.blake2b(data, digest_size=size).hexdigest()\n"
             "lines, salt, dataset = open(sys.argv[1], \"rb\").read(), *sys.argv[2:]\n"
             "text = [salt] * (salt != \"\") + [\"part 0\", dataset, digest(lines, 32)]\n"
             "print(\"import-\" + digest(\"\\n\".join(text).encode(), 20), end=\"\")' "
             "%s '%s' %s > %s",
             lines_file, salt, strrchr(path, '/') + 1, key_file);
    run_shell(command);
    char *key = read_whole(key_file, &size), *lines = read_whole(lines_file, &size);
    snprintf(trajectories, sizeof trajectories, "%s/trajectories", path);
    struct http_answer sent =
        http_expect(desk->client, 201,
                    &(struct http_call){.method = "POST",
                                        .path = trajectories,
                                        .token = desk->steward,
                                        .content_type = "application/x-ndjson",
                                        .key = key,
                                        .body = lines});
    http_answer_clear(&sent);
    free(key);
    free(lines);
}

/* The server stores keys in clear: who guesses the data must not find the key that they have. */
Test(import, its_keys_tell_nothing_of_the_data)
{
    struct server_process server;
    struct desk desk;
    char table[128], out[4000], path[100];
    server_open(&server, NULL);
    desk_open(&desk, &server);
    setenv("TACET_TOKEN", desk.steward, 1);
    make_ward(&desk, path);
    snprintf(table, sizeof table, "%s/ward.csv", server.folder);
    cr_expect_eq(import_again(&desk, table, strrchr(path, '/') + 1, NULL, out), 0, "%s", out);
    expect_trajectories(&desk, path, 1);
    send_by_hand(&desk, path, ""); /* a key that is new to the server */
    expect_trajectories(&desk, path, 2);
    desk_close(&desk);
    server_close(&server);
}

/* Another version of the library may compress to other bytes; here they are not compressed. */
Test(import, a_part_that_was_compressed_otherwise_is_not_added_again)
{
    struct server_process server;
    struct desk desk;
    char table[128], out[4000], path[100];
    server_open(&server, NULL);
    desk_open(&desk, &server);
    setenv("TACET_TOKEN", desk.steward, 1);
    make_ward(&desk, path);
    struct http_answer me = desk_get(&desk, "/v1/clients/me");
    send_by_hand(&desk, path, http_text(&me, "key_salt"));
    http_answer_clear(&me);
    expect_trajectories(&desk, path, 1);
    snprintf(table, sizeof table, "%s/ward.csv", server.folder);
    cr_expect_eq(import_again(&desk, table, strrchr(path, '/') + 1, NULL, out), 0, "%s", out);
    cr_expect(strstr(out, "of 1 parts the server had 1 from an earlier run"), "%s", out);
    expect_trajectories(&desk, path, 1);
    desk_close(&desk);
    server_close(&server);
}

/* Without --max-steps, which is of a new dataset, a file may be longer than the dataset takes. */
Test(import, an_episode_that_is_too_long_for_the_dataset_sends_nothing)
{
    struct server_process server;
    struct desk desk;
    char table[128], out[4000], path[100];
    server_open(&server, NULL);
    desk_open(&desk, &server);
    setenv("TACET_TOKEN", desk.steward, 1);
    struct http_answer made = desk_post(
        &desk, 201, "/v1/datasets",
        "{\"name\":\"w\",\"environment\":\"ward\",\"budget\":{\"epsilon\":1,\"delta\":1e-5}}",
        NULL);
    snprintf(path, sizeof path, "/v1/datasets/%s", http_text(&made, "id"));
    http_answer_clear(&made);
    snprintf(table, sizeof table, "%s/ward.csv", server.folder);
    for (int actions = 49; actions >= 48; actions--) {
        FILE *file = fopen(table, "w");
        cr_assert(file && fputs(HEADER, file) >= 0);
        write_stay(file, "a", 1, actions);
        cr_assert_eq(fclose(file), 0);
        cr_expect_eq(import_again(&desk, table, strrchr(path, '/') + 1, NULL, out), actions - 48,
                     "%s", out);
        cr_expect_eq(strstr(out, "an episode has 49 actions, and max_episode_steps of dataset ") !=
                         NULL,
                     actions == 49, "%s", out);
        expect_trajectories(&desk, path, 49 - actions);
    }
    desk_close(&desk);
    server_close(&server);
}
