/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests in the virtual machine need beyond a shell:
 *
 *   kt busy CPUS SECONDS [PRIORITY]    spin, one task for each CPU of the list
 *   kt stack CPUS PRIORITY             two spinning tasks on the first CPU that may use all: prints, for each
 *                                      line it reads, on how many CPUs they made progress within 100 ms
 *   kt load CPUS SECONDS               five FIFO tasks that may use all of CPUS, woken and changed in priority
 *                                      from CPU 0; prints how often
 *   kt deadline CPUS SECONDS           a SCHED_DEADLINE task
 *   kt clocks                          in ns, CLOCK_REALTIME - CLOCK_MONOTONIC and CLOCK_MONOTONIC - jiffies
 *   kt peek SYMBOL                     an int of the kernel
 *   kt isolated CPU                    is the CPU's run queue kept out of RT balancing?
 *   kt itimer THREADS SECONDS          spin on CPU 3 beside so many threads, with ITIMER_PROF armed
 *   kt truth                           compare what the root domains say with what the run queues say
 *   kt watch FILE SECONDS              wait for a notification from a cgroup file
 *   kt as PRIORITY COMMAND...          run the command, under FIFO unless the priority is 0
 *
 * Tasks that are started join the cpuset in $CG; those of `busy` only if they need to.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "offsets.h"

static void die(const char *what) {
        perror(what);
        exit(1);
}

static int cpus[64], n_cpus;

/* "2-3,5" */
static void parse_cpus(const char *list) {
        char *end;

        for (n_cpus = 0; *list; list = *end ? end + 1 : end) {
                long first = strtol(list, &end, 10), last = first;

                if (*end == '-')
                        last = strtol(end + 1, &end, 10);
                while (first <= last && n_cpus < 64)
                        cpus[n_cpus++] = (int) first++;
        }
}

static int try_pin(pid_t pid, const int *list, int n) {
        cpu_set_t set;

        CPU_ZERO(&set);
        for (int i = 0; i < n; i++)
                CPU_SET(list[i], &set);
        return sched_setaffinity(pid, sizeof(set), &set);
}

static void pin(pid_t pid, const int *list, int n) {
        if (try_pin(pid, list, n) < 0)
                die("sched_setaffinity");
}

static void fifo(pid_t pid, int priority) {
        struct sched_param param = { .sched_priority = priority };

        if (sched_setscheduler(pid, priority ? SCHED_FIFO : SCHED_OTHER, &param) < 0)
                die("sched_setscheduler");
}

/* Move this process to the cpuset in $CG, if there is one. */
static void join(void) {
        const char *cgroup = getenv("CG");
        char path[200];
        int fd;

        if (!cgroup || !*cgroup)
                return;
        snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
        fd = open(path, O_WRONLY);
        if (fd < 0 || write(fd, "0", 1) != 1)
                die(path);
        close(fd);
}

static int64_t now_ns(clockid_t clock) {
        struct timespec t;

        clock_gettime(clock, &t);
        return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void sleep_ms(long ms) {
        struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

        nanosleep(&t, NULL);
}

static int busy(double seconds, int priority) {
        for (int i = 0; i < n_cpus; i++)
                if (fork() == 0) {
                        int64_t end;

                        prctl(PR_SET_PDEATHSIG, SIGKILL);

                        /* The CPU may be one of the partition or another one */
                        if (try_pin(0, cpus + i, 1) < 0) {
                                join();
                                pin(0, cpus + i, 1);
                        }
                        fifo(0, priority);
                        end = now_ns(CLOCK_MONOTONIC) + (int64_t) (seconds * 1e9);
                        while (now_ns(CLOCK_MONOTONIC) < end)
                                for (volatile int j = 0; j < 100000; j++)
                                        ;
                        _exit(0);
                }
        while (wait(NULL) > 0)
                ;
        return 0;
}

/*
 * Both start on the first CPU and are then allowed all of them: where RT tasks are not pushed they stay.
 */
static int stack(int priority) {
        volatile unsigned *progress =
                mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        pid_t pids[2];
        char line[80];
        int zero = 0;

        pin(0, &zero, 1);
        for (int i = 0; i < 2; i++) {
                pids[i] = fork();
                if (pids[i] == 0) {
                        /* The other one may spin there already: above it, or this would never run */
                        fifo(0, priority + 1);
                        join();
                        pin(0, cpus, 1);
                        fifo(0, priority);
                        for (;;)
                                progress[i]++;
                }
        }
        for (int i = 0; i < 2; i++) {
                cpu_set_t set;

                do {
                        sleep_ms(20);
                        if (sched_getaffinity(pids[i], sizeof(set), &set) < 0)
                                die("sched_getaffinity");
                } while (CPU_COUNT(&set) != 1 || !CPU_ISSET(cpus[0], &set));
                pin(pids[i], cpus, n_cpus);
        }
        while (fgets(line, sizeof(line), stdin)) {
                unsigned before[2] = { 0 };
                int running = 0;

                /* at most 100 ms to spread, then look for as long */
                sleep_ms(100);
                for (int i = 0; i < 2; i++)
                        before[i] = progress[i];
                sleep_ms(200);
                for (int i = 0; i < 2; i++)
                        running += progress[i] != before[i];
                printf("%d\n", running);
                fflush(stdout);
        }
        for (int i = 0; i < 2; i++)
                kill(pids[i], SIGKILL);
        return 0;
}

static int load(double seconds) {
        int64_t end = now_ns(CLOCK_MONOTONIC) + (int64_t) (seconds * 1e9);
        int pipes[5][2], zero = 0;
        pid_t pids[5];
        unsigned seed = 1, wakeups = 0;

        pin(0, &zero, 1);
        for (int i = 0; i < 5; i++) {
                if (pipe(pipes[i]) < 0)
                        die("pipe");
                pids[i] = fork();
                if (pids[i] == 0) {
                        char c;

                        join();
                        pin(0, cpus, n_cpus);
                        fifo(0, 10 + i);
                        while (read(pipes[i][0], &c, 1) == 1)
                                for (volatile int j = 0; j < 20000 * (c & 7); j++)
                                        ;
                        _exit(0);
                }
        }
        while (now_ns(CLOCK_MONOTONIC) < end) {
                int i = rand_r(&seed) % 5;
                char c = (char) rand_r(&seed);

                if (write(pipes[i][1], &c, 1) != 1)
                        die("write");
                wakeups++;
                fifo(pids[rand_r(&seed) % 5], 10 + rand_r(&seed) % 20);
                sleep_ms(1);
        }
        for (int i = 0; i < 5; i++)
                kill(pids[i], SIGKILL);
        while (wait(NULL) > 0)
                ;
        printf("%u\n", wakeups);
        return 0;
}

static int deadline(double seconds) {
        struct {
                uint32_t size, policy;
                uint64_t flags;
                int32_t nice;
                uint32_t priority;
                uint64_t runtime, deadline, period;
        } attr = { 48, 6, 0, 0, 0, 2000000, 20000000, 20000000 };
        int64_t end = now_ns(CLOCK_MONOTONIC) + (int64_t) (seconds * 1e9);

        join();
        /* All that there are: less than its root domain is refused */
        pin(0, cpus, n_cpus);
        if (syscall(SYS_sched_setattr, 0, &attr, 0) < 0)
                die("sched_setattr");
        while (now_ns(CLOCK_MONOTONIC) < end) {
                for (volatile int j = 0; j < 20000; j++)
                        ;
                sched_yield();
        }
        return 0;
}

static void *wait_for_ever(void *unused) {
        for (;;)
                pause();
        return unused;
}

static int itimer(int threads, double seconds) {
        struct itimerval timer = { .it_value.tv_sec = 1000 };
        pthread_attr_t attr;
        pthread_t thread;
        int cpu = 3;

        join();
        pin(0, &cpu, 1);
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 16384);
        for (int i = 1; i < threads; i++)
                if (pthread_create(&thread, &attr, wait_for_ever, NULL) != 0)
                        die("pthread_create");
        setitimer(ITIMER_PROF, &timer, NULL);
        n_cpus = 1;
        cpus[0] = cpu;
        for (int64_t end = now_ns(CLOCK_MONOTONIC) + (int64_t) (seconds * 1e9);
                now_ns(CLOCK_MONOTONIC) < end;)
                for (volatile int j = 0; j < 100000; j++)
                        ;
        exit(0);
}

static int watch(const char *path, int seconds) {
        struct pollfd fd = { .events = POLLPRI };
        char line[200];

        fd.fd = open(path, O_RDONLY);
        if (fd.fd < 0 || read(fd.fd, line, sizeof(line)) < 0)
                die(path);
        printf("watching\n");
        fflush(stdout);
        if (poll(&fd, 1, seconds * 1000) <= 0)
                return 1;
        return 0;
}

/* The memory of the running kernel */
static struct {
        Elf64_Ehdr head;
        Elf64_Phdr segments[64];
        int fd;
} core;

static void core_open(void) {
        core.fd = open("/proc/kcore", O_RDONLY);
        if (core.fd < 0 || pread(core.fd, &core.head, sizeof(core.head), 0) != sizeof(core.head) ||
                pread(core.fd, core.segments, sizeof(core.segments), (off_t) core.head.e_phoff) <= 0)
                die("/proc/kcore");
}

static uint64_t peek(uint64_t address, size_t size) {
        uint64_t value = 0;

        for (int i = 0; i < core.head.e_phnum; i++) {
                Elf64_Phdr *s = core.segments + i;

                if (s->p_type != PT_LOAD || address < s->p_vaddr || address >= s->p_vaddr + s->p_memsz)
                        continue;
                if (pread(core.fd, &value, size, (off_t) (s->p_offset + address - s->p_vaddr)) !=
                        (ssize_t) size)
                        die("/proc/kcore");
                return value;
        }
        fprintf(stderr, "address %#llx is in no segment\n", (unsigned long long) address);
        exit(1);
}

static uint64_t symbol(const char *name) {
        FILE *f = fopen("/symbols", "re");
        unsigned long long address;
        char found[200];

        if (!f)
                die("/symbols");
        while (fscanf(f, "%llx %*s %199s", &address, found) == 2)
                if (strcmp(found, name) == 0) {
                        fclose(f);
                        return address;
                }
        fprintf(stderr, "no symbol %s\n", name);
        exit(1);
}

static uint64_t run_queue(int cpu) {
        return symbol("runqueues") + peek(symbol("__per_cpu_offset") + (uint64_t) cpu * 8, 8);
}

/* A kernel without the patch has neither field: its run queues are never isolated. */
#ifdef RQ_RT_ISOLATED
static int rq_isolated(uint64_t rq) {
        return (int) peek(rq + RQ_RT_ISOLATED, 1);
}

static int rq_balanced(uint64_t rq) {
        return (int) peek(rq + RQ_RT_BALANCED, 1);
}
#else
static int rq_isolated(uint64_t rq) {
        return 0;
}

static int rq_balanced(uint64_t rq) {
        return (int) peek(rq + RQ_ONLINE, 4);
}
#endif

static int expected_pri(int prio, int deadline_task) {
        if (deadline_task)
                return 100; /* CPUPRI_HIGHER */
        return prio == 99 ? 0 : 99 - prio;
}

static int complain(char *text, size_t size, const char *what, int cpu, long is, long should) {
        snprintf(text, size, "%s %d: %ld instead of %ld", what, cpu, is, should);
        return 1;
}

/*
 * What is known of the run queues (overloaded, highest priority, isolated or not) against what the root
 * domains hold.  Changes go on while this looks: the caller tries more than once.
 */
static int truth_once(char *text, size_t size) {
        long n = sysconf(_SC_NPROCESSORS_CONF);
        uint64_t rds[64] = { 0 }, rq[64], rd_of[64];
        int pri[64], overloaded[64], n_rds = 0;

        for (int cpu = 0; cpu < n; cpu++) {
                int balanced, j;

                rq[cpu] = run_queue(cpu);
                rd_of[cpu] = peek(rq[cpu] + RQ_RD, 8);
                balanced = (int) peek(rq[cpu] + RQ_ONLINE, 4) && !rq_isolated(rq[cpu]);
                if (balanced != rq_balanced(rq[cpu]))
                        return complain(text, size, "rt_balanced of CPU", cpu, !balanced, balanced);
                pri[cpu] = !balanced ? -1
                                     : expected_pri((int) peek(rq[cpu] + RQ_RT_CURR, 4),
                                               peek(rq[cpu] + RQ_DL_CURR, 8) != 0);
                overloaded[cpu] = balanced && peek(rq[cpu] + RQ_RT_OVERLOADED, 4);
                for (j = 0; j < n_rds && rds[j] != rd_of[cpu]; j++)
                        ;
                if (j == n_rds)
                        rds[n_rds++] = rd_of[cpu];
        }
        for (int j = 0; j < n_rds; j++) {
                uint64_t pri_of = peek(rds[j] + RD_CPUPRI + CPUPRI_CPU_TO_PRI, 8);
                uint64_t rto_mask = 0, vec_mask[NR_PRIORITIES] = { 0 };

                for (int cpu = 0; cpu < n; cpu++) {
                        int here = rd_of[cpu] == rds[j];
                        int is = (int) peek(pri_of + (uint64_t) cpu * 4, 4), should = here ? pri[cpu] : -1;

                        if (is != should)
                                return complain(text, size, "cpupri of CPU", cpu, is, should);
                        if (should >= 0)
                                vec_mask[should] |= 1ull << cpu;
                        if (here && overloaded[cpu])
                                rto_mask |= 1ull << cpu;
                }
                if (peek(rds[j] + RD_RTO_MASK, 8) != rto_mask)
                        return complain(text, size, "rto_mask of root domain", j,
                                (long) peek(rds[j] + RD_RTO_MASK, 8), (long) rto_mask);
                if ((int) peek(rds[j] + RD_RTO_COUNT, 4) != __builtin_popcountll(rto_mask))
                        return complain(text, size, "rto_count of root domain", j,
                                (long) peek(rds[j] + RD_RTO_COUNT, 4), __builtin_popcountll(rto_mask));
                for (int i = 0; i < NR_PRIORITIES; i++) {
                        uint64_t vec = rds[j] + RD_CPUPRI + CPUPRI_VEC + (uint64_t) i * CPUPRI_VEC_SIZE;

                        if (peek(vec + CPUPRI_VEC_MASK, 8) != vec_mask[i])
                                return complain(text, size, "cpupri mask of priority", i,
                                        (long) peek(vec + CPUPRI_VEC_MASK, 8), (long) vec_mask[i]);
                        if ((int) peek(vec + CPUPRI_VEC_COUNT, 4) != __builtin_popcountll(vec_mask[i]))
                                return complain(text, size, "cpupri count of priority", i,
                                        (long) peek(vec + CPUPRI_VEC_COUNT, 4),
                                        __builtin_popcountll(vec_mask[i]));
                }
        }
        return 0;
}

static int truth(void) {
        char text[200];

        core_open();
        for (int tries = 0; tries < 20; tries++) {
                if (!truth_once(text, sizeof(text)))
                        return 0;
                sleep_ms(50);
        }
        printf("%s\n", text);
        return 1;
}

/* Of many tries, take the one where nothing came between the two reads. */
static int clocks(void) {
        int64_t best[2] = { INT64_MAX, INT64_MAX }, apart = 0, behind = 0;
        uint64_t jiffies = symbol("jiffies_64");

        core_open();
        for (int i = 0; i < 200; i++) {
                int64_t before = now_ns(CLOCK_MONOTONIC), real = now_ns(CLOCK_REALTIME);
                int64_t after = now_ns(CLOCK_MONOTONIC), ticks = (int64_t) peek(jiffies, 8);
                int64_t last = now_ns(CLOCK_MONOTONIC);

                if (after - before < best[0]) {
                        best[0] = after - before;
                        apart = real - before;
                }
                if (last - after < best[1]) {
                        best[1] = last - after;
                        behind = after - ticks * 4000000;
                }
        }
        printf("%lld %lld\n", (long long) apart, (long long) behind);
        return 0;
}

int main(int argc, char **argv) {
        const char *verb = argc > 1 ? argv[1] : "";

        if (argc > 2)
                parse_cpus(argv[2]);
        if (strcmp(verb, "busy") == 0 && argc >= 4)
                return busy(atof(argv[3]), argc > 4 ? atoi(argv[4]) : 0);
        if (strcmp(verb, "stack") == 0 && argc == 4)
                return stack(atoi(argv[3]));
        if (strcmp(verb, "load") == 0 && argc == 4)
                return load(atof(argv[3]));
        if (strcmp(verb, "deadline") == 0 && argc == 4)
                return deadline(atof(argv[3]));
        if (strcmp(verb, "watch") == 0 && argc == 4)
                return watch(argv[2], atoi(argv[3]));
        if (strcmp(verb, "peek") == 0 && argc == 3) {
                core_open();
                printf("%d\n", (int) peek(symbol(argv[2]), 4));
                return 0;
        }
        if (strcmp(verb, "isolated") == 0 && argc == 3) {
                core_open();
                printf("%d\n", rq_isolated(run_queue(atoi(argv[2]))));
                return 0;
        }
        if (strcmp(verb, "itimer") == 0 && argc == 4)
                return itimer(atoi(argv[2]), atof(argv[3]));
        if (strcmp(verb, "as") == 0 && argc >= 4) {
                join();
                fifo(0, atoi(argv[2]));
                execvp(argv[3], argv + 3);
                die(argv[3]);
        }
        if (strcmp(verb, "truth") == 0)
                return truth();
        if (strcmp(verb, "clocks") == 0)
                return clocks();
        fprintf(stderr, "kt: see the source\n");
        return 2;
}
