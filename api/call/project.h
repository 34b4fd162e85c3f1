/* Projects of a call: which of them the caller acts for, and what they show to others. */
#ifndef TACET_API_CALL_PROJECT_H
#define TACET_API_CALL_PROJECT_H

#include <jansson.h>

#include "api/call/call.h"
#include "storage/projects.h"

/* The member "project" of requests that make something; OUT is a const char **. */
#define PROJECT_FIELD(out) field_optional(field_text("project", (out), 1, ID_SIZE - 1))

/* Reads the projects of a calling steward into call->projects. Other callers have none. */
enum problem project_read_all(struct call *call);

/* PROBLEM, or PROBLEM_FORBIDDEN where the reason is that the caller is only a viewer. */
enum problem project_judge(struct call *call, enum problem problem);

/* The ids of the caller's projects, separated by spaces: of all (WANTED NULL), or of WANTED if it
 * is one of them. "-" for none. */
const char *project_list(struct call *call, const char *wanted);

/* Sets OUT to the project of something new: NAMED, the member "project" of the body, or the
 * caller's own (NULL). */
enum problem project_of_new(struct call *call, const char *named, char out[ID_SIZE]);

/* FOUND is how the look-up of something of OWNER ended. Gives DB_NONE where the caller may not know
 * of it; what is missing takes as many statements then as what is hidden. Auditors see all. */
enum db_status project_shows(struct call *call, enum db_status found, const char *owner);

/* The same of something that a project which is open shows to everyone with a token. */
enum db_status project_publishes(struct call *call, enum db_status found, const char *owner);

/* Adds "project":{"id","name"} to JSON. Takes JSON and gives it back, or NULL after a failure. */
json_t *project_add(struct call *call, json_t *json, const char *owner);

#endif
