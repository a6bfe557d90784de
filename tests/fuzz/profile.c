/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "conf.h"
#include "fuzz.h"
#include "plan.h"
#include "test.h"
#include "work.h"

/* Profiles: the file itself, a drop-in of it, one that it includes, and rtisold.conf, parted by lines `%%`.  One that
 * is right is printed, read again, and planned for. */

static Tree *machine(void) {
        static Tree *tree;

        if (tree)
                return tree;
        tree = work_tree(true);
        tree_put(tree, "/proc/sys/vm/swappiness", "60\n");
        tree_put(tree, "/sys/kernel/mm/ksm/run", "1\n");
        tree_put(tree, "/proc/irq/default_smp_affinity", "f\n");
        tree_put(tree, "/proc/irq/25/smp_affinity_list", "0-3\n");
        tree_put(tree, "/proc/irq/25/actions", "eth0\n");
        work_put_task(tree, (WorkTask){ 300, 0, 1, "worker", "2-3", "/system.slice", 0, 0, 5 });
        tree_put(tree, "/etc/rtisold/profiles/base.ini.d/empty.ini", "; nothing\n");
        return tree;
}

static void put(const char *path, const char *text, size_t size) {
        _cleanup_free_ char *full = NULL;
        FILE *file;

        FUZZ_HOLDS(util_asprintf(&full, "%s%s", machine()->root, path) == 0);
        file = fopen(full, "we");
        FUZZ_HOLDS(file);
        FUZZ_HOLDS(fwrite(text, 1, size, file) == size);
        (void) fclose(file);
}

static void check_errors(int r, ProfileErrors *errors) {
        FUZZ_HOLDS(r == 0 || r == -EINVAL || r == -ESHUTDOWN || r == -ENOENT);
        FUZZ_HOLDS((r == -EINVAL) == (errors->n > 0));
        for (size_t i = 0; i < errors->n; i++) {
                _cleanup_free_ char *sentence = NULL;

                FUZZ_HOLDS(profile_error_sentence(errors->items + i, &sentence) == 0);
                FUZZ_HOLDS(fuzz_is_printable(sentence));
        }
        profile_errors_done(errors);
}

/* What is printed is the same profile. */
static void check_format(Profile *profile) {
        _cleanup_free_ char *text = NULL, *again_text = NULL;
        _cleanup_profile_ Profile *again = NULL;
        ProfileErrors errors = {};

        FUZZ_HOLDS(profile_format(profile, false, &text) == 0);
        put("/etc/rtisold/profiles/again.ini", text, strlen(text));
        if (!*text)
                return;
        FUZZ_HOLDS(profile_load(machine()->kfs, "again", &again, &errors) == 0);
        FUZZ_HOLDS(profile_format(again, false, &again_text) == 0);
        FUZZ_HOLDS(streq(text, again_text));
}

static void check_plan(const Profile *profile) {
        _cleanup_world_ World *world = NULL;
        _cleanup_plan_ Plan *plan = NULL;
        _cleanup_switch_ Switch *sw = NULL;
        static const Steps nothing = {};

        FUZZ_HOLDS(plan_audit(machine()->kfs, profile, NULL, &world) == 0);
        FUZZ_HOLDS(plan_make(profile, world, NULL, 0, &plan) == 0);
        if (plan->n_refusals == 0)
                FUZZ_HOLDS(plan_switch(plan, "green", &nothing, world, 0, &sw) == 0);
        for (size_t i = 0; i < plan->steps.n; i++) {
                const Step *step = plan->steps.items + i;

                FUZZ_HOLDS(step->id && step->object && step->wanted);
                if (streq(step->backend, "sysfs"))
                        FUZZ_HOLDS(util_startswith(step->object, "/sys/") && !strstr(step->object, "/../"));
                if (streq(step->backend, "sysctl"))
                        FUZZ_HOLDS(util_startswith(step->object, "/proc/sys/") &&
                                !strstr(step->object, "/../"));
        }
        FUZZ_HOLDS(kfs_writes(machine()->kfs) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = fuzz_text(data, size);
        char *drop_in = fuzz_cut(text), *included = fuzz_cut(drop_in), *conf_text = fuzz_cut(included);
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_conf_ Conf conf = {};
        ProfileErrors errors = {};
        int r;

        (void) machine();
        /* Only what is not cut may hold NUL bytes. */
        put("/etc/rtisold/profiles/base.ini", included ?: "", included ? strlen(included) : 0);
        put("/etc/rtisold/profiles/base.ini.d/empty.ini", drop_in ?: ";\n", drop_in ? strlen(drop_in) : 2);
        put("/etc/rtisold/profiles/fuzz.ini", text, drop_in ? strlen(text) : size);
        put("/etc/rtisold/rtisold.conf", conf_text ?: text, strlen(conf_text ?: text));
        r = profile_load(machine()->kfs, "fuzz", &profile, &errors);
        check_errors(r, &errors);
        if (r == 0) {
                check_format(profile);
                check_plan(profile);
        }
        errors = (ProfileErrors){};
        check_errors(conf_load(machine()->kfs, &conf, &errors), &errors);
        return 0;
}
