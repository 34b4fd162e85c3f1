/* Worlds as lines of shell: four numbers, two actions, 500 steps, like the cartpole. RESET and STEP
 * are the shell's answers; the question is in $q. */
#ifndef TACET_TESTS_UNIT_API_SHELL_WORLD_H
#define TACET_TESTS_UNIT_API_SHELL_WORLD_H

#define SHELL_FACTS "{\"protocol\":1,\"state_dim\":4,\"action_count\":2,\"max_episode_steps\":500}"
#define SHELL_WORLD(reset, step)                                                                   \
    "while read -r q; do case $q in *describe*) echo '" SHELL_FACTS "';; "                         \
    "*reset*) " reset ";; *) " step ";; esac; done"
#define SHELL_RESET "n=0; echo '{\"observation\":[0,0,0,0]}'"
#define SHELL_ANSWER(reward, terminated)                                                           \
    "echo '{\"observation\":[0,0,0,0],\"reward\":" reward ",\"terminated\":" terminated "}'"

/* Half a point a step, and it ends with the seventh: every return is 3.5. */
#define SHELL_SEVEN                                                                                \
    SHELL_WORLD(SHELL_RESET, "n=$((n + 1)); if [ $n -lt 7 ]; then " SHELL_ANSWER(                  \
                                 "0.5", "false") "; "                                              \
                                                 "else " SHELL_ANSWER("0.5", "true") "; fi")

#endif
