/* Rows of a table to trajectories.
 *
 * DESIGN. A row belongs to the episode in hand while its expert and its episode are the same texts.
 * The row that begins another one is kept in the scanner until the next call. A faulty row breaks
 * the episode in hand, of which nothing is given then; its other rows are checked all the same. */
#include "api/data/table_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/data/csv_scan.h"
#include "api/data/episode.h"
#include "api/data/episode_keys.h"
#include "api/data/expert_names.h"
#include "api/data/table_time.h"
#include "api/json/text.h"
#include "memory/memory.h"
#include "memory/wipe.h"

#define NO_COLUMN    UINT32_MAX
#define EPISODE_MAX  256 /* bytes of an episode's name */
#define IGNORED_SIZE 512

enum role { EXPERT, EPISODE, TIME, ACTION, REWARD, TERMINATED, TRUNCATED, ROLE_COUNT };

struct table_stream {
    struct csv_scan scan;
    const struct description *description;
    struct json_stream_faults faults;
    struct table_tally *tally;
    const char *names[ROLE_COUNT]; /* of the columns; NULL: there is none */
    uint32_t roles[ROLE_COUNT];    /* where they stand */
    uint32_t *features;            /* owned: likewise */
    uint32_t column_count;         /* of the header; 0 before it was read */
    char ignored[IGNORED_SIZE];
    uint64_t rows;
    uint64_t unrewarded, unrewarded_line; /* rows without a reward that nothing fills in for, and
                                           * the line of the first */

    /* the episode in hand */
    struct episode episode;
    struct episode_keys known;
    bool open, broken;
    bool pending; /* the scanner's row begins another episode */
    bool row_faulty;
    bool over;
    uint64_t last_line;
    char expert[EXPERT_NAME_MAX + 1], name[EPISODE_MAX + 1];
    struct table_time time;
};

struct table_stream *table_stream_new(const struct description *description,
                                      uint32_t max_episode_steps, struct byte_reader reader,
                                      struct json_stream_faults faults, struct table_tally *tally)
{
    const struct description_table *table = &description->table;
    struct table_stream *stream = memory_new(1, sizeof *stream);
    csv_scan_open(&stream->scan, reader);
    stream->description = description;
    stream->faults = faults;
    stream->tally = tally;
    stream->features = memory_new(description->feature_count, sizeof *stream->features);
    stream->episode = episode_new(description->dim, max_episode_steps);
    stream->known = episode_keys_new();
    const char *const names[ROLE_COUNT] = {
        [EXPERT] = table->expert,      [EPISODE] = table->episode, [TIME] = table->time,
        [ACTION] = table->action,      [REWARD] = table->reward,   [TERMINATED] = table->terminated,
        [TRUNCATED] = table->truncated};
    memcpy(stream->names, names, sizeof names);
    return stream;
}

void table_stream_free(struct table_stream *stream)
{
    if (!stream)
        return;
    csv_scan_close(&stream->scan);
    episode_free(&stream->episode);
    episode_keys_free(&stream->known);
    wipe_free(stream->features);
    wipe_free(stream);
}

const char *table_stream_ignored(const struct table_stream *stream)
{
    return stream->ignored;
}

uint64_t table_stream_rows(const struct table_stream *stream)
{
    return stream->rows;
}

/* ---- faults and cells */

/* Reports DETAIL about COLUMN of the row that begins in LINE; COLUMN may be NULL. */
static void table_fault(struct table_stream *stream, uint64_t line, const char *column,
                        const char *detail)
{
    char pointer[2 * DESCRIPTION_COLUMN_MAX + 2] = "";
    size_t used = 0;
    if (column)
        pointer[used++] = '/';
    for (; column && *column != '\0' && used + 3 < sizeof pointer; column++)
        used += text_pointer_put(pointer + used, *column);
    stream->row_faulty = stream->broken = true;
    stream->faults.report(stream->faults.context, line, pointer, detail);
}

static void row_fault(struct table_stream *stream, const char *column, const char *detail)
{
    table_fault(stream, stream->scan.line, column, detail);
}

/* The cell in COLUMN without the spaces around it. */
static const char *table_cell(struct table_stream *stream, uint32_t column)
{
    char *cell = stream->scan.text + stream->scan.starts[column];
    cell += strspn(cell, " \t");
    size_t size = strlen(cell);
    while (size > 0 && (cell[size - 1] == ' ' || cell[size - 1] == '\t'))
        cell[--size] = '\0';
    return cell;
}

/* ---- the header */

/* Finds the column NAME; *out_column is its place. Reports when there is none, or two. */
static void find_column(struct table_stream *stream, const char *name, uint32_t *out_column)
{
    unsigned found = 0;
    *out_column = NO_COLUMN;
    if (!name)
        return;
    for (uint32_t c = 0; c < stream->scan.cell_count; c++) {
        if (strcmp(table_cell(stream, c), name) != 0)
            continue;
        *out_column = c;
        found++;
    }
    const char *ends = stream->description->table.terminated;
    if (found == 0 && strcmp(name, ends) == 0)
        row_fault(
            stream, name,
            "is missing: no column of the header has this name. Without it nothing says where "
            "episodes end: docs/own-data.md, \"The column of terminated\", makes one");
    else if (found == 0)
        row_fault(stream, name, "is missing: no column of the header has this name");
    if (found > 1)
        row_fault(stream, name, "is the name of two columns");
}

/* True when the header is one cell that holds SEPARATOR. */
static bool is_separated_by(struct table_stream *stream, char separator)
{
    return stream->scan.cell_count == 1 && strchr(table_cell(stream, 0), separator);
}

static bool column_is_used(const struct table_stream *stream, uint32_t column)
{
    bool used = false;
    for (unsigned r = 0; r < ROLE_COUNT; r++)
        used |= stream->roles[r] == column;
    for (unsigned f = 0; f < stream->description->feature_count; f++)
        used |= stream->features[f] == column;
    return used;
}

static void note_ignored(struct table_stream *stream)
{
    for (uint32_t c = 0; c < stream->scan.cell_count; c++)
        if (!column_is_used(stream, c))
            text_list_add(stream->ignored, IGNORED_SIZE, ", ", table_cell(stream, c));
}

static void table_header(struct table_stream *stream)
{
    const struct description *description = stream->description;
    if (is_separated_by(stream, ';') || is_separated_by(stream, '\t')) {
        row_fault(
            stream, NULL,
            "has one cell, with semicolons or tabs in it: separate cells by commas, and write "
            "numbers with decimal points");
        return;
    }
    for (unsigned r = 0; r < ROLE_COUNT; r++)
        find_column(stream, stream->names[r], &stream->roles[r]);
    for (unsigned f = 0; f < description->feature_count; f++)
        find_column(stream, description->features[f].name, &stream->features[f]);
    stream->column_count = stream->scan.cell_count;
    note_ignored(stream);
}

/* ---- a row */

/* Reads a truth into OUT. EMPTY: nothing may stand there, which is no. */
static void table_truth(struct table_stream *stream, enum role role, bool empty, bool *out)
{
    static const char *const words[2][6] = {{"0", "false", "no", "f", "n", "0.0"},
                                            {"1", "true", "yes", "t", "y", "1.0"}};
    *out = false;
    if (stream->roles[role] == NO_COLUMN)
        return;
    const char *cell = table_cell(stream, stream->roles[role]);
    for (unsigned i = 0; i < 12; i++) {
        if (strcasecmp(cell, words[i / 6][i % 6]) != 0)
            continue;
        *out = i / 6 == 1;
        return;
    }
    if (!empty || !table_is_missing(cell))
        row_fault(stream, stream->names[role], "must be 0 or 1, false or true, no or yes");
}

/* Fills in for the missing reward of the row in hand, or counts the row: all such faults are told
 * at the end, as one. */
static double table_missing_reward(struct table_stream *stream)
{
    const struct description_table *table = &stream->description->table;
    if (!table->fills_reward) {
        stream->row_faulty = stream->broken = true;
        if (stream->unrewarded++ == 0)
            stream->unrewarded_line = stream->scan.line;
    } else if (stream->tally) {
        stream->tally->rewards_missing++;
    }
    return table->fill_reward;
}

/* Tells of the rows that table_missing_reward has counted. */
static void report_unrewarded(struct table_stream *stream)
{
    char detail[DESCRIPTION_FAULT_SIZE], more[64] = "";
    if (stream->unrewarded > 1)
        snprintf(more, sizeof more, " here and in %" PRIu64 " rows further down",
                 stream->unrewarded - 1);
    snprintf(detail, sizeof detail,
             "is missing%s, where there is an action; \"missing_reward\":0 in the description's "
             "table counts missing rewards as 0",
             more);
    table_fault(stream, stream->unrewarded_line, stream->names[REWARD], detail);
}

/* Reads the action and the reward, or neither. */
static void table_act(struct table_stream *stream, struct episode_row *row)
{
    char detail[DESCRIPTION_FAULT_SIZE];
    double reward = 0;
    const char *action = table_cell(stream, stream->roles[ACTION]);
    const char *text = table_cell(stream, stream->roles[REWARD]);
    bool none = table_is_missing(text);
    row->acts = !(none && table_is_missing(action));
    if (!row->acts)
        return;
    const char *problem = NULL;
    if (none)
        reward = table_missing_reward(stream);
    else
        problem = table_number(text, &reward);
    if (problem)
        row_fault(stream, stream->names[REWARD], problem);
    row->reward = (float)reward;
    if (!table_action_text(stream->description, action, &row->action, stream->tally, detail))
        row_fault(stream, stream->names[ACTION],
                  action[0] == '\0' ? "is missing, and there is a reward" : detail);
}

static void table_state(struct table_stream *stream, const float *previous, float *state)
{
    const struct description *description = stream->description;
    char detail[DESCRIPTION_FAULT_SIZE];
    memset(state, 0, description->dim * sizeof *state);
    for (unsigned f = 0; f < description->feature_count; f++) {
        const char *cell = table_cell(stream, stream->features[f]);
        if (!table_value_text(description, f, cell, previous, state, stream->tally, detail))
            row_fault(stream, description->features[f].name, detail);
    }
}

static void table_read_time(struct table_stream *stream)
{
    if (stream->roles[TIME] == NO_COLUMN)
        return;
    const char *problem = table_time_next(&stream->time, table_cell(stream, stream->roles[TIME]));
    if (problem)
        row_fault(stream, stream->names[TIME], problem);
}

/* Adds the row in hand to the episode in hand. */
static void take_row(struct table_stream *stream)
{
    struct episode *episode = &stream->episode;
    struct episode_row row = {0};
    const char *problem;
    float *state = episode_next_state(episode, &problem);
    if (!state) {
        if (!stream->broken)
            row_fault(stream, NULL, problem);
        return;
    }
    table_read_time(stream);
    table_state(stream, episode->rows > 0 ? state - episode->dim : NULL, state);
    table_act(stream, &row);
    table_truth(stream, TERMINATED, !row.acts, &row.terminated);
    table_truth(stream, TRUNCATED, !row.acts, &row.truncated);
    problem = episode_add(episode, &row);
    if (problem && !stream->broken)
        row_fault(stream, NULL, problem);
    stream->last_line = stream->scan.line;
}

/* ---- episodes */

/* Begins the episode of the row in hand. */
static void table_begin_episode(struct table_stream *stream, const char *expert, const char *name)
{
    const struct description_table *table = &stream->description->table;
    stream->open = true;
    stream->broken = false;
    snprintf(stream->expert, sizeof stream->expert, "%s", expert);
    snprintf(stream->name, sizeof stream->name, "%s", name);
    stream->time = (struct table_time){0};
    episode_begin(&stream->episode, table->last_state, table->truncated);
    const char *problem = expert_name_problem(expert, strlen(expert));
    if (problem)
        row_fault(stream, stream->names[EXPERT], problem);
    if (name[0] == '\0' || strlen(name) > EPISODE_MAX)
        row_fault(stream, stream->names[EPISODE], "must have 1 to 256 bytes");
    if (stream->broken)
        return;
    switch (episode_keys_add(&stream->known, expert, name)) {
    case EPISODE_NEW: break;
    case EPISODE_KNOWN:
        row_fault(stream, stream->names[EPISODE],
                  "has rows further up: all rows of an episode must stand together");
        break;
    case EPISODE_TOO_MANY:
        row_fault(stream, stream->names[EPISODE],
                  "is one episode too many for one table: send it in several parts");
        break;
    }
}

/* Ends the episode in hand. JSON_STREAM_END: there was nothing to give. */
static enum json_stream_status table_end_episode(struct table_stream *stream,
                                                 struct trajectory *out, const char **out_expert)
{
    bool whole = stream->open && !stream->broken;
    stream->open = false;
    if (!whole)
        return JSON_STREAM_END;
    const char *problem = episode_end(&stream->episode, out);
    if (problem) {
        table_fault(stream, stream->last_line, NULL, problem);
        return JSON_STREAM_FAULTY;
    }
    *out_expert = stream->expert;
    return JSON_STREAM_TRAJECTORY;
}

static void table_check_width(struct table_stream *stream)
{
    char detail[160];
    if (stream->scan.cell_count == stream->column_count)
        return;
    snprintf(
        detail, sizeof detail,
        "has %u cells, and the header has %u: is it cut short, or is there a decimal comma, or "
        "a comma in a text without quotes?",
        stream->scan.cell_count, stream->column_count);
    row_fault(stream, NULL, detail);
}

/* Takes the row that the scanner has. JSON_STREAM_END: go on. */
static enum json_stream_status stream_row(struct table_stream *stream, struct trajectory *out,
                                          const char **out_expert)
{
    stream->row_faulty = false;
    if (stream->column_count == 0) {
        table_header(stream);
        stream->over = stream->row_faulty;
        return stream->row_faulty ? JSON_STREAM_FAULTY : JSON_STREAM_END;
    }
    if (!stream->pending) {
        stream->rows++;
        table_check_width(stream);
        if (stream->row_faulty)
            return JSON_STREAM_FAULTY;
    }
    const char *expert = table_cell(stream, stream->roles[EXPERT]);
    const char *name = table_cell(stream, stream->roles[EPISODE]);
    bool same =
        stream->open && strcmp(expert, stream->expert) == 0 && strcmp(name, stream->name) == 0;
    if (!same) {
        enum json_stream_status status = table_end_episode(stream, out, out_expert);
        stream->pending = status != JSON_STREAM_END;
        if (stream->pending)
            return status;
        table_begin_episode(stream, expert, name);
    }
    stream->pending = false;
    take_row(stream);
    return stream->row_faulty ? JSON_STREAM_FAULTY : JSON_STREAM_END;
}

/* Ends the table. */
static enum json_stream_status end_table(struct table_stream *stream, struct trajectory *out,
                                         const char **out_expert)
{
    stream->over = true;
    if (stream->column_count == 0) {
        row_fault(stream, NULL, "is missing: a table begins with the names of its columns");
        return JSON_STREAM_FAULTY;
    }
    if (stream->unrewarded == 0)
        return table_end_episode(stream, out, out_expert);
    report_unrewarded(stream);
    return JSON_STREAM_FAULTY;
}

enum json_stream_status table_stream_next(struct table_stream *stream, struct trajectory *out,
                                          const char **out_expert)
{
    while (!stream->over) {
        enum json_stream_status status = JSON_STREAM_END;
        switch (stream->pending ? CSV_ROW : csv_scan_next(&stream->scan)) {
        case CSV_ROW: status = stream_row(stream, out, out_expert); break;
        case CSV_FAULTY:
            row_fault(stream, NULL, stream->scan.fault);
            stream->over = stream->column_count == 0;
            return JSON_STREAM_FAULTY;
        case CSV_GONE: return JSON_STREAM_GONE;
        case CSV_END: return end_table(stream, out, out_expert);
        }
        if (status != JSON_STREAM_END)
            return status;
    }
    return JSON_STREAM_END;
}
