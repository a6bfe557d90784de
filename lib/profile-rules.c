/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile-keys.h"

#include <stdarg.h>

/* Far more than any machine has use for; bounds what a hostile file can make us do. */
#define SECTIONS_MAX 1024

typedef struct Rules {
        const Profile *profile;
        const ProfileLines *lines;
        ProfileErrors *errors;
} Rules;

/* A line that was found wrong by itself needs no second error. */
static bool is_known(const ProfileErrors *errors, const ProfileLine *line) {
        FOREACH_ITEM (error, errors->items, errors->n)
                if (error->line == line->source.line && streq(error->file, line->source.file))
                        return true;
        return false;
}

/* An error at the line of a key of `[KIND NAME]`, or at the section's own line where the key is not there. */
_printf_(5, 6) static int complain(
        Rules *rules, const char *kind, const char *name, const char *key, const char *format, ...) {
        _cleanup_free_ char *section = NULL, *message = NULL;
        const ProfileLine *line;
        va_list ap;

        va_start(ap, format);
        (void) util_vasprintf(&message, format, ap);
        va_end(ap);
        if (!message || util_asprintf(&section, "%s %s", kind, name) < 0)
                return -ENOMEM;
        line = profile_lines_find(rules->lines, section, key)
                ?: profile_lines_find(rules->lines, section, NULL);
        if (!line)
                return profile_errors_add(
                        rules->errors, rules->profile->file, 0, section, key, "%s", message);
        if (line->key && is_known(rules->errors, line))
                return 0;
        return profile_errors_add(
                rules->errors, line->source.file, line->source.line, section, key, "%s", message);
}

static int missing_key(Rules *rules, const ProfileLine *head, const SectionRow *section) {
        int r = 0;

        for (const KeyRow *row = section->keys; r == 0 && row < section->keys + section->n_keys; row++) {
                bool found = false;

                if (!(row->flags & KEY_NEEDED))
                        continue;
                for (const ProfileLine *line = head; !found &&
                        line < rules->lines->items + rules->lines->n && streq(line->section, head->section);
                        line++)
                        found = line->key && streq(line->key, row->key);
                if (!found)
                        r = profile_errors_add(rules->errors, head->source.file, head->source.line,
                                head->section, row->key, "it is missing, and [%s NAME] cannot be without it",
                                section->name);
        }
        return r;
}

/* Merged lines have a section's own line first, then its keys. */
static int check_missing(Rules *rules) {
        FOREACH_ITEM (line, rules->lines->items, rules->lines->n) {
                const char *name;
                const SectionRow *section = keys_section(&profile_keys, line->section, &name);
                int r = 0;

                if (section && section->check_name && !line->key)
                        r = missing_key(rules, line, section);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int unknown_set(Rules *rules, const char *kind, const char *name, const char *key, const char *set) {
        const Profile *profile = rules->profile;
        _cleanup_free_ const char **names = calloc(profile->n_sets + 1, sizeof(char *));
        _cleanup_free_ char *near = NULL, *quoted = NULL;

        if (!names)
                return -ENOMEM;
        for (size_t i = 0; i < profile->n_sets; i++)
                names[i] = profile->sets[i].name;
        if (value_suggest(set, names, &near) < 0 || profile_quote(set, &quoted) < 0)
                return -ENOMEM;
        return complain(rules, kind, name, key, "there is no set %s in this profile%s", quoted, near);
}

/* The next `set:NAME` of a CPU expression behind *p, or 0. */
static int next_set(const char **p, char **ret) {
        while (**p) {
                const char *term = *p + strspn(*p, " \t^,"), *name = util_startswith(term, "set:");
                size_t n = strcspn(term, ",");

                *p = term + n;
                if (!name)
                        continue;
                n = strcspn(name, ", \t");
                *ret = strndup(name, n);
                return *ret ? 1 : -ENOMEM;
        }
        return 0;
}

/* Every `set:NAME` of an expression must be there. */
static int check_expression(
        Rules *rules, const char *kind, const char *name, const char *key, const char *expression) {
        const char *p = expression ?: "";
        int r;

        for (;;) {
                _cleanup_free_ char *set = NULL;

                r = next_set(&p, &set);
                if (r <= 0)
                        return r;
                if (!profile_set(rules->profile, set)) {
                        r = unknown_set(rules, kind, name, key, set);
                        if (r < 0)
                                return r;
                }
        }
}

/* Do the CPUs of set `from` depend on those of the set `to`?  seen keeps a loop elsewhere from going on for ever. */
static int depends_on(const Profile *profile, const ProfileSet *from, const ProfileSet *to, bool *seen) {
        const char *p = from->cpus ?: "";

        for (;;) {
                _cleanup_free_ char *name = NULL;
                const ProfileSet *next;
                int r = next_set(&p, &name);

                if (r <= 0)
                        return r;
                next = profile_set(profile, name);
                if (next == to)
                        return 1;
                if (!next || seen[next - profile->sets])
                        continue;
                seen[next - profile->sets] = true;
                r = depends_on(profile, next, to, seen);
                if (r != 0)
                        return r;
        }
}

static int check_loop(Rules *rules, const ProfileSet *set) {
        _cleanup_free_ bool *seen = calloc(rules->profile->n_sets, sizeof(bool));
        int r;

        if (!seen)
                return -ENOMEM;
        r = depends_on(rules->profile, set, set, seen);
        if (r <= 0)
                return r;
        return complain(
                rules, "cpuset", set->name, "cpus", "the set is described by itself, which is a loop");
}

static int check_sets(Rules *rules) {
        FOREACH_ITEM (set, rules->profile->sets, rules->profile->n_sets) {
                int r = check_expression(rules, "cpuset", set->name, "cpus", set->cpus);

                if (r == 0)
                        r = check_expression(rules, "cpuset", set->name, "control_cpus", set->control_cpus);
                if (r == 0)
                        r = check_loop(rules, set);
                if (r == 0 && streq(rules->profile->name, "green"))
                        r = complain(rules, "cpuset", set->name, NULL,
                                "green is the mode without sets; put this set into a profile of another "
                                "name");
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_irqs(Rules *rules) {
        FOREACH_ITEM (irq, rules->profile->irqs, rules->profile->n_irqs) {
                int r = check_expression(rules, "irq", irq->name, "cpus", irq->cpus);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_net(Rules *rules, const ProfileNet *net) {
        int r = check_expression(rules, "net", net->name, "cpus", net->cpus);

        r = r ?: check_expression(rules, "net", net->name, "rps", net->rps);
        r = r ?: check_expression(rules, "net", net->name, "xps", net->xps);
        if (r < 0)
                return r;
        /* A kernel's device is left with nothing to receive on, or refuses. */
        if (net->combined == 0 && (net->rx == 0 || net->tx == 0))
                return complain(rules, "net", net->name, "combined",
                        "the device would have no channel left; write 1 or more, or auto");
        return 0;
}

static int check_nets(Rules *rules) {
        FOREACH_ITEM (net, rules->profile->nets, rules->profile->n_nets) {
                int r = check_net(rules, net);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_kthread(Rules *rules, const ProfileKthread *kthread) {
        bool real_time = kthread->policy && (streq(kthread->policy, "fifo") || streq(kthread->policy, "rr"));

        if (!kthread->policy)
                return 0;
        if (real_time && kthread->priority == 0)
                return complain(rules, "kthread", kthread->name, "priority",
                        "policy %s needs a priority, 1 to 99", kthread->policy);
        if (!real_time && kthread->priority > 0)
                return complain(rules, "kthread", kthread->name, "priority",
                        "policy %s has no priority; only fifo and rr have", kthread->policy);
        return 0;
}

static int check_kthreads(Rules *rules) {
        for (size_t i = 0; i < rules->profile->n_kthreads; i++) {
                int r = check_kthread(rules, rules->profile->kthreads + i);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Does the rule name a program, if only with a value that was found wrong? */
static int names_program(Rules *rules, const ProfileTask *task) {
        _cleanup_free_ char *section = NULL;

        if (util_asprintf(&section, "task %s", task->name) < 0)
                return -ENOMEM;
        return profile_lines_find(rules->lines, section, "match") ||
                profile_lines_find(rules->lines, section, "unit");
}

static int check_task(Rules *rules, const ProfileTask *task) {
        int r = check_expression(rules, "task", task->name, "cpus", task->cpus);

        if (r == 0 && task->set && !profile_set(rules->profile, task->set))
                r = unknown_set(rules, "task", task->name, "set", task->set);
        if (r == 0)
                r = names_program(rules, task);
        if (r == 0)
                return complain(rules, "task", task->name, "match",
                        "the rule names no program; write match = NAME, unit = NAME.service, or both");
        return r < 0 ? r : 0;
}

static int check_tasks(Rules *rules) {
        for (size_t i = 0; i < rules->profile->n_tasks; i++) {
                int r = check_task(rules, rules->profile->tasks + i);

                if (r < 0)
                        return r;
        }
        return 0;
}

int profile_check_rules(const Profile *profile, const ProfileLines *lines, ProfileErrors *errors) {
        static int (*const checks[])(Rules *) = { check_missing, check_sets, check_irqs, check_nets,
                check_kthreads, check_tasks };
        Rules rules = { profile, lines, errors };

        if (profile->n_sets > SECTIONS_MAX || profile->n_irqs > SECTIONS_MAX ||
                profile->n_nets > SECTIONS_MAX || profile->n_kthreads > SECTIONS_MAX ||
                profile->n_tasks > SECTIONS_MAX)
                return profile_errors_add(errors, profile->file, 0, NULL, NULL,
                        "the profile has more than %d sections of one kind", SECTIONS_MAX);
        for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
                int r = checks[i](&rules);

                if (r < 0)
                        return r;
        }
        return 0;
}
