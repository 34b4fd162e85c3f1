/* tacet student: a learner that asks a teacher over HTTP. */
#ifndef TACET_CLI_CLI_STUDENT_H
#define TACET_CLI_CLI_STUDENT_H

int cli_student(int argc, char **argv); /* as in cli.h */

#endif
