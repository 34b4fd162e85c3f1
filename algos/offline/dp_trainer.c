/* The loop of every offline algorithm.
 *
 * One step: draw a batch of transitions (trainer_draw.c), sum their gradients in chunks
 * (trainer_chunk.c), then noise or mean, optimiser, target, average. Free threads share the rows of
 * a chunk and, in whole numbers, the sums and the weights: no bit depends on who does what. Every
 * size is fixed when the run starts: the drawn batch changes none of it. */
#include "algos/offline/dp_trainer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/choice.h"
#include "algos/offline/hooks.h"
#include "algos/offline/schedule.h"
#include "algos/offline/trainer_chunk.h"
#include "algos/offline/trainer_draw.h"
#include "algos/offline/trainer_input.h"
#include "algos/offline/trainer_state.h"
#include "algos/privacy/noise/noise_source.h"
#include "memory/memory.h"

/* Multiply-adds between two pulses: some 50 ms on a core. */
#define PULSE_WORK UINT64_C(500000000)

/* Number of weights that are moved at once. It is a multiple of what one draw of noise serves, so
 * that parts get the same noise as the whole vector would. */
#define PART ((size_t)4096)

/* ---- the result, perhaps chosen among the run's own weights (choice.h). A candidate that is
 * interrupted plays anew: its episodes are the same. */

struct trainer_choice {
    const struct trainer_settings *settings;
    const struct choice_place *place;
    struct policy *candidate; /* owned; has its weights while it plays */
    struct choice_score score;
};

/* Prepares OUT for choosing between policies during a run. SETTINGS must have a choice; PLACE and
 * SETTINGS must outlive OUT. Free with trainer_choice_clear. */
static void trainer_choice_init(struct trainer_choice *out, const struct trainer_settings *settings,
                                const struct choice_place *place)
{
    assert(settings->choice && place->world);
    *out = (struct trainer_choice){.settings = settings, .place = place};
    out->candidate = memory_must(policy_new(&settings->rule.shape, settings->output));
    out->candidate->threshold = settings->threshold;
}

/* Frees the candidate; takes a struct that is all zero. */
static void trainer_choice_clear(struct trainer_choice *choice)
{
    policy_free(choice->candidate);
    *choice = (struct trainer_choice){0};
}

/* Plays STATE's result so far for a fraction of a second. When it has played all its episodes, or
 * cannot be played, STATE has judged DUE candidates and keeps it if it is the best. False: no
 * memory, and nothing was judged. */
static bool trainer_choice_play(struct trainer_choice *choice, struct trainer_state *state,
                                uint32_t due)
{
    const struct choice *asked = choice->settings->choice;
    const float *weights = state->average ? state->average : state->online;
    float *parameters = choice->candidate->parameters;
    if (choice->score.episodes == 0) {
        memcpy(parameters, weights, state->count * sizeof *parameters);
        trainer_input_fold(choice->settings, parameters);
    }
    enum choice_verdict verdict =
        choice_play(asked, choice->candidate, choice->place, &choice->score);
    if (verdict == CHOICE_BROKEN)
        return false;
    bool played = verdict == CHOICE_PLAYED;
    if (played && choice->score.episodes < asked->episodes)
        return true;
    double mean = choice->score.sum / asked->episodes;
    if (played && isfinite(mean) && !(state->best_return > mean)) {
        memcpy(state->best, weights, state->count * sizeof *weights);
        state->best_return = mean;
    }
    choice->score = (struct choice_score){0};
    state->judged = due;
    return true;
}

/* Makes the run's result, which reads plain states: the best candidate if there is a choice, else
 * the average or the last weights. The caller frees it. NULL: the result is not finite, or no
 * candidate could be played. */
static float *trainer_take_result(const struct trainer_settings *settings,
                                  struct trainer_state *state)
{
    float **from = state->average ? &state->average : &state->online;
    if (settings->choice && isnan(state->best_return))
        return NULL;
    if (settings->choice)
        from = &state->best;
    float *result = *from;
    trainer_input_fold(settings, result);
    for (size_t i = 0; i < state->count; i++)
        if (!isfinite(result[i]))
            return NULL;
    *from = NULL;
    return result;
}

/* ---- the loop */

/* So many chunks at most do the rows of one side by side. Their number is even, because two cores
 * are common, and follows from the batch alone. */
enum { SLICES = 4, SLICE_ROWS = 64, SLICE_LEAST = 8 };
enum { PULSE_ROWS = 4096 }; /* between two pulses, where each may have to be read from a disk */

/* Multiply-adds of a batch from which a step is worth being shared out: some 100 us on a core. */
#define SHARED_WORK UINT64_C(2000000)

/* Drawing the noise of a weight takes as long as so many rows of it. */
#define NOISE_ROWS 16U

struct trainer {
    const struct algorithm_run *run;
    const struct trainer_settings *settings;
    struct trainer_state state;
    struct schedule schedule;
    struct noise_source *noise; /* NULL for MECHANISM_NONE */
    bool owns_noise;
    bool private;
    struct trainer_draw draw;
    uint32_t slices;                         /* of a batch, shared with the run's other threads */
    struct trainer_chunk chunks[SLICES];     /* as many as slices */
    struct trainer_choice choice;            /* all zero where the result is not chosen */
    struct target_cache cache, stable_cache; /* of the run's data and its stable set; all zero where
                                                keeping does not pay */
    float *gradient;
    int64_t *whole; /* sums of noisy steps in exact arithmetic, noise included; NULL in float,
                     * as the next three */
    float *product;
    struct per_example_part *parts;
    uint32_t part_count;
    uint64_t fingerprint;
    uint64_t pulse_interval;
};

double trainer_learning_rate(const struct trainer_settings *settings, uint64_t done, uint64_t total)
{
    const double pi = 3.14159265358979323846;
    double part = (double)done / (double)total; /* of the way from 1 to the final fraction */
    if (settings->rate_schedule == RATE_CONSTANT)
        part = 0.0;
    else if (settings->rate_schedule == RATE_COSINE)
        part = 0.5 * (1.0 - cos(pi * part));
    double rate = settings->learning_rate * (1.0 + part * (settings->final_rate_fraction - 1.0));
    if (done < settings->warmup_steps)
        rate *= (double)(done + 1) / (double)settings->warmup_steps;
    return rate;
}

/* to += weight (from - to) */
static void move_towards(float *restrict to, const float *restrict from, size_t count, float weight)
{
    for (size_t i = 0; i < count; i++)
        to[i] += weight * (from[i] - to[i]);
}

static void update_target(struct trainer *t)
{
    struct trainer_state *state = &t->state;
    if (!state->target)
        return;
    if (t->settings->polyak_tau > 0.0)
        move_towards(state->target, state->online, state->count, (float)t->settings->polyak_tau);
    else if (state->steps_done % t->settings->target_update_interval == 0)
        memcpy(state->target, state->online, state->count * sizeof *state->online);
    else if (!t->settings->forgets_targets)
        return;
    target_cache_forget(&t->cache);
    target_cache_forget(&t->stable_cache);
}

/* The weight that the average keeps in the step to come. A young average forgets its first weights
 * sooner. */
static double average_decay(const struct trainer *t)
{
    double steps = (double)(t->state.steps_done + 1);
    return fmin(t->settings->average_decay, (1.0 + steps) / (10.0 + steps));
}

/* What a step does to the weights. */
struct trainer_move {
    bool moves;     /* else they stay, and so the average comes nearer */
    double rate;    /* of learning */
    float averaged; /* the weight of the new weights in the average */
};

/* A step's rows from FIRST on, as many as a chunk takes, and who does which of them. */
struct trainer_piece {
    struct trainer *t;
    double clip_norm;
    bool whole, first, last; /* of the step */
    uint32_t slices, begin[SLICES + 1];
    const struct trainer_move *move;
};

static bool draws_noise(const struct trainer_piece *piece)
{
    return piece->whole && piece->first;
}

/* Cuts COUNT of the draw's rows, from FIRST on, into slices. The last is smaller by what drawing
 * the noise takes, for whoever does that. */
static void cut_piece(struct trainer_piece *piece, uint32_t first, uint32_t count)
{
    const struct trainer *t = piece->t;
    uint32_t group = t->draw.group, less = draws_noise(piece) ? NOISE_ROWS : 0;
    uint32_t each = (count + less) / t->slices;
    each += each % group > 0 || each == 0 ? group - each % group : 0;
    piece->slices = 0;
    for (uint32_t at = 0; at < count; at += each) {
        piece->begin[piece->slices++] = first + at;
        if (piece->slices == t->slices)
            break;
    }
    piece->begin[piece->slices] = first + count;
}

/* Finds the gradients of slice I. */
static void find_slice(const struct trainer_piece *piece, uint32_t i)
{
    struct trainer *t = piece->t;
    const struct trainer_draw *draw = &t->draw;
    const struct trainer_state *state = &t->state;
    struct target_cache *cache = draw->data == t->run->data ? &t->cache : &t->stable_cache;
    struct trainer_chunk *chunk = &t->chunks[i];
    uint32_t first = piece->begin[i];
    const struct trainer_examples examples = {.data = draw->data,
                                              .count = piece->begin[i + 1] - first,
                                              .group = draw->group,
                                              .transitions = draw->transitions + first,
                                              .weights = draw->weights + first,
                                              .clip_norm = piece->clip_norm,
                                              .cache = cache->data ? cache : NULL};
    if (!piece->whole) {
        trainer_chunk_find(chunk, &examples, state->online, state->target);
        return;
    }
    trainer_chunk_begin_whole(chunk, t->run->request->seed, state->steps_done);
    trainer_chunk_find_whole(chunk, &examples, state->online, state->target,
                             dp_sgd_plan_lattice_units(&t->run->plan->privacy));
}

/* The sum of no gradients, with a step's noise. */
static void draw_noise(struct trainer *t)
{
    size_t count = t->state.count;
    memset(t->whole, 0, count * sizeof *t->whole);
    for (size_t first = 0; first < count; first += PART)
        dp_sgd_plan_noise_lattice(&t->run->plan->privacy, t->noise, t->whole + first,
                                  count - first < PART ? count - first : PART);
}

/* Item I of a piece: the noise comes before the slices, because it cannot be cut. */
static void piece_item(void *what, uint32_t i)
{
    const struct trainer_piece *piece = what;
    uint32_t before = draws_noise(piece);
    if (i < before)
        draw_noise(piece->t);
    else
        find_slice(piece, i - before);
}

static void share_out_items(const struct trainer *t, void (*work)(void *what, uint32_t i),
                            void *what, uint32_t count)
{
    static const struct algorithm_hooks alone = {0};
    hooks_parallel(t->slices > 1 ? &t->run->hooks : &alone, work, what, count);
}

/* Finds the gradients of COUNT rows from FIRST on. */
static void find_piece(struct trainer_piece *piece, uint32_t first, uint32_t count)
{
    struct trainer *t = piece->t;
    const struct trainer_draw *draw = &t->draw;
    struct target_cache *cache = draw->data == t->run->data ? &t->cache : &t->stable_cache;
    assert(count <= PER_EXAMPLE_LATTICE_ROWS); /* of all slices together: their sums are exact */
    if (t->slices > 1 && cache->data)
        target_cache_fill(cache, t->state.target, draw->transitions + first, count);
    cut_piece(piece, first, count);
    share_out_items(t, piece_item, piece, piece->slices + draws_noise(piece));
}

/* Moves a part of the weights by its gradient, and the average after them, while both are in the
 * cache. */
static void move_part(struct trainer *t, const struct trainer_move *move,
                      struct optimizer_part part)
{
    struct trainer_state *state = &t->state;
    if (move->moves)
        optimizer_move(&state->optimizer, part, state->online, t->gradient, move->rate);
    if (state->average)
        move_towards(state->average + part.first, state->online + part.first, part.count,
                     move->averaged);
}

/* Adds the sum of a piece's whole gradients to part I, and moves its weights after the last. */
static void finish_part(void *what, uint32_t i)
{
    const struct trainer_piece *piece = what;
    struct trainer *t = piece->t;
    const struct per_example_part *part = &t->parts[i];
    int64_t *whole = t->whole + part->offset;
    const float *product = t->product + part->offset;
    for (uint32_t k = 0; k < piece->slices; k++)
        per_example_lattice_product(&t->chunks[k].lattice, t->chunks[k].online, t->chunks[k].rows,
                                    part, t->product, k > 0);
    for (size_t k = 0; k < part->count && piece->slices > 0; k++)
        whole[k] += (int32_t)product[k];
    if (!piece->last)
        return;
    dp_sgd_plan_scale_lattice(&t->run->plan->privacy, whole, part->count,
                              t->gradient + part->offset);
    move_part(t, piece->move, (struct optimizer_part){part->offset, part->count});
}

static uint32_t rows_at_once(const struct trainer *t)
{
    return TRAINER_CHUNK_ROWS / t->draw.group * t->draw.group;
}

/* A noisy step in whole numbers, for the batch that was drawn. */
static void whole_step(struct trainer *t, const struct trainer_move *move)
{
    const struct trainer_draw *draw = &t->draw;
    const uint32_t most = rows_at_once(t);
    struct trainer_piece piece = {
        .t = t, .clip_norm = t->run->plan->privacy.clip_norm, .whole = true, .move = move};
    optimizer_begin(&t->state.optimizer);
    for (uint32_t first = 0; !piece.last; first += most) {
        uint32_t left = draw->count - first, count = left < most ? left : most;
        piece.first = first == 0;
        piece.last = count == left;
        find_piece(&piece, first, count);
        share_out_items(t, finish_part, &piece, t->part_count);
    }
}

/* Sums the drawn batch's gradients in float. One sum takes all rows of a chunk: its bits depend on
 * them together. */
static void sum_batch(struct trainer *t, double clip_norm)
{
    const struct trainer_draw *draw = &t->draw;
    const uint32_t most = rows_at_once(t);
    struct trainer_piece piece = {.t = t, .clip_norm = clip_norm};
    if (draw->count == 0)
        memset(t->gradient, 0, t->state.count * sizeof *t->gradient);
    for (uint32_t first = 0; first < draw->count; first += most) {
        uint32_t left = draw->count - first;
        find_piece(&piece, first, left < most ? left : most);
        for (uint32_t i = 1; i < piece.slices; i++)
            trainer_chunk_append(&t->chunks[0], &t->chunks[i]);
        trainer_chunk_sum(&t->chunks[0], t->gradient, first == 0);
    }
}

/* A noisy step in float. The noise of a part is drawn while it is in the cache. */
static void float_step(struct trainer *t, const struct trainer_move *move)
{
    const struct dp_sgd_plan *plan = &t->run->plan->privacy;
    sum_batch(t, plan->clip_norm);
    optimizer_begin(&t->state.optimizer);
    for (size_t first = 0; first < t->state.count; first += PART) {
        size_t left = t->state.count - first;
        const struct optimizer_part part = {first, left < PART ? left : PART};
        dp_sgd_plan_finish_sum(plan, t->noise, t->gradient + first, part.count);
        move_part(t, move, part);
    }
}

/* A plain step. In a run with noisy steps too, its gradients are clipped as in a noisy step:
 * otherwise the plain steps would be far larger. Without data it moves nothing. */
static void plain_step(struct trainer *t, struct trainer_move *move)
{
    const struct dp_sgd_plan *plan = &t->run->plan->privacy;
    double clip_norm = t->private && plan->steps > 0 ? plan->clip_norm : 0.0;
    const struct dataset *data = t->private ? t->run->stable : t->run->data;
    move->moves = data && data->transition_count > 0;
    if (move->moves) {
        trainer_draw_transitions(&t->draw, t->settings, &t->state.rng, data, !t->private);
        sum_batch(t, clip_norm);
        optimizer_begin(&t->state.optimizer);
    }
    for (size_t first = 0; first < t->state.count; first += PART) {
        size_t left = t->state.count - first;
        const struct optimizer_part part = {first, left < PART ? left : PART};
        float scale = move->moves ? 1.0F / (float)t->draw.count : 0.0F;
        for (size_t i = first; move->moves && i < first + part.count; i++)
            t->gradient[i] *= scale;
        move_part(t, move, part);
    }
}

static void trainer_step(struct trainer *t)
{
    struct trainer_state *state = &t->state;
    struct trainer_move move = {
        .moves = true,
        .rate = trainer_learning_rate(t->settings, state->steps_done, t->run->plan->total_steps),
        .averaged = (float)(1.0 - average_decay(t))};
    bool noisy = t->private && !schedule_is_plain(&t->schedule, state->steps_done);
    if (noisy)
        trainer_draw_experts(&t->draw, &t->run->plan->privacy, t->noise, t->run->data);
    if (noisy && t->whole)
        whole_step(t, &move);
    else if (noisy)
        float_step(t, &move);
    else
        plain_step(t, &move);
    state->steps_done++;
    update_target(t);
}

static bool trainer_save(void *context)
{
    const struct trainer *t = context;
    const struct algorithm_hooks *hooks = &t->run->hooks;
    size_t size = 0;
    if (!hooks->save)
        return false;
    unsigned char *bytes = trainer_state_to_bytes(&t->state, t->fingerprint, &size);
    bool saved = hooks->save(hooks->context, t->state.steps_done, bytes, size);
    free(bytes);
    return saved;
}

/* Asks the pulse what to do. Any result but ALGORITHM_OK ends the run. */
static enum algorithm_status trainer_pulse(struct trainer *t)
{
    return hooks_pulse(&t->run->hooks, t->state.steps_done, trainer_save, t);
}

/* Lets the feed add the data that are due. It plays by the present weights, with the scaling of the
 * states folded into them. */
static enum algorithm_status feed_data(struct trainer *t, const char **message)
{
    const struct trainer_feed *feed = t->settings->feed;
    const uint64_t done = t->state.steps_done;
    enum algorithm_status status = ALGORITHM_OK;
    if (!feed || !feed->is_due(feed->context, done))
        return status;
    float *weights = t->gradient; /* which the step writes afresh */
    memcpy(weights, t->state.online, t->state.count * sizeof *weights);
    trainer_input_fold(t->settings, weights);
    while (status == ALGORITHM_OK && feed->is_due(feed->context, done)) {
        status = feed->add(feed->context, done, weights, message);
        if (status == ALGORITHM_OK)
            status = trainer_pulse(t);
    }
    trainer_draw_weigh(&t->draw, t->settings, t->run->data);
    return status;
}

/* Plays the candidates that are due. One play takes a fraction of a second, and the pulse is asked
 * after each, because a hundred plays may fall between two pulses of the steps. */
static enum algorithm_status choose_candidates(struct trainer *t)
{
    enum algorithm_status status = ALGORITHM_OK;
    if (!t->settings->choice)
        return status;
    uint32_t due = choice_due(t->settings->choice, t->state.steps_done, t->run->plan->total_steps);
    while (status == ALGORITHM_OK && t->state.judged < due) {
        bool played = trainer_choice_play(&t->choice, &t->state, due);
        status = played ? trainer_pulse(t) : ALGORITHM_NO_MEMORY;
    }
    return status;
}

static bool dataset_fits(const struct dataset *data, const struct algorithm_request *request)
{
    return data->state_dim == request->state_dim && data->action_count == request->action_count;
}

/* True when whole numbers serve: one draw for each weight, noise that the sampler has. */
static bool lattice_fits(const struct dp_sgd_plan *plan, const struct trainer_settings *settings)
{
    if (plan->rounded_draws == 0)
        return true;
    return settings->whole_numbers &&
           plan->rounded_draws == mlp_parameter_count(&settings->rule.shape) &&
           dp_sgd_plan_lattice_has_noise(plan);
}

/* Returns NULL when the run can start, else what is wrong. An empty dataset is an error only
 * without privacy: an error must not reveal whether one expert's data are there. */
static const char *trainer_problem(const struct algorithm_run *run,
                                   const struct trainer_settings *settings)
{
    const struct algorithm_request *request = run->request;
    if (!run->data)
        return "this algorithm needs a dataset";
    if (!dataset_fits(run->data, request) || (run->stable && !dataset_fits(run->stable, request)))
        return "the dataset's dimensions are not those of the request";
    if (settings->batch_size == 0)
        return "the batch size is zero";
    if (settings->transitions_per_expert < 1 ||
        settings->transitions_per_expert > TRAINER_GROUP_MOST)
        return "the number of transitions of an expert in a step is out of bounds";
    const struct env *world = run->choice.world;
    if (settings->choice && (!world || world->state_dim != request->state_dim ||
                             world->action_count != request->action_count))
        return "the world to choose in is not that of the dataset";
    if (request->mechanism == MECHANISM_NONE)
        return run->data->transition_count > 0 || settings->feed
                   ? NULL
                   : "the dataset holds no transition";
    if (!(request->plain_share >= 0.0 && request->plain_share <= 1.0))
        return "the share of plain steps is out of bounds";
    if (!lattice_fits(&run->plan->privacy, settings))
        return "the plan does not fit exact arithmetic";
    const struct schedule schedule = {request->seed, request->plain_share};
    uint64_t noisy = schedule_noisy_steps(&schedule, run->plan->total_steps);
    if (settings->feed)
        noisy = settings->feed->uses;
    return run->plan->privacy.steps == noisy ? NULL
                                             : "the plan's steps are not those that were accounted";
}

static bool open_noise(struct trainer *t)
{
    if (!t->private)
        return true;
    t->owns_noise = !t->run->noise;
    t->noise = t->run->noise ? t->run->noise : noise_source_new("sgd");
    return t->noise != NULL;
}

/* An upper bound of the bytes that the run takes: vectors of weights (those of the checkpoint, the
 * bytes of one, the gradient, whole sums) and workspaces. */
static size_t trainer_bytes(const struct trainer *t)
{
    const struct mlp_shape *shape = &t->settings->rule.shape;
    size_t kept = target_cache_bytes(t->settings, t->run->data);
    if (t->run->stable)
        kept += target_cache_bytes(t->settings, t->run->stable);
    return 16 * mlp_parameter_count(shape) * sizeof(float) +
           t->slices * 2 * batch_bytes(shape, 2 * TRAINER_CHUNK_ROWS) + kept +
           trainer_draw_bytes(t->settings, t->run->data);
}

static void keep_targets(struct trainer *t)
{
    const struct algorithm_run *run = t->run;
    if (target_cache_pays(t->settings, run->data))
        target_cache_init(&t->cache, t->settings, run->data);
    if (run->stable && target_cache_pays(t->settings, run->stable))
        target_cache_init(&t->stable_cache, t->settings, run->stable);
}

static void open_workspaces(struct trainer *t)
{
    const struct trainer_settings *settings = t->settings;
    t->gradient = memory_new(t->state.count, sizeof *t->gradient);
    if (t->private && t->run->plan->privacy.rounded_draws > 0) {
        const struct mlp_shape *shape = &settings->rule.shape;
        t->whole = memory_new(t->state.count, sizeof *t->whole);
        t->product = memory_new(t->state.count, sizeof *t->product);
        t->parts = memory_new(per_example_parts(shape, NULL), sizeof *t->parts);
        t->part_count = per_example_parts(shape, t->parts);
    }
    keep_targets(t);
    if (settings->choice)
        trainer_choice_init(&t->choice, settings, &t->run->choice);
    for (uint32_t i = 0; i < t->slices; i++)
        trainer_chunk_init(&t->chunks[i], settings);
    trainer_draw_init(&t->draw, settings, t->run->data);
}

/* By public sizes alone, so that how many rows were drawn does not change how they are cut. */
static uint32_t slices_of(const struct algorithm_run *run, uint64_t rows, size_t parameters)
{
    if (!run->hooks.parallel || rows < 2 * SLICE_LEAST || rows * parameters < SHARED_WORK)
        return 1;
    return rows < 3 * SLICE_ROWS ? 2 : SLICES;
}

static enum algorithm_status trainer_prepare(struct trainer *t, const char **message)
{
    const struct algorithm_run *run = t->run;
    const struct trainer_settings *settings = t->settings;
    *message = trainer_problem(run, settings);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    t->private = run->request->mechanism != MECHANISM_NONE;
    t->schedule = (struct schedule){run->request->seed, run->request->plain_share};
    uint64_t rows = (uint64_t)settings->batch_size * settings->transitions_per_expert;
    t->slices = slices_of(run, rows, mlp_parameter_count(&settings->rule.shape));
    if (!memory_fits(trainer_bytes(t)))
        return ALGORITHM_NO_MEMORY;
    trainer_state_init(&t->state, settings, run->request->seed);
    t->fingerprint = trainer_fingerprint(run);
    if (run->checkpoint &&
        !trainer_state_from_bytes(&t->state, t->fingerprint, run->plan->total_steps,
                                  run->checkpoint, run->checkpoint_size)) {
        *message = "the checkpoint is damaged or of another run";
        return ALGORITHM_BAD_CHECKPOINT;
    }
    if (!open_noise(t))
        return ALGORITHM_NO_RANDOMNESS;
    uint64_t interval = PULSE_WORK / (t->state.count * rows + 1);
    if (run->data->columns[DATASET_STATES].directory && interval > PULSE_ROWS / rows)
        interval = PULSE_ROWS / rows;
    t->pulse_interval = interval < 1024 ? interval + (interval == 0) : 1024;
    open_workspaces(t);
    return ALGORITHM_OK;
}

static void trainer_free(struct trainer *t)
{
    trainer_draw_clear(&t->draw);
    for (int i = 0; i < SLICES; i++)
        trainer_chunk_clear(&t->chunks[i]);
    trainer_choice_clear(&t->choice);
    target_cache_clear(&t->cache);
    target_cache_clear(&t->stable_cache);
    free(t->gradient);
    free(t->whole);
    free(t->product);
    free(t->parts);
    if (t->owns_noise)
        noise_source_free(t->noise);
    trainer_state_clear(&t->state);
    free(t);
}

enum algorithm_status trainer_run(const struct algorithm_run *run,
                                  const struct trainer_settings *settings, float **out_parameters,
                                  const char **message)
{
    assert(mlp_shape_valid(&settings->rule.shape) && settings->rule.errors);
    *message = "";
    struct trainer *t = memory_new(1, sizeof *t);
    t->run = run;
    t->settings = settings;
    enum algorithm_status status = trainer_prepare(t, message);
    if (status == ALGORITHM_OK)
        status = choose_candidates(t); /* what a continued run was in the middle of */
    while (status == ALGORITHM_OK && t->state.steps_done < run->plan->total_steps) {
        status = feed_data(t, message);
        if (status != ALGORITHM_OK)
            break;
        trainer_step(t);
        status = choose_candidates(t);
        if (status == ALGORITHM_OK && t->state.steps_done % t->pulse_interval == 0 &&
            t->state.steps_done < run->plan->total_steps)
            status = trainer_pulse(t);
    }
    if (status != ALGORITHM_OK)
        goto cleanup;
    *out_parameters = trainer_take_result(settings, &t->state);
    if (!*out_parameters && run->hides_divergence) /* all weights are zero */
        *out_parameters = memory_new(t->state.count, sizeof **out_parameters);
    if (!*out_parameters) { /* under a mechanism post-processing: a function of noised weights alone
                             */
        *message = "the weights grew without bound; a smaller learning rate helps";
        status = ALGORITHM_BAD_INPUT;
    }

cleanup:
    trainer_free(t);
    return status;
}
