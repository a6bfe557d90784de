/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan.h"

void op_done(Op *op) {
        step_done(&op->step);
        free(op->was);
        free(op->target);
        *op = (Op){};
}

void switch_free(Switch *sw) {
        if (!sw)
                return;
        free(sw->from);
        free(sw->to);
        for (size_t i = 0; i < sw->n_ops; i++)
                op_done(&sw->ops[i]);
        free(sw->ops);
        steps_done(&sw->in_force);
        util_strv_free(sw->left_alone);
        steps_done(&sw->left_out);
        free(sw);
}
