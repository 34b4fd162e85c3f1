/* One trajectory out of tokens.
 *
 * DESIGN. Malformed JSON ends the reading, because nothing after it can be trusted. An invalid
 * value in well-formed JSON is reported with its pointer and skipped, and reading goes on, so that
 * one upload reports many faults. Counts stop one above what is allowed. */
#include "api/data/json_trajectory.h"
#include "memory/wipe.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/near_name.h"
#include "api/json/text.h"

enum member { EXPERT, STATES, ACTIONS, REWARDS, TERMINATED, TRUNCATED, MEMBER_COUNT };

static const char *const member_names[MEMBER_COUNT] = {"expert",  "states",     "actions",
                                                       "rewards", "terminated", "truncated"};

bool json_trajectory_open(struct json_trajectory *hand, struct json_scan *scan,
                          const struct json_stream_shape *shape, struct json_stream_faults faults)
{
    *hand = (struct json_trajectory){.scan = scan, .shape = *shape, .faults = faults};
    size_t steps = shape->max_episode_steps;
    hand->states = calloc(steps + 1, shape->state_dim * sizeof(float));
    hand->rewards = calloc(steps, sizeof(float));
    hand->actions = calloc(steps, sizeof(uint16_t));
    if (!hand->states || !hand->rewards || !hand->actions) {
        json_trajectory_close(hand);
        return false;
    }
    return true;
}

void json_trajectory_close(struct json_trajectory *hand)
{
    wipe_free(hand->states);
    wipe_free(hand->rewards);
    wipe_free(hand->actions);
}

/* ---- faults */

/* Reports DETAIL at the pointer that the format makes. */
__attribute__((format(printf, 3, 4))) static void
trajectory_fault(struct json_trajectory *hand, const char *detail, const char *format, ...)
{
    char pointer[256];
    int used = 0;
    if (hand->in_array)
        used = snprintf(pointer, sizeof pointer, "/%llu", (unsigned long long)hand->element);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(pointer + used, sizeof pointer - (size_t)used, format, arguments);
    va_end(arguments);
    hand->faulty = true;
    hand->faults.report(hand->faults.context, hand->start, pointer, detail);
}

/* Reports the next value at the pointer that the format makes, and skips it. */
__attribute__((format(printf, 3, 4))) static bool
trajectory_fault_value(struct json_trajectory *hand, const char *detail, const char *format, ...)
{
    char pointer[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(pointer, sizeof pointer, format, arguments);
    va_end(arguments);
    if (!json_scan_skip(hand->scan, 3))
        return false;
    trajectory_fault(hand, detail, "%s", pointer);
    return true;
}

/* ---- values */

static bool begins_number(unsigned char c)
{
    return c == '-' || (c >= '0' && c <= '9');
}

/* After an element: true when another follows, false at the closing bracket or a fault. */
static inline bool another_follows(struct json_scan *scan)
{
    if (*scan->at == ',' || json_scan_peek(scan) == ',') {
        scan->at++;
        return true;
    }
    json_scan_expect(scan, ']', "A ',' or ']' was expected.");
    return false;
}

/* True when an array begins that has an element; else *out_good says whether it was an empty one.
 */
static bool open_array(struct json_scan *scan, bool *out_good)
{
    *out_good = json_scan_expect(scan, '[', "A '[' was expected.");
    if (*out_good && json_scan_peek(scan) == ']') {
        scan->at++;
        return false;
    }
    return *out_good;
}

static bool read_expert(struct json_trajectory *hand)
{
    if (json_scan_peek(hand->scan) != '"')
        return trajectory_fault_value(hand, "must be a string", "/expert");
    size_t size;
    bool cut;
    if (!json_scan_string(hand->scan, hand->expert, sizeof hand->expert, &size, &cut))
        return false;
    if (cut)
        size = EXPERT_NAME_MAX + 1;
    const char *problem = expert_name_problem(hand->expert, size);
    if (problem)
        trajectory_fault(hand, problem, "/expert");
    return true;
}

/* Checks the state ROW against the dataset's description. */
static void check_described(struct json_trajectory *hand, float *row, uint32_t index)
{
    const struct description *description = hand->shape.description;
    char detail[DESCRIPTION_FAULT_SIZE];
    for (unsigned f = 0; f < description->feature_count; f++) {
        uint32_t at;
        if (!description_fit(description, f, row, &at, detail))
            trajectory_fault(hand, detail, "/states/%u/%u", index, at);
    }
}

/* Reads one state into ROW, which is NULL when there are too many states. */
static bool trajectory_row(struct json_trajectory *hand, float *row, uint32_t index)
{
    struct json_scan *scan = hand->scan;
    uint32_t dim = hand->shape.state_dim, count = 0;
    bool good, numbers = true;
    if (open_array(scan, &good)) {
        do {
            if (!begins_number(json_scan_peek(scan))) {
                numbers = false;
                good =
                    trajectory_fault_value(hand, "must be a number", "/states/%u/%u", index, count);
                count += count <= dim;
                continue;
            }
            struct json_number_token number;
            good = json_scan_number(scan, &number);
            if (good && !isfinite(number.value)) {
                numbers = false;
                trajectory_fault(hand, "is beyond the range of a 32-bit float", "/states/%u/%u",
                                 index, count);
            }
            if (good && count < dim && row)
                row[count] = number.value;
            count += count <= dim;
        } while (good && another_follows(scan));
    }
    if (!good || scan->fault)
        return false;
    if (count != dim) {
        char detail[80];
        snprintf(detail, sizeof detail, "must have %u numbers, the dataset's state_dim", dim);
        trajectory_fault(hand, detail, "/states/%u", index);
    } else if (hand->shape.description && numbers && row) {
        check_described(hand, row, index);
    }
    return true;
}

static bool trajectory_states(struct json_trajectory *hand)
{
    struct json_scan *scan = hand->scan;
    uint32_t most = hand->shape.max_episode_steps + 1;
    if (json_scan_peek(scan) != '[') {
        hand->rows_faulty = true;
        return trajectory_fault_value(hand, "must be an array of states", "/states");
    }
    bool good;
    if (open_array(scan, &good)) {
        do {
            uint32_t index = hand->rows;
            float *row = NULL;
            if (index < most)
                row = hand->states + (size_t)index * hand->shape.state_dim;
            if (json_scan_peek(scan) == '[')
                good = trajectory_row(hand, row, index);
            else
                good = trajectory_fault_value(hand, "must be an array of numbers", "/states/%u",
                                              index);
            hand->rows += hand->rows <= most;
        } while (good && another_follows(scan));
    }
    if (good && hand->rows > most) {
        hand->rows_faulty = true;
        trajectory_fault(hand, "has more states than the dataset's max_episode_steps + 1",
                         "/states");
    }
    return good && !scan->fault;
}

/* What is said of an action with a fraction. */
static const char action_advice[] =
    ": a continuous action is cut into bins first, as a description's \"edges\" do for tables";

/* Reads one action or reward at INDEX. Those past the end are not kept; the caller counts them. */
static bool read_item(struct json_trajectory *hand, enum member member, uint32_t index)
{
    struct json_number_token number = {0};
    const char *name = member_names[member];
    unsigned char first = json_scan_peek(hand->scan);
    if (member == ACTIONS && first == '[')
        return trajectory_fault_value(hand,
                                      "must be one integer: an action of several numbers is not "
                                      "supported",
                                      "/%s/%u", name, index);
    if (!begins_number(first))
        return trajectory_fault_value(hand, "must be a number", "/%s/%u", name, index);
    if (!json_scan_number(hand->scan, &number))
        return false;
    bool keep = index < hand->shape.max_episode_steps;
    if (member == REWARDS) {
        if (!isfinite(number.value))
            trajectory_fault(hand, "is beyond the range of a 32-bit float", "/rewards/%u", index);
        else if (keep)
            hand->rewards[index] = number.value;
        return true;
    }
    if (!number.integer || number.digits >= hand->shape.action_count) {
        char detail[160];
        snprintf(detail, sizeof detail, "must be an integer from 0 to %u%s",
                 hand->shape.action_count - 1,
                 number.value != floorf(number.value) ? action_advice : "");
        trajectory_fault(hand, detail, "/actions/%u", index);
    } else if (keep) {
        hand->actions[index] = (uint16_t)number.digits;
    }
    return true;
}

static bool trajectory_list(struct json_trajectory *hand, enum member member, uint32_t *out_count)
{
    struct json_scan *scan = hand->scan;
    uint32_t most = hand->shape.max_episode_steps;
    const char *name = member_names[member];
    if (json_scan_peek(scan) != '[') {
        hand->lists_faulty = true;
        return trajectory_fault_value(hand, "must be an array of numbers", "/%s", name);
    }
    bool good;
    if (open_array(scan, &good))
        do {
            good = read_item(hand, member, *out_count);
            *out_count += *out_count <= most;
        } while (good && another_follows(scan));
    if (good && *out_count > most) {
        hand->lists_faulty = true;
        trajectory_fault(hand, "has more elements than the dataset's max_episode_steps", "/%s",
                         name);
    }
    return good && !scan->fault;
}

static bool trajectory_flag(struct json_trajectory *hand, enum member member, bool *out)
{
    unsigned char c = json_scan_peek(hand->scan);
    if (c == 't' || c == 'f')
        return json_scan_bool(hand->scan, out);
    return trajectory_fault_value(hand, "must be true or false", "/%s", member_names[member]);
}

static bool trajectory_value(struct json_trajectory *hand, enum member member)
{
    switch (member) {
    case EXPERT: return read_expert(hand);
    case STATES: return trajectory_states(hand);
    case ACTIONS: return trajectory_list(hand, member, &hand->actions_count);
    case REWARDS: return trajectory_list(hand, member, &hand->rewards_count);
    case TERMINATED: return trajectory_flag(hand, member, &hand->terminated);
    default: return trajectory_flag(hand, member, &hand->truncated);
    }
}

/* ---- the object */

static bool trajectory_member(struct json_trajectory *hand)
{
    struct json_scan *scan = hand->scan;
    char name[EXPERT_NAME_MAX + 1];
    size_t size;
    bool cut;
    if (!json_scan_string(scan, name, sizeof name, &size, &cut) ||
        !json_scan_expect(scan, ':', "A ':' was expected after a name."))
        return false;
    for (unsigned i = 0; i < MEMBER_COUNT; i++) {
        if (strcmp(name, member_names[i]) != 0)
            continue;
        if (hand->seen & 1U << i)
            return trajectory_fault_value(hand, "is given twice", "/%s", name);
        hand->seen |= 1U << i;
        return trajectory_value(hand, (enum member)i);
    }
    char escaped[2 * EXPERT_NAME_MAX + 1] = "", detail[80];
    for (size_t i = 0, used = 0; name[i] != '\0'; i++)
        used += text_pointer_put(escaped + used, name[i]);
    const char *near = near_name(name, member_names, MEMBER_COUNT);
    snprintf(detail, sizeof detail, "is no member of a trajectory");
    if (near)
        snprintf(detail, sizeof detail, "is no member of a trajectory; did you mean \"%s\"?", near);
    return trajectory_fault_value(hand, detail, "/%s", escaped);
}

/* The lengths must agree: T >= 1 actions and rewards, T + 1 states. */
static void check_lengths(struct json_trajectory *hand)
{
    char detail[240];
    for (unsigned i = 0; i < MEMBER_COUNT; i++)
        if (!(hand->seen & 1U << i))
            trajectory_fault(hand, "is missing", "/%s", member_names[i]);
    unsigned flags = 1U << TERMINATED | 1U << TRUNCATED;
    if ((hand->seen & flags) == flags && !hand->terminated && !hand->truncated && !hand->faulty)
        trajectory_fault(hand, "must be true where terminated is false", "/truncated");
    unsigned lists = 1U << ACTIONS | 1U << REWARDS;
    if (hand->lists_faulty || (hand->seen & lists) != lists)
        return;
    if (hand->actions_count == 0) {
        trajectory_fault(hand, "must have at least one element", "/actions");
        return;
    }
    if (hand->rewards_count != hand->actions_count) {
        snprintf(detail, sizeof detail, "must have as many elements as actions: %u, not %u",
                 hand->actions_count, hand->rewards_count);
        trajectory_fault(hand, detail, "/rewards");
    }
    if (!hand->rows_faulty && (hand->seen & 1U << STATES) &&
        hand->rows != hand->actions_count + 1) {
        snprintf(detail, sizeof detail, "must have one state more than actions: %u, not %u%s",
                 hand->actions_count + 1, hand->rows,
                 hand->rows == hand->actions_count ? "; `tacet import --last-state` adds it" : "");
        trajectory_fault(hand, detail, "/states");
    }
}

/* Reads one trajectory; false when it is not JSON. */
bool json_trajectory_read(struct json_trajectory *hand)
{
    struct json_scan *scan = hand->scan;
    hand->seen = 0;
    hand->rows = hand->actions_count = hand->rewards_count = 0;
    hand->terminated = hand->truncated = false;
    hand->faulty = hand->rows_faulty = hand->lists_faulty = false;
    hand->start = scan->line;
    if (json_scan_peek(scan) != '{')
        return trajectory_fault_value(hand, "must be an object", "%s", "");
    scan->at++;
    if (json_scan_peek(scan) == '}') {
        scan->at++;
        check_lengths(hand);
        return true;
    }
    for (;;) {
        if (!trajectory_member(hand))
            return false;
        if (json_scan_peek(scan) != ',')
            break;
        scan->at++;
    }
    if (!json_scan_expect(scan, '}', "A ',' or '}' was expected."))
        return false;
    check_lengths(hand);
    return true;
}

void json_trajectory_fault(struct json_trajectory *hand, const char *detail)
{
    trajectory_fault(hand, detail, "%s", "");
}
