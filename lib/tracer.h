/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kfs.h"
#include "noise.h"

/* Records what happens on CPUs through tracefs, in an instance of its own (Documentation/trace/ftrace.rst), and hands
 * it to the accounting.  Which events a kernel has is probed. */
typedef struct Tracer Tracer;

/* Makes the instance with tracing off.  Instances left by processes that are gone are removed first.  On failure
 * *ret_problem is a sentence. */
int tracer_open(Kfs *kfs, const CpuList *cpus, Tracer **ret, char **ret_problem);
/* Removes the instance. */
void tracer_close(Tracer *tracer);
DEFINE_CLEANUP_POINTER(Tracer, tracer_close)
#define _cleanup_tracer_ _cleanup_(tracer_closep)

/* Monotonic, ns. */
uint64_t tracer_now(void);

int tracer_start(Tracer *tracer);
/* Tracing is off afterwards; the next read is the last. */
int tracer_stop(Tracer *tracer);
/* Takes what was recorded and gives the accounting what is complete.  To be called several times a second, so that
 * nothing is lost; where more comes than can be read, recording pauses, and the accounting is told that something is
 * lost. */
int tracer_read(Tracer *tracer, Noise *noise);

/* The name that a thread had which has ended since, where the kernel remembers it: 0, or -ESRCH. */
int tracer_comm(const Tracer *tracer, int pid, char **ret);

/* Does this kernel say which function a CPU is made to call? */
bool tracer_names_calls(const Tracer *tracer);
