/* Maps the settings that the reference worlds record, under their own names, to our parameters. A
 * setting that is not one of our parameters must have the value that our world is built on;
 * otherwise the episode is from another world. */
#include "api/wire/replay_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A setting that is not ours to vary: a number, or true or false. */
struct fixed {
    const char *world, *name;
    double number;
    bool is_flag; /* then NUMBER is 0 or 1 */
};

static const struct fixed FIXED[] = {
    {"cartpole", "tau", 0.02, false},
    {"cartpole", "theta_threshold_radians", 12 * 2 * M_PI / 360, false},
    {"cartpole", "x_threshold", 2.4, false},
    {"acrobot", "dt", 0.2, false},
    {"acrobot", "max_vel_1", 4 * M_PI, false},
    {"acrobot", "max_vel_2", 9 * M_PI, false},
    {"acrobot", "torque_noise_max", 0, false},
    {"lunar_lander", "continuous", 0, true},
};

static bool is_number(const json_t *value, double wanted)
{
    return json_is_number(value) && fabs(json_number_value(value) - wanted) <= 1e-12 * fabs(wanted);
}

static bool is_fixed(const char *world, const char *name, const json_t *value)
{
    for (size_t i = 0; i < sizeof FIXED / sizeof *FIXED; i++) {
        const struct fixed *f = &FIXED[i];
        if (strcmp(f->world, world) != 0 || strcmp(f->name, name) != 0)
            continue;
        return f->is_flag ? json_is_boolean(value) && json_is_true(value) == (f->number != 0.0)
                          : is_number(value, f->number);
    }
    return false;
}

static double *parameter_at(const struct env *env, double *parameters, const char *name)
{
    return &parameters[env_parameter_index(env, name)];
}

/* Reads a text that turns PARAMETER off or on; false: it is neither. */
static bool read_words(const json_t *value, const char *off, const char *on, double *parameter)
{
    if (!json_is_string(value))
        return false;
    *parameter = strcmp(json_string_value(value), on) == 0;
    return *parameter == 1.0 || strcmp(json_string_value(value), off) == 0;
}

/* The integrator, and two numbers that follow from the others. */
static bool read_cartpole(const char *name, const json_t *value, const struct env *env,
                          double *parameters)
{
    double pole = *parameter_at(env, parameters, "masspole");
    if (strcmp(name, "kinematics_integrator") == 0)
        return read_words(value, "euler", "semi-implicit euler",
                          parameter_at(env, parameters, "semi_implicit"));
    if (strcmp(name, "total_mass") == 0)
        return is_number(value, pole + *parameter_at(env, parameters, "masscart"));
    return strcmp(name, "polemass_length") == 0 &&
           is_number(value, pole * *parameter_at(env, parameters, "length"));
}

static bool read_acrobot(const char *name, const json_t *value, const struct env *env,
                         double *parameters)
{
    if (strcmp(name, "link_length_2") == 0)
        return json_is_number(value); /* for drawing only: no effect on the episode */
    if (strcmp(name, "avail_torque") == 0)
        return json_array_size(value) == 3 && is_number(json_array_get(value, 0), -1.0) &&
               is_number(json_array_get(value, 1), 0.0) && is_number(json_array_get(value, 2), 1.0);
    return strcmp(name, "book_or_nips") == 0 &&
           read_words(value, "nips", "book", parameter_at(env, parameters, "centrifugal"));
}

/* Without wind its powers mean nothing. */
static bool read_lander(const char *name, const json_t *value, const struct env *env,
                        double *parameters)
{
    if (strcmp(name, "enable_wind") != 0 || !json_is_boolean(value))
        return false;
    if (json_is_false(value))
        *parameter_at(env, parameters, "wind_power") =
            *parameter_at(env, parameters, "turbulence_power") = 0.0;
    return true;
}

/* Settings that take more than a value to read; each sees our own parameters already read. */
static const struct {
    const char *world;
    bool (*read)(const char *name, const json_t *value, const struct env *env, double *parameters);
} SPECIAL[] = {
    {"cartpole", read_cartpole},
    {"acrobot", read_acrobot},
    {"lunar_lander", read_lander},
};

static bool is_special(const struct env *env, const char *name, const json_t *value,
                       double *parameters)
{
    for (size_t i = 0; i < sizeof SPECIAL / sizeof *SPECIAL; i++)
        if (strcmp(SPECIAL[i].world, env->name) == 0)
            return SPECIAL[i].read(name, value, env, parameters);
    return false;
}

static bool refuse_setting(const char *name, const json_t *value, char *reason, size_t size)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    snprintf(reason, size, "%.40s %.60s: not a setting of this world", name, text ? text : "");
    free(text);
    return false;
}

/* A parameter's value: a number within its bounds; true and false are 1 and 0 of a switch. */
static bool replay_read_parameter(const struct env_parameter *p, const json_t *value, double *out)
{
    bool is_switch = json_is_boolean(value) && p->min == 0.0 && p->max == 1.0;
    double number = is_switch ? (double)json_is_true(value) : json_number_value(value);
    if (!(is_switch || json_is_number(value)) || !(number >= p->min && number <= p->max))
        return false;
    *out = number;
    return true;
}

bool replay_settings_read(const struct replay_world *world, const json_t *params,
                          struct replay_case *out, char *reason, size_t size)
{
    const struct env *env = world->env;
    json_t *object = (json_t *)params; /* iterated, not changed */
    const char *name;
    json_t *value;
    env_defaults(env, out->parameters);
    out->limit = env->max_episode_steps;
    json_object_foreach(object, name, value)
    {
        int index = env_parameter_index(env, name);
        if (index >= 0 &&
            !replay_read_parameter(&env->parameters[index], value, &out->parameters[index]))
            return refuse_setting(name, value, reason, size);
    }
    json_object_foreach(object, name, value)
    {
        json_int_t limit = json_integer_value(value);
        if (strcmp(name, "max_episode_steps") == 0 && limit > 0 && limit <= UINT32_MAX)
            out->limit = (uint32_t)limit;
        else if (env_parameter_index(env, name) < 0 && !is_fixed(env->name, name, value) &&
                 !is_special(env, name, value, out->parameters))
            return refuse_setting(name, value, reason, size);
    }
    return true;
}
