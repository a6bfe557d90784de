/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "manager.h"

/* Programs that start and kernel threads that are made while a mode is in force: which of them the manager has
 * to look at.  Nothing is listened to that the mode in force does not need. */
typedef struct Tasks Tasks;

/* machine: there are process events to be had.  Without it, only tasks_exec() and the like say what happens. */
int tasks_new(sd_event *event, Manager *manager, bool machine, Tasks **ret);
void tasks_free(Tasks *tasks);
DEFINE_CLEANUP_POINTER(Tasks, tasks_free)
#define _cleanup_tasks_ _cleanup_(tasks_freep)

/* What is in force is another. */
void tasks_follow(Tasks *tasks);

/* A program started; a thread took a name; kthreadd made a thread. */
void tasks_exec(Tasks *tasks, int pid);
void tasks_comm(Tasks *tasks, int pid, const char *comm);
void tasks_kthread(Tasks *tasks, int tid);
