/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile.h"

#include <fnmatch.h>

#include "profile-keys.h"

int profile_new(const char *name, const char *file, Profile **ret) {
        _cleanup_profile_ Profile *profile = calloc(1, sizeof(Profile));

        if (!profile)
                return -ENOMEM;
        profile->name = strdup(name);
        profile->description = strdup("");
        profile->file = strdup(file ?: "");
        if (!profile->name || !profile->description || !profile->file)
                return -ENOMEM;
        profile->require = REQUIRE_PARTITION | REQUIRE_IRQS;
        profile->skew_tick = PROFILE_UNSET;
        profile->keep_kthreads = profile->keep_workqueues = profile->keep_irqs = true;
        profile->keep_watchdog = profile->keep_rcu = true;
        *ret = TAKE_PTR(profile);
        return 0;
}

static void set_done(ProfileSet *set) {
        free(set->name);
        free(set->cpus);
        free(set->control_cpus);
        free(set->mems);
        free(set->max_cstate);
        free(set->governor);
}

static void settings_free(ProfileSetting *settings, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(settings[i].key);
                free(settings[i].value);
                free(settings[i].source.file);
        }
        free(settings);
}

static void rules_free(Profile *profile) {
        FOREACH_ITEM (irq, profile->irqs, profile->n_irqs) {
                free(irq->name);
                free(irq->match);
                free(irq->cpus);
        }
        FOREACH_ITEM (rule, profile->kthreads, profile->n_kthreads) {
                free(rule->name);
                free(rule->match);
                free(rule->policy);
        }
        FOREACH_ITEM (net, profile->nets, profile->n_nets) {
                free(net->name);
                free(net->match);
                free(net->cpus);
                free(net->rps);
                free(net->xps);
        }
        FOREACH_ITEM (task, profile->tasks, profile->n_tasks) {
                free(task->name);
                free(task->match);
                free(task->unit);
                free(task->set);
                free(task->thread);
                free(task->cpus);
        }
        free(profile->irqs);
        free(profile->kthreads);
        free(profile->nets);
        free(profile->tasks);
}

void profile_free(Profile *profile) {
        ProfileLines lines;

        if (!profile)
                return;
        lines = (ProfileLines){ profile->lines, profile->n_lines };
        for (size_t i = 0; i < profile->n_sets; i++)
                set_done(profile->sets + i);
        free(profile->sets);
        settings_free(profile->features, profile->n_features);
        settings_free(profile->sysctls, profile->n_sysctls);
        settings_free(profile->sysfs, profile->n_sysfs);
        rules_free(profile);
        util_strv_free(profile->except);
        profile_lines_done(&lines);
        free(profile->name);
        free(profile->description);
        free(profile->file);
        free(profile->sha256);
        free(profile);
}

const ProfileSet *profile_set(const Profile *profile, const char *name) {
        for (size_t i = 0; i < profile->n_sets; i++)
                if (streq(profile->sets[i].name, name))
                        return profile->sets + i;
        return NULL;
}

bool profile_matches(const char *patterns, const char *name) {
        char pattern[256];

        for (const char *p = patterns; *(p += strspn(p, " \t"));) {
                size_t n = strcspn(p, " \t");

                if (n < sizeof(pattern)) {
                        memcpy(pattern, p, n);
                        pattern[n] = '\0';
                        if (fnmatch(pattern, name, 0) == 0)
                                return true;
                }
                p += n;
        }
        return false;
}

/* A value may begin with a semicolon where nothing is before it; behind white space it would be a comment. */
static void print_line(FILE *f, const ProfileLine *line, bool sources) {
        int width = fprintf(f, "%s =%s%s", line->key, line->value[0] == ';' ? "" : " ", line->value);

        if (sources)
                fprintf(f, "%*s ; %s:%u", width < 39 ? 39 - width : 0, "", line->source.file,
                        line->source.line);
        fputc('\n', f);
}

int profile_format(const Profile *profile, bool sources, char **ret) {
        const char *section = NULL;
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);
        bool failed;

        if (!f)
                return -ENOMEM;
        FOREACH_ITEM (line, profile->lines, profile->n_lines) {
                if (!section || !streq(section, line->section))
                        fprintf(f, "%s[%s]\n", section ? "\n" : "", line->section);
                section = line->section;
                print_line(f, line, sources);
        }
        failed = ferror(f) != 0;
        if (fclose(f) != 0 || failed) {
                free(text);
                return -ENOMEM;
        }
        *ret = text;
        return 0;
}
