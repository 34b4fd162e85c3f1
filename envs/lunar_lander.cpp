/* LunarLander-v3 (Gymnasium 1.4.0, envs/box2d/lunar_lander.py, MIT), discrete, written anew over
 * Debian's Box2D 2.4.1: a lander, two legs on springs, eleven pieces of ground.
 *
 * Calls of Box2D come in the reference's order, everything outside it is computed in double and
 * rounded to float at the call: over the Box2D 2.3.0 that Gymnasium brings, this order reproduces
 * Gymnasium's bits. Version 2.4 solves the legs' joints and their limits in turn where 2.3 solved
 * them together, and with the reference's 180 rounds a leg that hits the ground can kick the lander
 * into a spin that the reference does not know. 600 rounds in the steps that begin with a leg on
 * the ground bring the returns back to the reference's. The reference's smoke is left out.
 *
 * Box2D fills a table of contacts when the first world meets its first contact, without a lock;
 * lander_open has that happen once. It counts its work in a few globals that nobody reads. It
 * asserts that numbers are numbers: only checked ones get there. Where it runs out of memory it
 * would go on with a null pointer: b2Alloc_Default below takes the place of its own, throws, and no
 * exception leaves this file. A world that broke so is thrown away. */
#include "envs/lunar_lander.h"

#include <algorithm>
#include <box2d/box2d.h>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

void *b2Alloc_Default(int32 size)
{
    void *bytes = std::malloc(static_cast<size_t>(size));
    if (bytes == nullptr)
        throw std::bad_alloc();
    return bytes;
}

namespace
{

enum { GRAVITY, WIND_POWER, TURBULENCE_POWER, PARAMETER_COUNT };
enum { NOTHING, LEFT_ENGINE, MAIN_ENGINE, RIGHT_ENGINE, ACTIONS };
enum { OBSERVED = 8 };

/* Bounds: Gymnasium's, which leaves out both ends for gravity and only warns about wind. */
const struct env_parameter parameter_table[PARAMETER_COUNT] = {
    {"gravity", -10.0, -12.0, -0.1, "m/s^2", "acceleration of free fall; downwards is negative"},
    {"wind_power", 0.0, 0.0, 20.0, "N", "largest force of the wind on a lander in the air"},
    {"turbulence_power", 0.0, 0.0, 2.0, "N m", "largest torque of the wind on a lander in the air"},
};

constexpr double FPS = 50.0;
constexpr double SCALE = 30.0; /* pixels in a metre; lengths below are in pixels where divided */
constexpr double WIDTH = 600.0 / SCALE, HEIGHT = 400.0 / SCALE;
constexpr double PAD_Y = HEIGHT / 4;
constexpr double MAIN_ENGINE_POWER = 13.0, SIDE_ENGINE_POWER = 0.6;
constexpr double MAIN_ENGINE_DOWN = 4.0, SIDE_ENGINE_UP = 14.0, SIDE_ENGINE_AWAY = 12.0;
constexpr double LEG_AWAY = 20.0, LEG_DOWN = 18.0, LEG_W = 2.0, LEG_H = 8.0;
constexpr double FIRST_PUSH = 1000.0;
constexpr int WIND_PHASES = 9999;
constexpr int CHUNKS = 11; /* corners of the ground */
constexpr int ROUNDS_IN_AIR = 180, ROUNDS_ON_GROUND = 600, POSITION_ROUNDS = 60;

b2Vec2 vec(double x, double y)
{
    return {static_cast<float>(x), static_cast<float>(y)};
}

/* Which fixtures may collide: legs and lander with the ground alone. */
constexpr uint16 GROUND = 0x0001, LANDER = 0x0010, LEG = 0x0020;

struct lander final : public b2ContactListener {
    std::optional<b2World> world; /* none before the first reset */
    b2Body *hull, *leg[2];
    bool leg_down[2], hull_down, over;
    int wind_index, turbulence_index;
    double shaping;

    void BeginContact(b2Contact *contact) override
    {
        const b2Body *a = contact->GetFixtureA()->GetBody();
        const b2Body *b = contact->GetFixtureB()->GetBody();
        hull_down = hull_down || a == hull || b == hull;
        for (int i = 0; i < 2; i++)
            leg_down[i] = leg_down[i] || a == leg[i] || b == leg[i];
    }

    /* The reference forgets that a leg may touch two pieces of ground, and so does this. */
    void EndContact(b2Contact *contact) override
    {
        const b2Body *a = contact->GetFixtureA()->GetBody();
        const b2Body *b = contact->GetFixtureB()->GetBody();
        for (int i = 0; i < 2; i++)
            leg_down[i] = leg_down[i] && a != leg[i] && b != leg[i];
    }
};

static_assert(alignof(lander) <= alignof(double), "states are aligned as double");

bool lander_in_range(double value, double low, double high)
{
    return value >= low && value <= high; /* false for NaN */
}

bool are_within(const double *values, int count, double low, double high)
{
    return std::all_of(
        values, values + count, [=](double x) { return lander_in_range(x, low, high); });
}

bool are_good(const double *parameters)
{
    bool good = true;
    for (int i = 0; i < PARAMETER_COUNT; i++)
        good =
            good && lander_in_range(parameters[i], parameter_table[i].min, parameter_table[i].max);
    return good;
}

bool is_good(const struct lunar_lander_start *start)
{
    return are_within(start->heights, LUNAR_LANDER_HEIGHTS, 0.0, HEIGHT / 2) &&
           are_within(start->force, 2, -FIRST_PUSH, FIRST_PUSH) &&
           lander_in_range(start->wind_index, -WIND_PHASES, WIND_PHASES) &&
           lander_in_range(start->turbulence_index, -WIND_PHASES, WIND_PHASES);
}

bool has_wind(const double *parameters)
{
    return parameters[WIND_POWER] > 0.0 || parameters[TURBULENCE_POWER] > 0.0;
}

/* ---- the world */

b2Body *make_body(b2World *world, b2BodyType type, b2Vec2 position, double angle)
{
    b2BodyDef definition;
    definition.type = type;
    definition.position = position;
    definition.angle = static_cast<float>(angle);
    return world->CreateBody(&definition);
}

void attach(b2Body *body, const b2Shape &shape, float density, float friction, uint16 category)
{
    b2FixtureDef fixture;
    fixture.shape = &shape;
    fixture.density = density;
    fixture.friction = friction;
    fixture.filter.categoryBits = category;
    fixture.filter.maskBits = category == GROUND ? 0xFFFF : GROUND;
    body->CreateFixture(&fixture);
}

void make_ground(b2World *world, const double *drawn)
{
    double height[LUNAR_LANDER_HEIGHTS];
    std::memcpy(height, drawn, sizeof height);
    for (int i = CHUNKS / 2 - 2; i <= CHUNKS / 2 + 2; i++)
        height[i] = PAD_Y;
    /* 0.33 and not a third, and the height before the first is the last: as in the reference. */
    b2Vec2 corner[CHUNKS];
    for (int i = 0; i < CHUNKS; i++) {
        double before = height[i > 0 ? i - 1 : LUNAR_LANDER_HEIGHTS - 1];
        corner[i] = vec(WIDTH / (CHUNKS - 1) * i, 0.33 * (before + height[i] + height[i + 1]));
    }
    b2Body *moon = make_body(world, b2_staticBody, vec(0.0, 0.0), 0.0);
    b2EdgeShape edge;
    edge.SetTwoSided(vec(0.0, 0.0), vec(WIDTH, 0.0));
    attach(moon, edge, 0.0F, 0.2F, GROUND);
    for (int i = 0; i + 1 < CHUNKS; i++) {
        edge.SetTwoSided(corner[i], corner[i + 1]);
        attach(moon, edge, 0.0F, 0.1F, GROUND);
    }
}

b2Body *make_hull(b2World *world)
{
    static const double pixels[6][2] = {{-14, 17}, {-17, 0}, {-17, -10},
                                        {17, -10}, {17, 0},  {14, 17}};
    b2Body *hull = make_body(world, b2_dynamicBody, vec(WIDTH / 2, HEIGHT), 0.0);
    b2Vec2 corner[6];
    for (int i = 0; i < 6; i++)
        corner[i] = vec(pixels[i][0] / SCALE, pixels[i][1] / SCALE);
    b2PolygonShape shape;
    shape.Set(corner, 6);
    attach(hull, shape, 5.0F, 0.1F, LANDER);
    return hull;
}

/* SIDE is -1 for the first leg, +1 for the second. */
b2Body *make_leg(b2World *world, b2Body *hull, int side)
{
    b2Vec2 position = vec(WIDTH / 2 - side * LEG_AWAY / SCALE, HEIGHT);
    b2Body *leg = make_body(world, b2_dynamicBody, position, side * 0.05);
    b2PolygonShape shape;
    shape.SetAsBox(static_cast<float>(LEG_W / SCALE), static_cast<float>(LEG_H / SCALE));
    attach(leg, shape, 1.0F, 0.2F, LEG);

    b2RevoluteJointDef joint;
    joint.bodyA = hull;
    joint.bodyB = leg;
    joint.localAnchorB = vec(side * LEG_AWAY / SCALE, LEG_DOWN / SCALE);
    joint.referenceAngle = leg->GetAngle() - hull->GetAngle();
    joint.enableMotor = true;
    joint.enableLimit = true;
    joint.maxMotorTorque = 40.0F;
    joint.motorSpeed = static_cast<float>(0.3 * side);
    joint.lowerAngle = static_cast<float>(side < 0 ? 0.9 - 0.5 : -0.9);
    joint.upperAngle = static_cast<float>(side < 0 ? 0.9 : -0.9 + 0.5);
    world->CreateJoint(&joint);
    return leg;
}

/* ---- a step */

/* Between -1 and 1, with no period: INDEX counts the steps in the air. */
double gust(int index)
{
    return std::tanh(std::sin(0.02 * index) + std::sin(M_PI * 0.01 * index));
}

void blow(lander *l, const double *parameters)
{
    if (!has_wind(parameters) || l->leg_down[0] || l->leg_down[1])
        return;
    l->hull->ApplyForceToCenter(vec(gust(l->wind_index++) * parameters[WIND_POWER], 0.0), true);
    l->hull->ApplyTorque(
        static_cast<float>(gust(l->turbulence_index++) * parameters[TURBULENCE_POWER]), true);
}

/* Fires the engine of ACTION; returns the fuel it uses. */
double fire(lander *l, unsigned action, const double *dispersion)
{
    if (action == NOTHING)
        return 0.0;
    b2Vec2 at = l->hull->GetPosition();
    double angle = l->hull->GetAngle();
    double tip[2] = {std::sin(angle), std::cos(angle)}, side[2] = {-tip[1], tip[0]};
    double d[2] = {dispersion[0] / SCALE, dispersion[1] / SCALE};
    if (action == MAIN_ENGINE) {
        double down = MAIN_ENGINE_DOWN / SCALE + 2 * d[0];
        double x = tip[0] * down + side[0] * d[1];
        double y = -tip[1] * down - side[1] * d[1];
        l->hull->ApplyLinearImpulse(vec(-x * MAIN_ENGINE_POWER, -y * MAIN_ENGINE_POWER),
                                    vec(at.x + x, at.y + y), true);
        return 0.30;
    }
    double direction = action == LEFT_ENGINE ? -1.0 : 1.0;
    double away = 3 * d[1] + direction * SIDE_ENGINE_AWAY / SCALE;
    double x = tip[0] * d[0] + side[0] * away;
    double y = -tip[1] * d[0] - side[1] * away;
    /* 17 for x and 14 for y: as in the reference. */
    l->hull->ApplyLinearImpulse(
        vec(-x * SIDE_ENGINE_POWER, -y * SIDE_ENGINE_POWER),
        vec(at.x + x - tip[0] * 17.0 / SCALE, at.y + y + tip[1] * SIDE_ENGINE_UP / SCALE), true);
    return 0.03;
}

void lander_observe(const lander *l, double *seen)
{
    b2Vec2 at = l->hull->GetPosition(), speed = l->hull->GetLinearVelocity();
    seen[0] = (at.x - WIDTH / 2) / (WIDTH / 2);
    seen[1] = (at.y - (PAD_Y + LEG_DOWN / SCALE)) / (HEIGHT / 2);
    seen[2] = speed.x * (WIDTH / 2) / FPS;
    seen[3] = speed.y * (HEIGHT / 2) / FPS;
    seen[4] = l->hull->GetAngle();
    seen[5] = 20.0 * l->hull->GetAngularVelocity() / FPS;
    seen[6] = l->leg_down[0] ? 1.0 : 0.0;
    seen[7] = l->leg_down[1] ? 1.0 : 0.0;
}

/* The potential of a state. The changes of the potential are the reward. */
double shaping_of(const double *seen)
{
    return -100 * std::sqrt(seen[0] * seen[0] + seen[1] * seen[1]) -
           100 * std::sqrt(seen[2] * seen[2] + seen[3] * seen[3]) - 100 * std::fabs(seen[4]) +
           10 * seen[6] + 10 * seen[7];
}

/* Makes one step of the world; returns the fuel it took. */
double move(lander *l, const double *parameters, unsigned action, const double *dispersion)
{
    l->world->SetGravity(vec(0.0, parameters[GRAVITY]));
    blow(l, parameters);
    double fuel = fire(l, action, dispersion);
    bool on_ground = l->leg_down[0] || l->leg_down[1];
    l->world->Step(static_cast<float>(1.0 / FPS), on_ground ? ROUNDS_ON_GROUND : ROUNDS_IN_AIR,
                   POSITION_ROUNDS);
    return fuel;
}

void lander_start(lander *l, const double *parameters, const struct lunar_lander_start *start,
                  double *observation)
{
    /* A new world, as in the reference: what one remembers of its past cannot be set back. */
    l->world.emplace(vec(0.0, parameters[GRAVITY]));
    l->hull = l->leg[0] = l->leg[1] = nullptr;
    l->leg_down[0] = l->leg_down[1] = l->hull_down = l->over = false;
    l->wind_index = start->wind_index;
    l->turbulence_index = start->turbulence_index;
    b2World *world = &*l->world;
    world->SetContactListener(l);
    make_ground(world, start->heights);
    l->hull = make_hull(world);
    l->hull->ApplyForceToCenter(vec(start->force[0], start->force[1]), true);
    l->leg[0] = make_leg(world, l->hull, -1);
    l->leg[1] = make_leg(world, l->hull, 1);
    static const double no_dispersion[2] = {0.0, 0.0};
    move(l, parameters, NOTHING, no_dispersion);
    lander_observe(l, observation);
    l->shaping = shaping_of(observation);
}

struct env_outcome lander_advance(lander *l, const double *parameters, unsigned action,
                                  const double *dispersion, double *observation)
{
    struct env_outcome outcome = {0.0, true, false};
    if (l->over) {
        lander_observe(l, observation);
        return outcome;
    }
    double fuel = move(l, parameters, action, dispersion);
    lander_observe(l, observation);
    double shaping = shaping_of(observation);
    bool lost = l->hull_down || std::fabs(observation[0]) >= 1.0;
    bool at_rest = !l->hull->IsAwake();
    outcome.reward = shaping - l->shaping - fuel;
    if (lost)
        outcome.reward = -100.0;
    if (at_rest)
        outcome.reward = 100.0;
    outcome.terminated = l->over = lost || at_rest;
    l->shaping = shaping;
    return outcome;
}

/* ---- the table's row */

/* Has Box2D fill its table of contacts. */
bool meet_first_contact()
{
    auto world = std::make_unique<b2World>(vec(0.0, -1.0));
    b2EdgeShape edge;
    edge.SetTwoSided(vec(-1.0, 0.0), vec(1.0, 0.0));
    attach(make_body(world.get(), b2_staticBody, vec(0.0, 0.0), 0.0), edge, 0.0F, 0.2F, GROUND);
    make_hull(world.get())->SetTransform(vec(0.0, 0.0), 0.0F);
    world->Step(0.01F, 1, 1);
    return world->GetContactCount() == 1;
}

bool lander_open(const struct env *, void *state)
{
    try {
        static const bool met = meet_first_contact(); /* by one thread; the others wait */
        new (state) lander();
        return met;
    } catch (...) {
        return false;
    }
}

void lander_close(void *state)
{
    static_cast<lander *>(state)->~lander();
}

bool lander_reset(void *state, const double *parameters, struct rng *rng, double *observation)
{
    struct lunar_lander_start start = {};
    if (!are_good(parameters))
        return false;
    for (double &height : start.heights)
        height = rng_between(rng, 0.0, HEIGHT / 2);
    for (double &force : start.force)
        force = rng_between(rng, -FIRST_PUSH, FIRST_PUSH);
    if (has_wind(parameters)) {
        start.wind_index = static_cast<int>(rng_below(rng, 2 * WIND_PHASES)) - WIND_PHASES;
        start.turbulence_index = static_cast<int>(rng_below(rng, 2 * WIND_PHASES)) - WIND_PHASES;
    }
    return lunar_lander_begin(state, parameters, &start, observation);
}

struct env_outcome lander_step(void *state, const double *parameters, unsigned action,
                               struct rng *rng, double *observation)
{
    double dispersion[2]; /* drawn whatever the action is */
    for (double &d : dispersion)
        d = rng_between(rng, -1.0, 1.0);
    return lunar_lander_advance(state, parameters, action, dispersion, observation);
}

constexpr struct env row()
{
    struct env env = {};
    env.name = "lunar_lander";
    env.state_dim = OBSERVED;
    env.action_count = ACTIONS;
    env.max_episode_steps = 1000;
    env.random_return = -184.0;
    env.step_work = 4e4;
    env.parameters = parameter_table;
    env.parameter_count = PARAMETER_COUNT;
    env.state_size = sizeof(lander);
    env.open = lander_open;
    env.close = lander_close;
    env.reset = lander_reset;
    env.step = lander_step;
    return env;
}

} // namespace

extern "C" bool lunar_lander_begin(void *state, const double *parameters,
                                   const struct lunar_lander_start *start, double *observation)
{
    auto *l = static_cast<lander *>(state);
    if (!are_good(parameters) || !is_good(start))
        return false;
    try {
        lander_start(l, parameters, start, observation);
        return true;
    } catch (...) {
        l->world.reset();
        return false;
    }
}

extern "C" struct env_outcome lunar_lander_advance(void *state, const double *parameters,
                                                   unsigned action, const double *dispersion,
                                                   double *observation)
{
    assert(action < ACTIONS);
    auto *l = static_cast<lander *>(state);
    const struct env_outcome broken = {0.0, false, true};
    if (!l->world || !are_good(parameters) || !are_within(dispersion, 2, -1.0, 1.0))
        return broken;
    try {
        return lander_advance(l, parameters, action, dispersion, observation);
    } catch (...) {
        l->world.reset();
        return broken;
    }
}

const struct env lunar_lander_env = row();
