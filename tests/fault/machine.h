/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "../unit/tree.h"

/* A machine of four CPUs as one finds it at a customer's: interrupts on odd CPUs, tasks and kernel threads that
 * somebody pinned, a narrowed workqueue mask, features and sysctls of his own; and the shipped profiles. */

typedef enum MachineKind {
        MACHINE_LOCAL,  /* as 6.1: partitions below partitions, and a task's own mask is forgotten */
        MACHINE_REMOTE, /* as 6.12: cpuset.cpus.exclusive, fair servers */
} MachineKind;

/* Into an empty root. */
void machine_build(Tree *tree, MachineKind kind);

/* What the kernel does behind a write: sends tasks and kernel threads elsewhere when partitions come and go, and
 * interrupts when a CPU goes. */
void machine_kernel_local(const char *root, const char *object, const char *value);
void machine_kernel_remote(const char *root, const char *object, const char *value);
