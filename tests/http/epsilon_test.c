/* `tacet epsilon` as a process: every documented command line against oracles (tests/golden/privacy
 * says whose), every refusal one line and exit code 2. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/epsilon_run.h"

#define SAMPLED "--mechanism subsampled-gaussian "

/* EXACT lies between the two figures, which are within WIDTH of it. */
static const struct {
    const char *line, *accountant;
    double exact, width;
} PRICES[] = {
    /* subsampled_gaussian.json */
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 40 --steps 100000 --delta "
             "0.0003333333333333333",
     "pld", 2.618345469666098, 1e-3},
    {SAMPLED "--sampling-rate 0.042666666666666665 --noise-multiplier 2 --steps 10000 --delta 1e-5",
     "pld", 11.789920687772474, 1e-3},
    {SAMPLED "--sampling-rate=0.5 --noise-multiplier=0.8 --steps=1 --delta=1e-5", "pld",
     4.786232156829799, 1e-3},
    /* the contour integral, to 13 digits by an independent program */
    {SAMPLED "--sampling-rate 0.0427 --noise-multiplier 20 --steps 100000 --delta 1e-5", "pld",
     2.7957399662552, 1e-3},
    /* gaussian.json */
    {"--mechanism gaussian --sensitivity 1 --sigma 1 --steps 2 --delta 1e-5", "gdp",
     6.572970067030331, 1e-9},
    {"--mechanism gaussian --sensitivity 0.5 --sigma 1 --steps 4 --delta 1e-5", "gdp",
     4.3770781956812245, 1e-3},
    /* one Laplace release: epsilon + 2 ln(1 - delta) */
    {"--mechanism laplace --sensitivity 1 --scale 2 --steps 1 --delta 1e-6", "pld",
     0.4999979999990000, 1e-3},
    /* composition.json */
    {"--mechanism optimal-composition --each-epsilon 0.1 --each-delta 0 --steps 25 --delta 1e-4",
     "optimal_composition", 1.639379448751181, 1e-9},
    {"--mechanism optimal-composition --each-epsilon 0.24 --each-delta 0 --steps 25 --delta "
     "0.00015",
     "optimal_composition", 4.36876668080335, 1e-9},
    /* the exact value of the pair, and the certified bound, of dirichlet.json */
    {"--mechanism dirichlet --actions 4 --concentration 20 --min-probability 0.05 --sensitivity "
     "0.01 --steps 100 --delta 1e-5",
     "renyi", 15.139371848920073, 0.15},
    /* mu = 10 * 0.01 / 0.05 = 2 but for the lattice */
    {"--mechanism gaussian-simplex --sensitivity 0.01 --sigma 0.05 --steps 100 --delta 1e-5", "gdp",
     9.997, 1e-3},
};

Test(epsilon, agrees_with_oracles)
{
    for (size_t i = 0; i < sizeof PRICES / sizeof *PRICES; i++) {
        json_t *json = epsilon_object(PRICES[i].line);
        double upper = epsilon_number(json, "epsilon"),
               lower = epsilon_number(json, "epsilon_lower");
        double exact = PRICES[i].exact, width = PRICES[i].width * exact;
        cr_expect(lower <= upper, "%s", PRICES[i].line);
        cr_expect(fabs(upper - exact) <= width && exact - lower <= width, "%s: %.12g to %.12g",
                  PRICES[i].line, lower, upper);
        cr_expect(epsilon_number(json, "delta") > 0 && epsilon_number(json, "delta") < 1);
        cr_expect_str_eq(json_string_value(json_object_get(json, "accountant")),
                         PRICES[i].accountant);
        double renyi = epsilon_number(json, "epsilon_renyi"),
               check = epsilon_number(json, "epsilon_exact");
        cr_expect(isnan(renyi) || renyi >= lower, "%s", PRICES[i].line);
        cr_expect(isnan(check) || (check >= lower * (1 - 1e-9) && check <= upper * (1 + 1e-9)),
                  "%s", PRICES[i].line);
        json_decref(json);
    }
}

/* Beside the certified figure stands the published one, under its own name. */
Test(epsilon, shows_the_papers_figure_beside_the_certified_one)
{
    json_t *json =
        epsilon_object("--mechanism dirichlet --actions 4 --concentration 20 --min-probability "
                       "0.1 --sensitivity 0.01 --steps 100 --delta 1e-5");
    cr_expect_float_eq(epsilon_number(json, "epsilon_paper"), 1431, 1);
    cr_expect_float_eq(epsilon_number(json, "epsilon"), 8.5, 0.01);
    json_decref(json);
}

/* max_steps.json; the rate is 256/3000. */
Test(epsilon, finds_the_most_steps_and_the_least_noise)
{
    json_t *steps =
        epsilon_object(SAMPLED "--sampling-rate 0.08533333333333333 --noise-multiplier 80 --delta "
                               "0.0003333333333333333 --target-epsilon 5 --find steps");
    cr_expect_float_eq(epsilon_number(steps, "steps"), 1596492, 1e-3 * 1596492);
    cr_expect_leq(epsilon_number(steps, "epsilon"), 5);
    cr_expect(json_is_integer(json_object_get(steps, "steps")));
    json_decref(steps);
    json_t *noise =
        epsilon_object(SAMPLED "--sampling-rate 0.08533333333333333 --steps 1596492 --delta "
                               "0.0003333333333333333 --target-epsilon 5 --find noise-multiplier");
    cr_expect_float_eq(epsilon_number(noise, "noise_multiplier"), 80, 1e-3 * 80);
    cr_expect_leq(epsilon_number(noise, "epsilon"), 5);
    json_decref(noise);
    /* gaussian.json: sigma for (0.01, 1e-5) */
    json_t *sigma = epsilon_object("--mechanism gaussian --sensitivity 1 --steps 1 --delta 1e-5 "
                                   "--target-epsilon 0.01 --find sigma");
    cr_expect_float_eq(epsilon_number(sigma, "sigma"), 243.78543767567803, 2e-4 * 243.8);
    json_decref(sigma);
}

/* svt_thresholds.json: variant iii and the paper's. */
Test(epsilon, tells_both_thresholds_of_the_sparse_vector)
{
    json_t *json =
        epsilon_object("--mechanism sparse-vector --experts 3000 --epsilon 7.5 --delta 3e-4 "
                       "--trajectories 25 --max-length 200 --min-probability 0.02");
    cr_expect_float_eq(epsilon_number(json, "threshold"), 487.89852923273713, 0.5);
    cr_expect_float_eq(epsilon_number(json, "threshold_paper"), 1360.2549427956442, 0.5);
    cr_expect_leq(epsilon_number(json, "epsilon"), 7.5);
    cr_expect_eq(epsilon_number(json, "epsilon_lower"), 0);
    cr_expect_eq(epsilon_number(json, "delta"), 3e-4);
    cr_expect(json_is_string(json_object_get(json, "accountant")));
    json_decref(json);
}

Test(epsilon, is_readable_without_json)
{
    char out[4096];
    cr_expect_eq(epsilon_run(out, sizeof out,
                             SAMPLED "--sampling-rate 0.0427 --noise-multiplier 20 --steps 100000 "
                                     "--delta 1e-5"),
                 0);
    cr_expect_not_null(strstr(out, "epsilon           2.79583 "), "%s", out);
    cr_expect_not_null(strstr(out, "epsilon_lower     2.79567 "), "%s", out);
    cr_expect_eq(
        epsilon_run(out, sizeof out,
                    "--mechanism gaussian --sensitivity 1 --sigma 1 --steps 1 --epsilon 1 --json"),
        0);
    json_t *json = json_loads(out, 0, NULL);
    cr_expect_float_eq(epsilon_number(json, "delta"), 0.12693673750664394, 1e-12);
    json_decref(json);
}

Test(epsilon, has_help)
{
    char out[16384];
    cr_expect_eq(epsilon_run(out, sizeof out, "--help"), 0);
    static const char *const named[] = {"subsampled-gaussian", "sparse-vector", "--min-probability",
                                        "--events", "--json"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        cr_expect_not_null(strstr(out, named[i]), "%s", named[i]);
}

/* ---- refusals */

static const char *const WRONG[][2] = {
    {"", "--mechanism"},
    {"--mechanism", "--mechanism"},
    {"--mechanism= --delta 1e-5", "--mechanism"},
    {"--mechanism nonsense --delta 1e-5", "--mechanism"},
    {"--nonsense 3", "--nonsense"},
    {"nonsense", "nonsense"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1 --steps 10", "--delta"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1 --delta 1e-5", "--steps"},
    {SAMPLED "--sampling-rate 1.1 --noise-multiplier 1 --steps 10 --delta 1e-5", "--sampling-rate"},
    {SAMPLED "--sampling-rate 0 --noise-multiplier 1 --steps 10 --delta 1e-5", "--sampling-rate"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier -1 --steps 10 --delta 1e-5",
     "--noise-multiplier"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier nan --steps 10 --delta 1e-5",
     "--noise-multiplier"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier inf --steps 10 --delta 1e-5",
     "--noise-multiplier"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1e999 --steps 10 --delta 1e-5",
     "--noise-multiplier"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1 --steps 0 --delta 1e-5", "--steps"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1 --steps 1.5 --delta 1e-5", "--steps"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1 --steps 1e13 --delta 1e-5", "--steps"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1 --steps 10 --delta 0", "--delta"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1 --steps 10 --delta 1", "--delta"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1 --steps 10 --delta 1e-5x", "--delta"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1 --steps 10 --delta 1e-5 --delta 1e-6",
     "--delta"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1 --steps 10 --delta 1e-5 --epsilon 1",
     "--epsilon"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1 --steps 10 --delta 1e-5 --sigma 1",
     "--sigma"},
    {SAMPLED "--sampling-rate 0.1 --steps 10 --delta 1e-5 --find noise-multiplier", "--find"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1 --steps 10 --delta 1e-5 --target-epsilon 1",
     "--find"},
    {SAMPLED "--sampling-rate 0.1 --steps 10 --delta 1e-5 --find delta --target-epsilon 1",
     "--find"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1 --steps 10 --delta 1e-5 --find steps "
             "--target-epsilon 1",
     "--steps"},
    {SAMPLED "--sampling-rate 0.1 --noise-multiplier 1 --delta 1e-5 --find steps --target-epsilon "
             "0",
     "--target-epsilon"},
    {"--mechanism gaussian --sensitivity 0 --sigma 1 --steps 1 --delta 1e-5", "--sensitivity"},
    {"--mechanism laplace --sensitivity 1 --scale -2 --steps 1 --delta 1e-5", "--scale"},
    {"--mechanism optimal-composition --each-epsilon -1 --each-delta 0 --steps 2 --delta 1e-5",
     "--each-epsilon"},
    {"--mechanism optimal-composition --each-epsilon 1 --each-delta 1 --steps 2 --delta 1e-5",
     "--each-delta"},
    {"--mechanism dirichlet --actions 1 --concentration 20 --min-probability 0.1 --sensitivity "
     "0.01 --steps 1 --delta 1e-5",
     "--actions"},
    {"--mechanism dirichlet --actions 4 --concentration 5 --min-probability 0.1 --sensitivity 0.01 "
     "--steps 1 --delta 1e-5",
     "--concentration"},
    {"--mechanism dirichlet --actions 4 --concentration 20 --min-probability 0.3 --sensitivity "
     "0.01 --steps 1 --delta 1e-5",
     "--min-probability"},
    {"--mechanism gaussian-simplex --sensitivity 0.01 --sigma 1e-6 --steps 1 --delta 1e-5",
     "--sigma"},
    {"--mechanism sparse-vector --experts 3000 --epsilon 0 --delta 3e-4 --trajectories 25 "
     "--max-length 200 --min-probability 0.02",
     "--epsilon"},
    {"--mechanism sparse-vector --experts 3000 --epsilon 7 --delta 3e-4 --trajectories 0 "
     "--max-length 200 --min-probability 0.02",
     "--trajectories"},
    {"--mechanism sparse-vector --experts 3000 --epsilon 7 --delta 3e-4 --trajectories 5 "
     "--max-length 200 --min-probability 0.6",
     "--min-probability"},
    {"--events /nonexistent/file --delta 1e-5", "--events"},
    {"--events /dev/null --delta 1e-5", "--events"},
    {"--events /dev/null", "--delta"},
    {"--events /dev/null --delta 1e-5 --mechanism gaussian", "--events"},
    {"--events /dev/null --delta 1e-5 --steps 3", "--steps"},
};

Test(epsilon, a_wrong_flag_is_one_line_that_names_it_and_exit_code_2)
{
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        char out[4096];
        int code = epsilon_run(out, sizeof out, WRONG[i][0]);
        char *end = strchr(out, '\n');
        cr_expect_eq(code, 2, "%s: %d, %s", WRONG[i][0], code, out);
        cr_expect(end != NULL && end[1] == '\0', "%s: %s", WRONG[i][0], out);
        cr_expect(strstr(out, WRONG[i][1]) != NULL && strncmp(out, "tacet epsilon: ", 15) == 0,
                  "%s: %s", WRONG[i][0], out);
    }
}

Test(epsilon, what_cannot_be_had_is_one_line_and_exit_code_1)
{
    static const char *const lines[] = {
        SAMPLED "--sampling-rate 0.5 --noise-multiplier 0.001 --steps 10 --delta 1e-5",
        SAMPLED "--sampling-rate 0.5 --noise-multiplier 1 --delta 1e-5 --find steps "
                "--target-epsilon 0.01",
        "--mechanism optimal-composition --each-epsilon 1 --each-delta 1e-3 --steps 2 --delta 1e-5",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char out[4096];
        int code = epsilon_run(out, sizeof out, lines[i]);
        char *end = strchr(out, '\n');
        cr_expect_eq(code, 1, "%s: %d, %s", lines[i], code, out);
        cr_expect(end != NULL && end[1] == '\0', "%s: %s", lines[i], out);
    }
}

/* Settings of the service are not settings of the accountant. */
Test(epsilon, heeds_no_environment)
{
    static const char *const line =
        "--mechanism gaussian --sensitivity 1 --sigma 1 --steps 2 --delta 1e-5";
    setenv("TACET_DELTA", "0.5", 1);
    setenv("TACET_SIGMA", "nonsense", 1);
    json_t *json = epsilon_object(line);
    cr_expect_float_eq(epsilon_number(json, "epsilon"), 6.572970067030331, 1e-8);
    json_decref(json);
}
