/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit.h"

#include <time.h>

#include "accepted.h"
#include "audit-facts.h"
#include "audit-findings.h"
#include "cpuset.h"
#include "protocol.h"

static void audit_set_done(AuditSet *set) {
        cpulist_done(&set->members);
        free(set->name);
        free(set->cpus);
        free(set->slice);
        free(set->partition);
        free(set->partition_reason);
        free(set->nohz_wanted);
        free(set->nohz_live);
        free(set->push_pull_wanted);
        free(set->push_pull_live);
}

static void audit_finding_done(Finding *finding) {
        free(finding->id);
        free(finding->cpus);
        free(finding->subject);
        free(finding->why);
        free(finding->fix);
}

void audit_free(Audit *audit) {
        if (!audit)
                return;
        for (size_t i = 0; i < audit->n_steps; i++) {
                free(audit->steps[i].live);
                free(audit->steps[i].reason);
                free(audit->steps[i].writer);
        }
        for (size_t i = 0; i < audit->n_sets; i++)
                audit_set_done(&audit->sets[i]);
        for (size_t i = 0; i < audit->n_findings; i++)
                audit_finding_done(&audit->findings[i]);
        free(audit->steps);
        free(audit->sets);
        free(audit->findings);
        cpulist_done(&audit->isolated);
        cpulist_done(&audit->housekeeping);
        audit_facts_free(audit->facts);
        sample_done(&audit->before);
        sample_done(&audit->after);
        noise_counters_done(&audit->noise_before);
        noise_counters_done(&audit->noise_after);
        counts_done(&audit->began);
        counts_done(&audit->softirqs_began);
        counts_done(&audit->softirqs);
        util_strv_free(audit->unseen);
        free(audit->mode);
        world_free(audit->world);
        free(audit);
}

/* Who is known to write such values, where he runs: a name beats none, and is all that can be told afterwards. */
static int audit_writer(const World *world, const Step *step, char **ret) {
        static const struct {
                const char *comm, *backend;
        } writers[] = {
                { "irqbalance", "irq" },
                { "tuned", NULL },
                { "kubelet", "cpuset" },
                { "libvirtd", "cpuset" },
        };

        for (size_t i = 0; i < world->n_tasks; i++)
                for (size_t j = 0; j < ARRAY_SIZE(writers); j++) {
                        const WorldTask *task = &world->tasks[i];

                        if (task->tid != task->pid || !streq(task->comm, writers[j].comm))
                                continue;
                        if (!writers[j].backend ||
                                (step->backend && streq(step->backend, writers[j].backend)))
                                return util_asprintf(ret, "%s (pid %d)", task->comm, task->pid);
                }
        return 0;
}

static StepState audit_missing_state(const Step *step) {
        return step->mechanism == MECHANISM_BOOT ? STATE_BOOT : STATE_UNSUPPORTED;
}

/* An object that cannot be read: gone, or not for this user's eyes. */
static int audit_unreadable(const Step *step, int error, AuditStep *ret) {
        if (error == -EACCES || error == -EPERM) {
                ret->state = STATE_OK;
                return util_copy("not readable without privilege", &ret->reason);
        }
        if (error == -EBUSY) {
                ret->state = STATE_OK;
                return util_copy("not readable just now: its CPU is away", &ret->reason);
        }
        ret->state = step->flags & STEP_TRANSIENT ? STATE_OK : STATE_DRIFTED;
        return util_asprintf(&ret->reason, "gone: %s", strerror(error < 0 ? -error : ENOENT));
}

static int audit_step(const World *world, const Step *step, AuditStep *ret) {
        const WorldValue *value = world_value(world, step->object);
        int r;

        ret->step = step;
        if (step->mechanism != MECHANISM_RUNTIME) {
                ret->state = audit_missing_state(step);
                return util_copy(step->reason, &ret->reason);
        }
        if (step->flags & STEP_ACTION) {
                ret->state = step->refused ? STATE_REFUSED : STATE_OK;
                return step->refused ? util_copy(step->reason, &ret->reason) : 0;
        }
        if (!value || !value->live)
                return audit_unreadable(step, value ? value->error : -ENOENT, ret);
        r = util_copy(value->live, &ret->live);
        if (r < 0 || step_holds(step, value->live))
                return r;
        if (step->refused) {
                ret->state = STATE_REFUSED;
                return util_copy(step->reason, &ret->reason);
        }
        ret->state = STATE_DRIFTED;
        return audit_writer(world, step, &ret->writer);
}

static void audit_count(Audit *audit, StepState state) {
        audit->n_drifted += state == STATE_DRIFTED;
        audit->n_boot += state == STATE_BOOT;
        audit->n_unsupported += state == STATE_UNSUPPORTED;
        audit->n_refused += state == STATE_REFUSED;
}

static int audit_steps(Audit *audit, const Steps *in_force) {
        audit->steps = calloc(in_force->n + 1, sizeof(AuditStep));
        if (!audit->steps)
                return -ENOMEM;
        for (size_t i = 0; i < in_force->n; i++) {
                int r = audit_step(audit->world, &in_force->items[i], &audit->steps[i]);

                audit->n_steps = i + 1;
                if (r < 0)
                        return r;
                audit_count(audit, audit->steps[i].state);
        }
        return 0;
}

/* What a step of this set says of its mechanism: the state and what is live.  Without such a step, what is wanted
 * holds as the machine was booted, or nothing is. */
static int audit_set_mechanism(const Audit *audit, const char *set, const char *what, const char *wanted,
        char **ret_live, StepState *ret) {
        _cleanup_free_ char *id = NULL;
        int r = util_asprintf(&id, "cpuset/%s/%s", set, what);

        if (r < 0)
                return r;
        for (size_t i = 0; i < audit->n_steps; i++)
                if (streq(audit->steps[i].step->id, id)) {
                        *ret = audit->steps[i].state;
                        return util_copy(audit->steps[i].live ?: audit->steps[i].step->now ?: "", ret_live);
                }
        return util_copy(wanted ?: "", ret_live);
}

static int audit_set(Audit *audit, const StepSet *record, AuditSet *ret) {
        int r;

        r = cpulist_parse(record->cpus, &ret->members, NULL);
        if (r < 0)
                return r;
        r = cpulist_union(&audit->isolated, &ret->members);
        r = r ?: util_copy(record->name, &ret->name);
        r = r ?: util_copy(record->cpus, &ret->cpus);
        r = r ?: util_copy(record->nohz, &ret->nohz_wanted);
        r = r ?: util_copy(record->rt_push_pull, &ret->push_pull_wanted);
        r = r
                ?: audit_set_mechanism(
                           audit, record->name, "nohz", record->nohz, &ret->nohz_live, &ret->nohz_state);
        r = r
                ?: audit_set_mechanism(audit, record->name, "rt_push_pull", record->rt_push_pull,
                           &ret->push_pull_live, &ret->push_pull_state);
        if (r < 0)
                return r;
        if (streq(record->partition, "none"))
                return util_copy("", &ret->slice) ?: util_copy("none", &ret->partition);
        r = util_asprintf(&ret->slice, "rtisol-%s.slice", record->name);
        return r ?: cpuset_set_state(audit->world, record, &ret->partition, &ret->partition_reason);
}

static int audit_sets(Audit *audit, const Steps *in_force) {
        int r;

        audit->sets = calloc(in_force->n_sets + 1, sizeof(AuditSet));
        if (!audit->sets)
                return -ENOMEM;
        for (size_t i = 0; i < in_force->n_sets; i++) {
                audit->n_sets = i + 1;
                r = audit_set(audit, &in_force->sets[i], &audit->sets[i]);
                if (r < 0)
                        return r;
        }
        cpulist_intersect(&audit->isolated, &audit->world->topology->online);
        r = cpulist_copy(&audit->world->topology->online, &audit->housekeeping);
        if (r < 0)
                return r;
        cpulist_subtract(&audit->housekeeping, &audit->isolated);
        return 0;
}

/* Everything but the findings. */
static int audit_compare(Kfs *kfs, const Steps *in_force, const char *mode, Audit *audit) {
        int r = util_copy(mode, &audit->mode);

        audit->in_force = in_force;
        r = r ?: plan_audit(kfs, NULL, in_force, &audit->world);
        r = r ?: audit_steps(audit, in_force);
        return r ?: audit_sets(audit, in_force);
}

int audit_make(Kfs *kfs, const Steps *in_force, const char *mode, Audit **ret) {
        _cleanup_audit_ Audit *audit = calloc(1, sizeof(Audit));
        int r;

        if (!audit)
                return -ENOMEM;
        r = audit_compare(kfs, in_force, mode, audit);
        r = r ?: audit_find(audit);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(audit);
        return 0;
}

static uint64_t now_usec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

/* Reading a big machine takes its time: what is left of the wait is waited for. */
static void sleep_until(uint64_t usec) {
        for (uint64_t now = now_usec(); now < usec; now = now_usec())
                (void) usleep((useconds_t) (usec - now));
}

/* Counters that are not there are not known, which is no error. */
static int audit_counts(Kfs *kfs, Audit *audit) {
        const struct {
                const char *file;
                Counts *counts;
        } all[] = {
                { RTISOL_RUNTIME_DIR "/" COUNTS_BEGIN "/interrupts", &audit->began },
                { RTISOL_RUNTIME_DIR "/" COUNTS_BEGIN "/softirqs", &audit->softirqs_began },
                { "/proc/softirqs", &audit->softirqs },
        };

        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                if (counts_read(kfs, all[i].file, all[i].counts) == -ENOMEM)
                        return -ENOMEM;
        return 0;
}

static void audit_accept(Audit *audit, char *const *patterns) {
        for (size_t i = 0; i < audit->n_findings; i++)
                audit->findings[i].accepted = accepted_matches(patterns, audit->findings[i].id);
}

int audit_look(Kfs *kfs, const AuditInput *input, Audit **ret) {
        _cleanup_audit_ Audit *audit = calloc(1, sizeof(Audit));
        uint64_t looked = now_usec();
        int r;

        if (!audit)
                return -ENOMEM;
        audit->profile = input->profile;
        r = input->look_msec > 0 ? sample_take(kfs, &audit->before) : 0;
        r = r ?: (input->look_msec > 0 ? noise_counters_take(kfs, &audit->noise_before) : 0);
        r = r ?: audit_compare(kfs, input->in_force, input->mode, audit);
        r = r ?: audit_counts(kfs, audit);
        r = r ?: audit_facts_read(kfs, audit, &audit->facts);
        if (r == 0 && input->look_msec > 0) {
                sleep_until(looked + input->look_msec * UINT64_C(1000));
                r = sample_take(kfs, &audit->after);
                r = r ?: noise_counters_take(kfs, &audit->noise_after);
                r = r ?: audit_facts_again(kfs, audit, audit->facts);
        }
        r = r ?: audit_find(audit);
        if (r < 0)
                return r;
        audit_accept(audit, input->accepted);
        *ret = TAKE_PTR(audit);
        return 0;
}

const char *audit_verdict(const Audit *audit) {
        if (audit->n_drifted > 0)
                return "drifted";
        for (size_t i = 0; i < audit->n_findings; i++)
                if (streq(audit->findings[i].severity, "error") && !audit->findings[i].accepted)
                        return "degraded";
        return audit->n_boot + audit->n_unsupported + audit->n_refused > 0 ? "degraded" : "ok";
}
