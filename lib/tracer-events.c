/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tracer-events.h"

/* clang-format off */
static const EventSpec specs[] = {
        { "irq", "irq_handler_entry", NOISE_IRQ_ENTRY, .source = NAME_STRING, .name = "name", .number = "irq" },
        { "irq", "irq_handler_exit", NOISE_IRQ_EXIT },
        { "irq", "softirq_entry", NOISE_SOFTIRQ_ENTRY, .source = NAME_SOFTIRQ, .name = "vec" },
        { "irq", "softirq_exit", NOISE_SOFTIRQ_EXIT },
        /* Of arm64 and others; x86 has the system irq_vectors. */
        { "ipi", "ipi_entry", NOISE_VECTOR_ENTRY, .source = NAME_PRINTED, .name = "(" },
        { "ipi", "ipi_exit", NOISE_VECTOR_EXIT },
        { "timer", "hrtimer_expire_entry", NOISE_HRTIMER_ENTRY, .source = NAME_FUNCTION, .name = "function",
          .address = "hrtimer" },
        { "timer", "hrtimer_expire_exit", NOISE_HRTIMER_EXIT },
        { "timer", "timer_expire_entry", NOISE_TIMER_ENTRY, .source = NAME_FUNCTION, .name = "function",
          .address = "timer" },
        { "timer", "timer_expire_exit", NOISE_TIMER_EXIT },
        /* A high-resolution timer is armed on the CPU it is for; another may be armed from anywhere. */
        { "timer", "hrtimer_start", NOISE_TIMER_ARM, .address = "hrtimer" },
        { "timer", "timer_start", NOISE_TIMER_ARM, FILTER_NO_CPU, .address = "timer" },
        { "timer", "tick_stop", NOISE_TICK_STOP, .source = NAME_PRINTED, .name = "dependency=", .number = "success" },
        { "workqueue", "workqueue_execute_start", NOISE_WORK_ENTRY, .source = NAME_FUNCTION, .name = "function",
          .address = "work" },
        { "workqueue", "workqueue_execute_end", NOISE_WORK_EXIT },
        { "workqueue", "workqueue_queue_work", NOISE_WORK_QUEUE, FILTER_ABOUT_CPU, .target = "cpu", .address = "work" },
        { "csd", "csd_function_entry", NOISE_CALL_ENTRY, .source = NAME_FUNCTION, .name = "func" },
        { "csd", "csd_function_exit", NOISE_CALL_EXIT },
        { "csd", "csd_queue_cpu", NOISE_IPI_SEND, FILTER_ABOUT_CPU, NAME_FUNCTION, "func", .target = "cpu" },
        { "ipi", "ipi_send_cpu", NOISE_IPI_SEND, FILTER_ABOUT_CPU, .target = "cpu" },
        /* Told on both sides: 1 on the CPU that is made to forget, 4 on the one that makes it (enum tlb_flush_reason). */
        { "tlb", "tlb_flush", NOISE_CALL_NAME, FILTER_CONDITION, NAME_FIXED, NOISE_FLUSH, .number = "reason",
          .condition = "reason == 1 || reason == 4" },
        { "sched", "sched_switch", NOISE_SWITCH, .pid = "next_pid", .comm = "next_comm" },
        { "sched", "sched_waking", NOISE_WAKING, FILTER_ABOUT_CPU, .target = "target_cpu", .pid = "pid", .comm = "comm" },
        { "raw_syscalls", "sys_enter", NOISE_SYSCALL_ENTRY, .source = NAME_SYSCALL, .name = "id" },
        { "raw_syscalls", "sys_exit", NOISE_SYSCALL_EXIT },
        { "exceptions", "page_fault_user", NOISE_PAGE_FAULT, .source = NAME_FIXED, .name = "in the program" },
        { "exceptions", "page_fault_kernel", NOISE_PAGE_FAULT, .source = NAME_FIXED, .name = "in a system call" },
        { "nmi", "nmi_handler", NOISE_NMI, .source = NAME_FUNCTION, .name = "handler", .number = "delta_ns" },
};
/* clang-format on */

#define TLB_SEND 4

static void event_done(TracedEvent *event) {
        free(event->system);
        free(event->event);
        free(event->fixed);
}

void events_done(Events *events) {
        for (size_t i = 0; i < events->n; i++)
                event_done(&events->items[i]);
        free(events->items);
        util_strv_free(events->softirqs);
        util_strv_free(events->texts);
        if (events->ksyms)
                ksyms_free(events->ksyms);
        if (events->tep)
                tep_free(events->tep);
        *events = (Events){};
}

/* A field that the table names must be there, or the event is of no use. */
static bool find_field(struct tep_event *event, const char *name, struct tep_format_field **ret) {
        *ret = name ? tep_find_field(event, name) : NULL;
        return !name || *ret;
}

static bool find_fields(const EventSpec *spec, TracedEvent *event) {
        bool named = spec->source != NAME_NONE && spec->source != NAME_FIXED && spec->source != NAME_PRINTED;

        return find_field(event->tep, named ? spec->name : NULL, &event->name) &&
                find_field(event->tep, spec->address, &event->address) &&
                find_field(event->tep, spec->number, &event->number) &&
                find_field(event->tep, spec->target, &event->target) &&
                find_field(event->tep, spec->pid, &event->pid) &&
                find_field(event->tep, spec->comm, &event->comm);
}

static int add_event(Events *events, const EventSpec *spec) {
        struct tep_event *tep = tep_find_event_by_name(events->tep, spec->system, spec->event);
        TracedEvent event = { .tep = tep, .spec = *spec };
        int r;

        if (!tep || !find_fields(spec, &event))
                return 0;
        r = GROW(events->items, events->n);
        r = r ?: util_copy(spec->system, &event.system);
        r = r ?: util_copy(spec->event, &event.event);
        r = r ?: (spec->name ? util_copy(spec->name, &event.fixed) : 0);
        if (r < 0) {
                event_done(&event);
                return r;
        }
        event.spec.system = event.system;
        event.spec.event = event.event;
        event.spec.name = event.fixed;
        events->items[events->n++] = event;
        return 0;
}

/* The interrupts of x86 that belong to no device: an entry and an exit for each. */
static int add_vectors(Events *events) {
        char **names = tracefs_system_events(NULL, "irq_vectors");
        int r = 0;

        for (char **name = names; r == 0 && name && *name; name++) {
                char *end = strrchr(*name, '_');
                bool entry = end && streq(end, "_entry");
                _cleanup_free_ char *vector = NULL;

                if (!entry && !(end && streq(end, "_exit")))
                        continue;
                vector = strndup(*name, (size_t) (end - *name));
                if (!vector)
                        r = -ENOMEM;
                else
                        r = add_event(events,
                                &(EventSpec){ "irq_vectors", *name,
                                        entry ? NOISE_VECTOR_ENTRY : NOISE_VECTOR_EXIT, .source = NAME_FIXED,
                                        .name = vector });
        }
        tracefs_list_free(names);
        return r;
}

/* The kernel's own order, which is that of their numbers. */
static int read_softirqs(Kfs *kfs, char ***ret) {
        _cleanup_free_ char *text = NULL;
        char *state = NULL;
        int r = kfs_read(kfs, "/proc/softirqs", &text);

        for (char *line = r < 0 ? NULL : strtok_r(text, "\n", &state); line;
                line = strtok_r(NULL, "\n", &state)) {
                char *end = strchr(line, ':');

                if (!end)
                        continue;
                *end = '\0';
                r = util_strv_push(ret, util_strip(line));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int compare_events(const void *a, const void *b) {
        const TracedEvent *left = a, *right = b;

        return left->tep->id < right->tep->id ? -1 : left->tep->id > right->tep->id;
}

int events_find(Kfs *kfs, Events *ret) {
        static const char *const systems[] = { "irq", "irq_vectors", "ipi", "timer", "workqueue", "csd",
                "tlb", "sched", "raw_syscalls", "exceptions", "nmi", NULL };
        _cleanup_(events_done) Events events = {};
        int r = 0;

        events.tep = tracefs_local_events_system(NULL, systems);
        if (!events.tep)
                return errno > 0 ? -errno : -EIO;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(specs); i++)
                r = add_event(&events, &specs[i]);
        r = r ?: add_vectors(&events);
        r = r ?: read_softirqs(kfs, &events.softirqs);
        r = r ?: ksyms_read(kfs, &events.ksyms);
        if (r < 0)
                return r;
        if (events.n > 0)
                qsort(events.items, events.n, sizeof(TracedEvent), compare_events);
        *ret = events;
        events = (Events){};
        return 0;
}

const TracedEvent *events_get(const Events *events, int id) {
        size_t low = 0, high = events->n;

        while (low < high) {
                size_t middle = (low + high) / 2;

                if (events->items[middle].tep->id == id)
                        return &events->items[middle];
                if (events->items[middle].tep->id < id)
                        low = middle + 1;
                else
                        high = middle;
        }
        return NULL;
}

bool events_have(const Events *events, const char *system) {
        for (size_t i = 0; i < events->n; i++)
                if (streq(events->items[i].system, system))
                        return true;
        return false;
}

/* Keeps a name; the few that there are come again and again. */
static const char *keep_text(Events *events, const char *text) {
        STRV_FOREACH (known, events->texts)
                if (streq(*known, text))
                        return *known;
        if (util_strv_push(&events->texts, text) < 0)
                return NULL;
        return events->texts[util_strv_length(events->texts) - 1];
}

static uint64_t read_number(struct tep_format_field *field, const struct tep_record *record) {
        unsigned long long value = 0;

        return field && tep_read_number_field(field, record->data, &value) == 0 ? value : 0;
}

/* Of a field with a text, inside the record or where it points to in the record. */
static void read_string(
        struct tep_format_field *field, const struct tep_record *record, char *ret, size_t size) {
        unsigned long long offset = (unsigned long long) field->offset,
                           length = (unsigned long long) field->size;

        if (field->flags & TEP_FIELD_IS_DYNAMIC) {
                unsigned long long where = 0;

                (void) tep_read_number_field(field, record->data, &where);
                offset = where & 0xffff;
                length = where >> 16 & 0xffff;
                if (field->flags & TEP_FIELD_IS_RELATIVE)
                        offset += (unsigned long long) (field->offset + field->size);
        }
        if (offset + length > (unsigned long long) record->size)
                length = 0;
        (void) snprintf(ret, size, "%.*s", (int) length, (const char *) record->data + offset);
}

/* The word behind a text in what the kernel would print. */
static const char *read_printed(Events *events, const TracedEvent *event, struct tep_record *record) {
        const char *found, *name = NULL;
        struct trace_seq seq;

        trace_seq_init(&seq);
        tep_print_event(events->tep, &seq, record, "%s", TEP_PRINT_INFO);
        trace_seq_terminate(&seq);
        found = strstr(seq.buffer, event->spec.name);
        if (found) {
                _cleanup_free_ char *word = NULL;

                found += strlen(event->spec.name);
                word = strndup(found, strcspn(found, " )"));
                name = word ? keep_text(events, word) : NULL;
        }
        trace_seq_destroy(&seq);
        return name;
}

static const char *number_text(Events *events, const char *what, uint64_t number) {
        char text[48];

        (void) snprintf(text, sizeof(text), "%s %llu", what, (unsigned long long) number);
        return keep_text(events, text);
}

static const char *read_name(Events *events, const TracedEvent *event, struct tep_record *record) {
        uint64_t number = event->name ? read_number(event->name, record) : 0;
        char text[64];

        switch (event->spec.source) {
        case NAME_FIXED: return event->spec.name;
        case NAME_STRING:
                if (!event->name)
                        return NULL;
                read_string(event->name, record, text, sizeof(text));
                return keep_text(events, text);
        case NAME_FUNCTION: return ksyms_name(events->ksyms, number);
        case NAME_SOFTIRQ:
                return number < util_strv_length(events->softirqs) ? events->softirqs[number]
                                                                   : number_text(events, "softirq", number);
        case NAME_SYSCALL: return syscall_name(number) ?: number_text(events, "system call", number);
        case NAME_PRINTED: return read_printed(events, event, record);
        default: return NULL;
        }
}

void events_decode(Events *events, const TracedEvent *event, struct tep_record *record, NoiseEvent *ret) {
        NoiseEvent decoded = {
                .type = event->spec.type,
                .at = record->ts,
                .cpu = (unsigned) record->cpu,
                .pid = tep_data_pid(events->tep, record),
                .interrupt = tep_data_flags(events->tep, record) & (TRACE_FLAG_HARDIRQ | TRACE_FLAG_SOFTIRQ),
                .name = read_name(events, event, record),
                .address = read_number(event->address, record),
                .number = read_number(event->number, record),
                .target = (unsigned) read_number(event->target, record),
                .target_pid = (int) read_number(event->pid, record),
        };

        if (event->comm)
                read_string(event->comm, record, decoded.target_comm, sizeof(decoded.target_comm));
        if (decoded.type == NOISE_CALL_NAME && decoded.number == TLB_SEND)
                decoded.type = NOISE_IPI_SEND;
        *ret = decoded;
}
