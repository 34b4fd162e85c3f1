/* Reads "choose" from requests, and writes and reads it in plans. Also reads the world and length
 * of any play that a request asks for. */
#include "api/jobs/ask/job_parts.h"

#include <stdio.h>

#include "api/call/app.h"
#include "api/call/fields.h"
#include "api/data/environment_choice.h"
#include "api/jobs/ask/plan_members.h"
#include "api/policies/environment_find.h"
#include "api/worlds/world_program.h"

#define CANDIDATES   20
#define EPISODES     20
#define EPISODES_MAX 1000
#define STEPS_MAX    10000

bool job_playing_read(struct call *call, const char *pointer, const json_t *object,
                      struct environment_choice *place, struct choice *out)
{
    char at[48];
    json_t *environment = NULL;
    int64_t candidates = out->candidates, episodes = out->episodes, steps = 0;
    struct field fields[4] = {field_any("environment", &environment)};
    size_t count = 1;
    if (out->candidates > 0)
        fields[count++] =
            field_optional(field_integer("candidates", &candidates, 1, CHOICE_MAX_CANDIDATES));
    fields[count++] = field_optional(field_integer("episodes", &episodes, 1, EPISODES_MAX));
    fields[count++] = field_optional(field_integer("max_episode_steps", &steps, 1, STEPS_MAX));
    snprintf(at, sizeof at, "%s/environment", pointer);
    if (!fields_read(call, object, pointer, fields, count) ||
        !environment_choice_read(call, at, environment, true, place))
        return false;
    if (steps == 0)
        steps = place->env->max_episode_steps;
    if (steps > STEPS_MAX)
        steps = STEPS_MAX;
    *out = (struct choice){.candidates = (uint32_t)candidates,
                           .episodes = (uint32_t)episodes,
                           .max_steps = (uint32_t)steps};
    return true;
}

enum problem job_playing_fit(struct call *call, const char *pointer, const struct job_world *world,
                             const char *source, const struct job_plan *plan)
{
    const struct env *env = NULL;
    const struct algorithm_request *request = &plan->request;
    if (world->name[0] == '\0')
        return PROBLEM_NONE;
    enum problem problem = environment_find(call, pointer, world->name, &env);
    if (problem != PROBLEM_NONE)
        return problem;
    if ((env->state_dim == request->state_dim && env->action_count == request->action_count))
        return PROBLEM_NONE;
    return call_invalid(
        call, pointer, "has states of %u numbers and %u actions; the %s has %u and %u",
        env->state_dim, env->action_count, source, request->state_dim, request->action_count);
}

void job_choose_read(struct call *call, const json_t *object, struct job_plan *out)
{
    struct environment_choice place;
    struct choice choice = {.candidates = CANDIDATES, .episodes = EPISODES};
    if (!object || !job_playing_read(call, "/choose", object, &place, &choice))
        return;
    if (worlds_program(place.env)) {
        call_invalid(
            call, "/choose/environment",
            "must be built in: a program would see the play of policies that a crash may undo");
        return;
    }
    job_world_set(&out->choose, &place);
    out->request.choice = choice;
}

static const struct plan_member choose_members[] = {
    PLAN_MEMBER("candidates", request.choice.candidates),
    PLAN_MEMBER("episodes", request.choice.episodes),
    PLAN_MEMBER("max_episode_steps", request.choice.max_steps),
    {.name = NULL},
};

json_t *job_choose_json(const struct job_plan *plan)
{
    json_t *json = json_object();
    if (plan->request.choice.candidates == 0)
        return json;
    job_world_write(&plan->choose, json);
    plan_members_write(choose_members, plan, json);
    return json;
}

bool job_choose_parse(const json_t *json, struct job_plan *out)
{
    const struct choice *choice = &out->request.choice;
    plan_members_read(choose_members, json, out);
    bool fits = choice->candidates <= CHOICE_MAX_CANDIDATES && choice->episodes <= EPISODES_MAX &&
                choice->max_steps <= STEPS_MAX;
    bool whole = choice->candidates == 0 || (choice->episodes > 0 && choice->max_steps > 0);
    return fits && whole && job_world_read(json, &out->choose) &&
           (choice->candidates > 0) == (out->choose.name[0] != '\0');
}

bool job_choose_place(const struct app *app, const struct job_plan *plan, double *physics,
                      struct choice_place *out)
{
    *out = (struct choice_place){0};
    if (plan->request.choice.candidates == 0)
        return true;
    const struct env *world = worlds_find(app->settings.worlds, plan->choose.name);
    if (!world || worlds_program(world) || !job_world_physics(&plan->choose, world, physics))
        return false;
    *out = (struct choice_place){.world = world, .physics = physics};
    return true;
}
