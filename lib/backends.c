/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend.h"

/* The order is that of reading: tasks and devices before those who look at them. */
const Backend *const backends[] = {
        &backend_cpuset,
        &backend_task,
        &backend_net,
        &backend_irq,
        &backend_kthread,
        &backend_workqueue,
        &backend_sched_features,
        &backend_tick,
        &backend_throttling,
        &backend_timers,
        &backend_watchdog,
        &backend_cpufreq,
        &backend_idle,
        &backend_sysctl,
        &backend_sysfs,
        &backend_kvm,
        NULL,
};

const Backend *backend_find(const char *name) {
        for (const Backend *const *backend = backends; *backend; backend++)
                if (streq((*backend)->name, name))
                        return *backend;
        return NULL;
}
