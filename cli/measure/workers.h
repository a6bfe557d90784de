/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "run.h"

/* The processes that measure: one for each set whose slice has to be entered, and one for all other CPUs.  A thread
 * for each CPU is in them. */
typedef struct Workers Workers;

/* Starts them and waits until all have calibrated.  On failure *ret_why is a sentence, and nothing runs.  Also ends
 * when *interrupted is set: -EINTR without a sentence. */
int workers_start(Kfs *kfs, Run *run, const volatile int *interrupted, Workers **ret, char **ret_why);
/* Sets the moment of the start, for all the same one. */
void workers_go(Run *run);
/* Does anybody measure still? */
bool workers_run(Workers *workers);
/* Kills what is left and frees. */
void workers_free(Workers *workers);
DEFINE_CLEANUP_POINTER(Workers, workers_free)
#define _cleanup_workers_ _cleanup_(workers_freep)

/* Forks a process that calls function, from the slice of a set where set is not NULL; it dies with this one and
 * does not hear of ^C.  A failure is a sentence. */
int worker_fork(Kfs *kfs, const char *set, void (*function)(void *userdata), void *userdata, pid_t *ret,
        char **ret_why);

/* Pins this thread. */
int worker_pin(unsigned cpu);
/* FIFO of that priority for this thread; nothing for 0. */
int worker_set_priority(int priority);
