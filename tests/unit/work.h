/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan.h"
#include "tree.h"

/* Control groups and tasks on a tree, and what a profile makes of them. */

/* A machine with four CPUs and cgroup v2, where systemd does not run; `remote`: as 6.12. */
Tree *work_tree(bool remote);
/* A cgroup with its cpuset files; populated by the tasks that are put into it. */
void work_put_group(Tree *tree, const char *path, const char *cpus, const char *partition);
/* A thread, with everything that belongs to its process where it is the leading one. */
typedef struct WorkTask {
        int pid, tid, ppid;
        const char *comm, *cpus, *cgroup;
        unsigned flags; /* field 9 of stat */
        int policy;
        unsigned ticks; /* of run time */
} WorkTask;
void work_put_task(Tree *tree, WorkTask task);

/* Plans for a profile given as text; in_force may be NULL. The world is kept where ret_world is not NULL. */
Plan *work_plan(Tree *tree, const char *profile, const Steps *in_force, World **ret_world);
/* The lines `ID: NOW → WANTED` of one backend's steps, in their order; `!` before what is not recorded. */
char *work_steps(const Plan *plan, const char *backend);
/* Refusals, or warnings, a line each. */
char *work_refusals(const Plan *plan);
char *work_warnings(const Plan *plan);
/* Fails with both texts unless they are equal; frees `is`. */
void work_compare(const char *what, char *is, const char *wanted);

/* A switch to the profile, carried out: what the mode has then.  The refusals end the test. */
void work_switch(Tree *tree, const char *profile, Steps *in_force);
/* Every file with its content, below a folder of the tree. */
char *work_files(Tree *tree, const char *folder);
