/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cpulist.h"

/* The value of the last `key=value` of a kernel command line (Documentation/admin-guide/kernel-
 * parameters.rst: dashes and underscores are the same; quotes around a value or around the whole are
 * taken off; what follows `--` is init's). A key without `=` has the value "". -ENOENT where it is not
 * there or cmdline is NULL. */
int cmdline_get(const char *cmdline, const char *key, char **ret);

/* The CPUs of `isolcpus=FLAG,…,CPULIST` where FLAG (`managed_irq`) is among the flags, else the empty
 * set. */
int cmdline_isolcpus(const char *cmdline, const char *flag, CpuList *ret);
