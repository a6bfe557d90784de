/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "noise-state.h"

static void culprit_done(Culprit *culprit) {
        free(culprit->name);
        free(culprit->causes);
}

void noise_free(Noise *noise) {
        for (size_t i = 0; i < noise->n_cpus; i++) {
                for (size_t j = 0; j < noise->cpus[i].n_culprits; j++)
                        culprit_done(&noise->cpus[i].culprits[j]);
                free(noise->cpus[i].culprits);
        }
        for (size_t i = 0; i < noise->n_tasks; i++)
                free(noise->tasks[i]);
        free(noise->cpus);
        free(noise->tasks);
        free(noise->origins);
        free(noise);
}

int noise_new(const CpuList *cpus, uint64_t start, Noise **ret) {
        _cleanup_noise_ Noise *noise = calloc(1, sizeof(Noise));

        if (!noise)
                return -ENOMEM;
        noise->start = start;
        noise->origins = calloc(ORIGINS, sizeof(Origin));
        noise->cpus = calloc(cpulist_count(cpus) + 1, sizeof(Cpu));
        if (!noise->origins || !noise->cpus)
                return -ENOMEM;
        CPULIST_FOREACH (cpu, cpus)
                noise->cpus[noise->n_cpus++] = (Cpu){ .cpu = (unsigned) cpu, .at = start };
        *ret = TAKE_PTR(noise);
        return 0;
}

static Cpu *find_cpu(Noise *noise, unsigned number) {
        size_t low = 0, high = noise->n_cpus;

        while (low < high) {
                size_t middle = (low + high) / 2;

                if (noise->cpus[middle].cpu == number)
                        return &noise->cpus[middle];
                if (noise->cpus[middle].cpu < number)
                        low = middle + 1;
                else
                        high = middle;
        }
        return NULL;
}

/* Where a thread is in the table, or has to be put. */
static size_t task_place(const Noise *noise, int pid) {
        size_t low = 0, high = noise->n_tasks;

        while (low < high) {
                size_t middle = (low + high) / 2;

                if (noise->tasks[middle]->pid < pid)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

const Task *noise_find_task(const Noise *noise, int pid) {
        size_t place = task_place(noise, pid);

        return place < noise->n_tasks && noise->tasks[place]->pid == pid ? noise->tasks[place] : NULL;
}

int noise_get_task(Noise *noise, int pid, Task **ret) {
        size_t place = task_place(noise, pid);
        Task *task;
        int r;

        if (place < noise->n_tasks && noise->tasks[place]->pid == pid) {
                *ret = noise->tasks[place];
                return 0;
        }
        r = GROW(noise->tasks, noise->n_tasks);
        if (r < 0)
                return r;
        task = calloc(1, sizeof(Task));
        if (!task)
                return -ENOMEM;
        task->pid = pid;
        task->known = task->kernel = pid < 0;
        memmove(noise->tasks + place + 1, noise->tasks + place,
                (noise->n_tasks++ - place) * sizeof(*noise->tasks));
        noise->tasks[place] = *ret = task;
        return 0;
}

static int task_of(Noise *noise, unsigned cpu, int pid, Task **ret) {
        return noise_get_task(noise, pid == 0 ? -(int) cpu - 1 : pid, ret);
}

static void name_task(Task *task, const char *comm) {
        (void) snprintf(task->comm, sizeof(task->comm), "%s", comm);
}

static int get_culprit(Cpu *cpu, NoiseKind kind, const char *name, int owner, size_t *ret) {
        int r;

        for (size_t i = 0; i < cpu->n_culprits; i++) {
                const Culprit *culprit = &cpu->culprits[i];

                if (culprit->kind == kind && culprit->owner == owner && streq(culprit->name, name)) {
                        *ret = i;
                        return 0;
                }
        }
        r = GROW(cpu->culprits, cpu->n_culprits);
        if (r < 0)
                return r;
        cpu->culprits[cpu->n_culprits] = (Culprit){ .kind = kind, .name = strdup(name), .owner = owner };
        if (!cpu->culprits[cpu->n_culprits].name)
                return -ENOMEM;
        *ret = cpu->n_culprits++;
        return 0;
}

static bool who_equal(const Who *a, const Who *b) {
        return a->pid == b->pid && a->cpu == b->cpu && streq(a->name, b->name);
}

static int add_cause(Culprit *culprit, const Who *who) {
        int r;

        if (!who->set)
                return 0;
        for (size_t i = 0; i < culprit->n_causes; i++)
                if (who_equal(&culprit->causes[i].who, who)) {
                        culprit->causes[i].count++;
                        return 0;
                }
        r = GROW(culprit->causes, culprit->n_causes);
        if (r == 0)
                culprit->causes[culprit->n_causes++] = (Cause){ .who = *who, .count = 1 };
        return r;
}

static void charge(Culprit *culprit, uint64_t ns, uint64_t piece) {
        culprit->ns += ns;
        if (piece > culprit->worst_ns)
                culprit->worst_ns = piece;
}

static int task_culprit(Cpu *cpu, size_t *ret) {
        return get_culprit(cpu, NOISE_KIND_TASK, "", cpu->current->pid, ret);
}

int noise_advance(Cpu *cpu, uint64_t at) {
        uint64_t ns = at > cpu->at ? at - cpu->at : 0;
        Task *task = cpu->current;
        size_t i;
        int r;

        if (!task || ns == 0)
                return 0;
        cpu->at = at;
        if (task->n_frames > 0) {
                task->frames[task->n_frames - 1].ns += ns;
                return 0;
        }
        if (task->pid < 0) {
                cpu->idle_ns += ns;
                return 0;
        }
        r = task_culprit(cpu, &i);
        if (r < 0)
                return r;
        task->slice_ns += ns;
        charge(&cpu->culprits[i], ns, task->slice_ns);
        return 0;
}

/* Is it an interrupt, which was there for what ran inside it? */
static bool is_outer(NoiseEventType entry) {
        return entry == NOISE_IRQ_ENTRY || entry == NOISE_VECTOR_ENTRY;
}

static bool is_inner(NoiseEventType entry) {
        return entry == NOISE_HRTIMER_ENTRY || entry == NOISE_CALL_ENTRY;
}

static void leave_one(Cpu *cpu, Task *task) {
        Frame *frame = &task->frames[--task->n_frames], *outer = frame - 1;
        Culprit *culprit = &cpu->culprits[frame->culprit];

        if (is_outer(frame->entry) && frame->has_inner) {
                charge(&cpu->culprits[frame->inner], frame->ns, frame->inner_ns + frame->ns);
                return;
        }
        culprit->count++;
        charge(culprit, frame->ns, frame->ns);
        if (is_inner(frame->entry) && task->n_frames > 0 && is_outer(outer->entry) && !outer->has_inner) {
                outer->has_inner = true;
                outer->inner = frame->culprit;
                outer->inner_ns = frame->ns;
        }
}

void noise_leave(Cpu *cpu, Task *task, size_t n) {
        while (task->n_frames > n)
                leave_one(cpu, task);
}

static int enter(Cpu *cpu, NoiseEventType entry, NoiseKind kind, const char *name, size_t *ret) {
        bool owned = kind == NOISE_KIND_SYSCALL;
        Task *task = cpu->current;
        size_t i;
        int r = get_culprit(cpu, kind, name ?: "?", owned ? task->pid : 0, &i);

        if (r < 0)
                return r;
        /* Deeper than anything goes: exits were lost. */
        if (task->n_frames == FRAMES_MAX)
                task->n_frames = 0;
        task->frames[task->n_frames++] = (Frame){ .entry = entry, .culprit = i };
        *ret = i;
        return 0;
}

static void leave(Cpu *cpu, NoiseEventType entry) {
        Task *task = cpu->current;

        for (size_t n = task->n_frames; n > 0; n--)
                if (task->frames[n - 1].entry == entry) {
                        noise_leave(cpu, task, n - 1);
                        return;
                }
}

static size_t origin_place(uint64_t address) {
        return (size_t) ((address >> 3) * 0x9e3779b97f4a7c15u >> 32) % ORIGINS;
}

static const Who *origin_get(const Noise *noise, uint64_t address) {
        static const Who nobody = {};
        const Origin *origin = &noise->origins[origin_place(address)];

        return origin->address == address ? &origin->who : &nobody;
}

/* Who does what an event tells of.  On a watched CPU it is known what has interrupted the thread. */
static int get_who(Noise *noise, const NoiseEvent *event, Who *ret) {
        const Cpu *cpu = find_cpu(noise, event->cpu);
        Who who = { .set = true, .pid = event->pid, .cpu = event->cpu };
        Task *task;
        int r = task_of(noise, event->cpu, event->pid, &task);

        if (r < 0)
                return r;
        if (cpu && cpu->current == task && task->n_frames > 0 &&
                task->frames[task->n_frames - 1].entry != NOISE_SYSCALL_ENTRY)
                (void) snprintf(who.name, sizeof(who.name), "%s",
                        cpu->culprits[task->frames[task->n_frames - 1].culprit].name);
        else if (event->interrupt)
                (void) snprintf(who.name, sizeof(who.name), "an interrupt");
        if (*who.name)
                who.pid = 0;
        *ret = who;
        return 0;
}

static int on_arm(Noise *noise, const NoiseEvent *event) {
        Origin *origin = &noise->origins[origin_place(event->address)];

        origin->address = event->address;
        return get_who(noise, event, &origin->who);
}

static int on_waking(Noise *noise, const NoiseEvent *event) {
        Task *task;
        int r;

        if (!find_cpu(noise, event->target))
                return 0;
        r = noise_get_task(noise, event->target_pid, &task);
        if (r < 0)
                return r;
        if (!*task->comm)
                name_task(task, event->target_comm);
        r = get_who(noise, event, &task->waker);
        /* A wake-up from elsewhere may come with an interrupt. */
        if (r == 0 && event->cpu != event->target)
                find_cpu(noise, event->target)->sender = task->waker;
        return r;
}

static int on_send(Noise *noise, const NoiseEvent *event) {
        Cpu *target = find_cpu(noise, event->target);

        if (event->name && streq(event->name, NOISE_FLUSH))
                return get_who(noise, event, &noise->flusher);
        return target ? get_who(noise, event, &target->sender) : 0;
}

static int on_enter(Noise *noise, Cpu *cpu, const NoiseEvent *event) {
        static const NoiseKind kinds[_NOISE_EVENT_TYPE_MAX] = {
                [NOISE_IRQ_ENTRY] = NOISE_KIND_INTERRUPT,
                [NOISE_VECTOR_ENTRY] = NOISE_KIND_IPI,
                [NOISE_SOFTIRQ_ENTRY] = NOISE_KIND_SOFTIRQ,
                [NOISE_HRTIMER_ENTRY] = NOISE_KIND_TIMER,
                [NOISE_TIMER_ENTRY] = NOISE_KIND_TIMER,
                [NOISE_CALL_ENTRY] = NOISE_KIND_IPI,
                [NOISE_WORK_ENTRY] = NOISE_KIND_WORK,
                [NOISE_SYSCALL_ENTRY] = NOISE_KIND_SYSCALL,
        };
        bool tick =
                event->type == NOISE_HRTIMER_ENTRY && event->name && util_startswith(event->name, "tick_");
        bool vector_timer = event->type == NOISE_VECTOR_ENTRY && event->name && strstr(event->name, "timer");
        NoiseKind kind = tick ? NOISE_KIND_TICK : vector_timer ? NOISE_KIND_INTERRUPT : kinds[event->type];
        size_t i;
        int r = enter(cpu, event->type, kind, tick ? "tick" : event->name, &i);

        if (r < 0 || tick)
                return r;
        cpu->culprits[i].number = event->number;
        switch (event->type) {
        case NOISE_HRTIMER_ENTRY:
        case NOISE_TIMER_ENTRY:
        case NOISE_WORK_ENTRY: return add_cause(&cpu->culprits[i], origin_get(noise, event->address));
        case NOISE_CALL_ENTRY: return add_cause(&cpu->culprits[i], &cpu->sender);
        default: return 0;
        }
}

/* An interrupt from another CPU that nothing told the reason of: at least it is known who may have sent it. */
static int on_vector_exit(Cpu *cpu) {
        Task *task = cpu->current;
        const Frame *top = task->n_frames > 0 ? &task->frames[task->n_frames - 1] : NULL;
        int r = 0;

        if (top && top->entry == NOISE_VECTOR_ENTRY && !top->has_inner)
                r = add_cause(&cpu->culprits[top->culprit], &cpu->sender);
        cpu->sender = (Who){};
        leave(cpu, NOISE_VECTOR_ENTRY);
        return r;
}

static int on_call_name(Noise *noise, Cpu *cpu, const NoiseEvent *event) {
        Task *task = cpu->current;
        Frame *frame = task->n_frames > 0 ? &task->frames[task->n_frames - 1] : NULL;
        size_t i;
        int r;

        /* Inside a call that is known by its name there is nothing to be told. */
        if (!frame || frame->entry != NOISE_VECTOR_ENTRY || frame->has_inner)
                return 0;
        r = get_culprit(cpu, NOISE_KIND_IPI, event->name, 0, &i);
        if (r < 0)
                return r;
        frame->has_inner = true;
        frame->inner = i;
        cpu->culprits[i].count++;
        return add_cause(&cpu->culprits[i], &noise->flusher);
}

static int on_tick_stop(Cpu *cpu, const NoiseEvent *event) {
        Who who = { .set = true, .cpu = cpu->cpu };
        size_t i;
        int r;

        if (event->number)
                return 0;
        (void) snprintf(who.name, sizeof(who.name), "%s", event->name);
        r = get_culprit(cpu, NOISE_KIND_TICK, "tick", 0, &i);
        return r < 0 ? r : add_cause(&cpu->culprits[i], &who);
}

static int on_page_fault(Cpu *cpu, const NoiseEvent *event) {
        size_t i;
        int r = get_culprit(cpu, NOISE_KIND_PAGE_FAULT, event->name, cpu->current->pid, &i);

        if (r == 0)
                cpu->culprits[i].count++;
        return r;
}

/* It tells at its end how long it took; the time is taken out of what it interrupted. */
static int on_nmi(Cpu *cpu, const NoiseEvent *event, uint64_t passed) {
        uint64_t ns = event->number < passed ? event->number : passed;
        size_t i;
        int r = get_culprit(cpu, NOISE_KIND_NMI, event->name, 0, &i);

        if (r < 0)
                return r;
        cpu->culprits[i].count++;
        charge(&cpu->culprits[i], ns, ns);
        cpu->at += ns;
        return noise_advance(cpu, event->at);
}

/* The current task loses the CPU; what it is in goes on when it gets it again. */
static void end_turn(Cpu *cpu) {
        Task *task = cpu->current;

        for (size_t n = 0; n < task->n_frames; n++)
                if (is_outer(task->frames[n].entry)) {
                        /* Nobody is switched inside a hard interrupt: the exit was lost. */
                        noise_leave(cpu, task, n);
                        break;
                }
        for (size_t n = 0; n < task->n_frames; n++) {
                charge(&cpu->culprits[task->frames[n].culprit], task->frames[n].ns, task->frames[n].ns);
                task->frames[n].ns = 0;
        }
}

/* Begins a turn of the current task. */
static int begin_turn(Cpu *cpu) {
        Task *task = cpu->current;
        size_t i;
        int r;

        if (task->cpu != cpu->cpu)
                task->n_frames = 0;
        task->cpu = cpu->cpu;
        task->slice_ns = 0;
        if (task->pid < 0)
                return 0;
        r = task_culprit(cpu, &i);
        if (r < 0)
                return r;
        cpu->culprits[i].count++;
        r = add_cause(&cpu->culprits[i], &task->waker);
        task->waker = (Who){};
        return r;
}

static int on_switch(Noise *noise, Cpu *cpu, const NoiseEvent *event) {
        Task *next;
        int r = task_of(noise, cpu->cpu, event->target_pid, &next);

        if (r < 0)
                return r;
        end_turn(cpu);
        if (event->target_pid != 0)
                name_task(next, event->target_comm);
        cpu->current = next;
        return begin_turn(cpu);
}

/* Who has the CPU, as the event says.  It is somebody else than was thought only where events were lost. */
static int see_current(Noise *noise, Cpu *cpu, const NoiseEvent *event) {
        Task *task;
        int r = task_of(noise, cpu->cpu, event->pid, &task);

        if (r < 0 || cpu->current == task)
                return r;
        if (cpu->current)
                cpu->current->n_frames = 0;
        cpu->current = task;
        return begin_turn(cpu);
}

static int on_watched(Noise *noise, Cpu *cpu, const NoiseEvent *event) {
        uint64_t passed = event->at > cpu->at ? event->at - cpu->at : 0;
        int r = see_current(noise, cpu, event);

        if (r < 0)
                return r;
        if (event->type == NOISE_NMI)
                return on_nmi(cpu, event, passed);
        r = noise_advance(cpu, event->at);
        if (r < 0)
                return r;
        switch (event->type) {
        case NOISE_IRQ_EXIT:
        case NOISE_SOFTIRQ_EXIT:
        case NOISE_HRTIMER_EXIT:
        case NOISE_TIMER_EXIT:
        case NOISE_CALL_EXIT:
        case NOISE_WORK_EXIT:
        case NOISE_SYSCALL_EXIT: leave(cpu, event->type - 1); return 0;
        case NOISE_VECTOR_EXIT: return on_vector_exit(cpu);
        case NOISE_CALL_NAME: return on_call_name(noise, cpu, event);
        case NOISE_TICK_STOP: return on_tick_stop(cpu, event);
        case NOISE_PAGE_FAULT: return on_page_fault(cpu, event);
        case NOISE_SWITCH: return on_switch(noise, cpu, event);
        case NOISE_LOST: cpu->lost += event->number; return 0;
        default: return on_enter(noise, cpu, event);
        }
}

int noise_event(Noise *noise, const NoiseEvent *event) {
        Cpu *cpu = find_cpu(noise, event->cpu);
        int r = 0;

        switch (event->type) {
        case NOISE_TIMER_ARM:
        case NOISE_WORK_QUEUE: r = on_arm(noise, event); break;
        case NOISE_WAKING: r = on_waking(noise, event); break;
        case NOISE_IPI_SEND: r = on_send(noise, event); break;
        default: return cpu ? on_watched(noise, cpu, event) : 0;
        }
        return r;
}

int noise_task(Noise *noise, int pid, const char *comm, bool kernel, bool belongs) {
        Task *task;
        int r = noise_get_task(noise, pid, &task);

        if (r < 0)
                return r;
        if (comm)
                name_task(task, comm);
        task->known = true;
        task->kernel = kernel;
        task->belongs = belongs;
        return 0;
}

int noise_next_unknown(Noise *noise) {
        for (size_t i = 0; i < noise->n_tasks; i++)
                if (!noise->tasks[i]->known)
                        return noise->tasks[i]->pid;
        return 0;
}
