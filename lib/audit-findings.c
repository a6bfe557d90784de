/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-findings.h"

bool audit_is_plain(const char *text) {
        return *text &&
                text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:_.@/-")] ==
                '\0' &&
                *text != '-';
}

/* The isolated CPUs among some, as text. */
static int isolated_part(const Audit *audit, const CpuList *cpus, char **ret) {
        _cleanup_cpulist_ CpuList both = {};
        int r = cpulist_copy(cpus ?: &audit->isolated, &both);

        if (r < 0)
                return r;
        cpulist_intersect(&both, &audit->isolated);
        return cpulist_format(&both, ret);
}

int audit_add_finding(Audit *audit, const FindingText *text) {
        Finding finding = {
                .code = text->code,
                .severity = text->severity,
                .is_command = text->is_command,
        };
        int r = text->all_cpus ? cpulist_format(text->cpus, &finding.cpus)
                               : isolated_part(audit, text->cpus, &finding.cpus);

        r = r ?: util_asprintf(&finding.id, "%s:%s", text->code, text->name);
        r = r ?: util_copy(text->subject, &finding.subject);
        r = r ?: util_copy(text->why, &finding.why);
        r = r ?: util_copy(text->fix, &finding.fix);
        r = r ?: GROW(audit->findings, audit->n_findings);
        if (r < 0) {
                free(finding.cpus);
                free(finding.id);
                free(finding.subject);
                free(finding.why);
                free(finding.fix);
                return r;
        }
        audit->findings[audit->n_findings++] = finding;
        return 0;
}

int audit_find(Audit *audit) {
        int r = audit_find_lost(audit);

        if (r < 0 || cpulist_is_empty(&audit->isolated))
                return r;
        r = audit_find_machine(audit);
        r = r ?: audit_find_tasks(audit);
        r = r ?: audit_find_noise(audit);
        return r ?: audit_find_irqs(audit);
}
