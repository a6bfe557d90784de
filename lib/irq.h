/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "profile.h"
#include "world.h"

/* Reads /proc/irq/N, /sys/kernel/irq/N, /proc/interrupts and, where this user may, /sys/kernel/debug/irq
 * into world->irqs, ascending. (Documentation/core-api/irq/irq-affinity.rst,
 * Documentation/filesystems/proc.rst) */
int irq_read(World *world);

/* Takes one text as /proc/interrupts into world->irqs: counts, and names and chips of those that have
 * none. Copes with any number of columns, offline CPUs (which have none), rows cut short, and names with
 * colons and blanks. Interrupts that are not in world->irqs are added as such that cannot be written. */
int irq_parse_interrupts(World *world, const char *text);

/* Free interrupt vectors of these CPUs, from the text of /sys/kernel/debug/irq/domains/VECTOR; -ENODATA
 * where it says none of them. */
int irq_free_vectors(const char *text, const CpuList *cpus, uint64_t *ret);

/* The provider of `irqbalance/banned`: reads the CPUs that a running irqbalance leaves alone as a
 * cpulist, and writes them; -ENOENT where none runs. irqbalance takes a new list up when it next wakes,
 * seconds later, and names the old one until then: what it was told is noted in a file and reads until
 * that moment. (irqbalance(1), "API")
 *
 * On a root that is only files it is the file /run/irqbalance/banned there. */
int irqbalance_provide(Kfs *kfs);

/* The same for an irqbalance whose sockets are in this folder of this machine. */
int irqbalance_provide_at(Kfs *kfs, const char *directory);

/* The [irq NAME] rule that an interrupt falls under by the name of one of its actions, or NULL. */
const ProfileIrq *irq_find_rule(const Profile *profile, const WorldIrq *irq);
