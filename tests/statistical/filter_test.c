/* The audit of an account: somebody who sees every answer chooses the next release, and when to
 * stop, so that the loss of all that was released passes the account's epsilon as often as it can.
 *
 * The spender first buys Gaussian answers, and more of them while they tell much. An account that
 * sets a part of delta aside then pays for releases that tell everything with a small probability.
 * What is left goes to gambles. A gamble tells, with a probability that its price fixes, just as
 * much as is missing, and otherwise nearly nothing. The proof loses little against such a spender
 * (docs/proofs/budgets.md): (1 - exp(-x))^+ meets its bound at a loss of ln(order / (order - 1))
 * above epsilon, and this is aimed for.
 *
 * Accounts are broken on purpose in two ways. One gives a price back when its release told nothing,
 * that is, it pays for what was lost and not for what could be. One does not count the deltas of
 * single releases. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/accounting/accountant_renyi.h"
#include "algos/privacy/answers/filter.h"
#include "tests/statistical/audit.h"

#define EPSILON 1.0
#define DELTA   0.01
#define SHARE   0.4  /* set aside, where anything is */
#define LEAST   1e-3 /* divergence; nobody gambles for less */

enum { GAUSSIANS = 2, REVELATIONS = 40, GAMBLES = 20 };

/* What can be bought at the account's order. */
struct offer {
    struct mechanism mechanism;
    struct renyi_price price;
};

struct game {
    double order, share; /* 0: nothing is set aside */
    bool gives_back;     /* what a release cost that told nothing */
    bool counts_no_delta;
    struct offer loud, quiet; /* Gaussians with little noise and with much */
    struct offer revelation;  /* tells everything, rarely */
};

struct player {
    const struct game *game;
    struct noise_source *noise;
    struct filter account;
    double loss; /* of all that was released: ln of its probability with the unit over without */
    bool with;
};

static struct offer offer_of(double order, struct mechanism mechanism)
{
    struct offer offer = {.mechanism = mechanism};
    const struct composition once = {.part = &(struct composition_part){mechanism, 1}, .count = 1};
    cr_assert(accountant_renyi_price(&once, order, &offer.price));
    return offer;
}

static struct game game_of(double share)
{
    struct game game = {.order = filter_plan_order(EPSILON, DELTA * (1.0 - share)), .share = share};
    struct mechanism gaussian = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN, .gaussian = {1.0, 7.0}};
    game.loud = offer_of(game.order, gaussian);
    gaussian.gaussian.noise_multiplier = 20.0;
    game.quiet = offer_of(game.order, gaussian);
    game.revelation =
        offer_of(game.order, (struct mechanism){.kind = MECHANISM_EPSILON_DELTA,
                                                .pair = {0.01, DELTA * share * 0.249}});
    return game;
}

/* Pays for a release that then happens, if the account can. */
static bool buy(struct player *player, const struct renyi_price *price)
{
    const struct filter_price units = {
        (int64_t)ceil(price->divergence / FILTER_UNIT),
        player->game->counts_no_delta ? 0 : (int64_t)ceil(price->delta / FILTER_DELTA_UNIT)};
    return filter_spend(&player->account, &units);
}

/* What was paid for has happened. */
static void learn(struct player *player, double loss, const struct renyi_price *paid)
{
    player->loss += loss;
    if (player->game->gives_back && loss <= 0.0)
        player->account.spent_units -= (int64_t)ceil(paid->divergence / FILTER_UNIT);
}

static void buy_gaussian(struct player *player, const struct offer *offer)
{
    const double noise = offer->mechanism.gaussian.noise_multiplier;
    if (!buy(player, &offer->price))
        return;
    const double normal = sqrt(-2.0 * log1p(-noise_uniform(player->noise))) *
                          cos(2.0 * M_PI * noise_uniform(player->noise));
    const double answer = (player->with ? 1.0 : 0.0) + noise * normal;
    learn(player, (answer - 0.5) / (noise * noise), &offer->price);
}

/* Tells everything with its delta, and is randomised response otherwise. False: it was too dear. */
static bool buy_revelation(struct player *player, const struct offer *offer)
{
    const double epsilon = offer->mechanism.pair.epsilon;
    if (!buy(player, &offer->price))
        return false;
    if (noise_uniform(player->noise) < offer->mechanism.pair.delta) {
        player->loss = player->with ? INFINITY : -INFINITY;
        return true;
    }
    const bool truth = noise_uniform(player->noise) < 1.0 / (1.0 + exp(-epsilon));
    learn(player, truth == player->with ? epsilon : -epsilon, &offer->price);
    return true;
}

/* With the unit it wins with the probability that all that is left pays for. Winning loses MISSING,
 * and not winning loses a little less than nothing. False: it was too dear. */
static bool buy_gamble(struct player *player, double missing)
{
    const int64_t left = player->account.limit_units - player->account.spent_units;
    const double c = player->game->order - 1.0, spend = (double)left * FILTER_UNIT;
    const double with = fmin(0.9, expm1(c * spend) * exp(-c * missing));
    const double without = with * exp(-missing);
    const double otherwise = log1p(-with) - log1p(-without);
    const double there = with * exp(c * missing) + (1.0 - with) * exp(c * otherwise);
    const double back = without * exp(-c * missing) + (1.0 - without) * exp(-c * otherwise);
    const struct renyi_price price = {.divergence = log(fmax(there, back)) / c};
    if (spend < LEAST || !buy(player, &price))
        return false;
    const bool wins = noise_uniform(player->noise) < (player->with ? with : without);
    learn(player, wins ? missing : otherwise, &price);
    return true;
}

/* One game; its statistic is the loss of all that was released. After a revelation without the
 * unit there is nothing left to win. */
static double play_game(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct game *game = mechanism;
    const double aim = EPSILON + log(game->order / (game->order - 1.0));
    struct player player = {.game = game, .noise = noise, .with = with};
    cr_assert(game->share > 0.0
                  ? filter_open_shared(&player.account, game->order, EPSILON, DELTA, game->share)
                  : filter_open(&player.account, game->order, EPSILON, DELTA));
    for (int i = 0; i < GAUSSIANS; i++)
        buy_gaussian(&player, player.loss > 0.0 ? &game->loud : &game->quiet);
    for (int i = 0; i < REVELATIONS && game->share > 0.0; i++)
        if (player.loss >= EPSILON || isinf(player.loss) ||
            !buy_revelation(&player, &game->revelation))
            break;
    for (int i = 0; i < GAMBLES && player.loss < EPSILON && isfinite(player.loss); i++)
        if (!buy_gamble(&player, aim - player.loss))
            break;
    return player.loss;
}

static struct audit audit_of(enum audit_name name, const char *title, uint32_t samples)
{
    return (struct audit){.name = name,
                          .title = title,
                          .epsilon = EPSILON,
                          .delta = DELTA,
                          .claim = AUDIT_PAIR,
                          .samples = samples,
                          .statistic = play_game};
}

Test(audit, of_an_account_whose_spender_sees_every_answer)
{
    const struct audit audit = audit_of(AUDIT_FILTER, "Renyi account", 200000);
    const struct game game = game_of(0.0);
    struct game broken = game;
    broken.gives_back = true;
    audit_holds(&audit, &game);
    audit_exceeds(&audit, &broken, "gives back what told nothing");
}

Test(audit, of_an_account_that_sets_a_part_of_delta_aside)
{
    const struct audit audit = audit_of(AUDIT_FILTER_SHARED, "shared Renyi account", 200000);
    const struct game game = game_of(SHARE);
    struct game broken = game;
    broken.counts_no_delta = true;
    audit_holds(&audit, &game);
    audit_exceeds(&audit, &broken, "counts no delta");
}
