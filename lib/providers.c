/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "providers.h"

#include "irq.h"
#include "unit-provider.h"

int providers_add(Kfs *kfs) {
        static int (*const providers[])(Kfs *) = {
                task_provide,
                cycle_provide,
                unit_provide,
                irqbalance_provide,
                net_provide,
        };

        for (size_t i = 0; i < ARRAY_SIZE(providers); i++) {
                int r = providers[i](kfs);

                if (r < 0)
                        return r;
        }
        return 0;
}
