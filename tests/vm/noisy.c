/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs that disturb, or are disturbed, each in one known way.
 *
 *   noisy WHAT [NUMBER...]        until it is killed; its name becomes `nz-WHAT` */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SEC 1000000000

/* linux/membarrier.h */
#define MEMBARRIER_PRIVATE 8
#define MEMBARRIER_REGISTER_PRIVATE 16

static void pin(int cpu) {
        cpu_set_t set;

        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        if (sched_setaffinity(0, sizeof(set), &set) < 0) {
                perror("noisy: sched_setaffinity");
                exit(1);
        }
}

static int64_t now(void) {
        struct timespec time;

        (void) clock_gettime(CLOCK_MONOTONIC, &time);
        return (int64_t) time.tv_sec * NS_PER_SEC + time.tv_nsec;
}

static void sleep_until(int64_t at) {
        struct timespec time = { .tv_sec = at / NS_PER_SEC, .tv_nsec = at % NS_PER_SEC };

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
                ;
}

/* Nothing but instructions. */
static void loop(void) {
        for (volatile unsigned n = 0;; n++)
                ;
}

static void *loop_on(void *cpu) {
        pin((int) (intptr_t) cpu);
        loop();
        return NULL;
}

static void do_loop(const long *numbers) {
        loop();
}

/* How often and how long in ns the hog ran, for others to look at without its doing. */
static volatile int64_t *hog_counters(void) {
        int fd = open("/run/nz-hog", O_RDWR | O_CREAT | O_TRUNC, 0644);
        int64_t *counters = MAP_FAILED;

        if (fd >= 0 && ftruncate(fd, 4096) == 0)
                counters = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (counters == MAP_FAILED) {
                perror("noisy: /run/nz-hog");
                exit(1);
        }
        return counters;
}

/* ROUNDS SHARE: counts so far, as a real-time thread, and sleeps as long as makes that SHARE percent of the time,
 * however slow the machine. */
static void do_hog(const long *numbers) {
        struct sched_param param = { .sched_priority = 10 };
        volatile int64_t *counters = hog_counters();

        if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
                perror("noisy: sched_setscheduler");
        for (;;) {
                int64_t begin = now(), busy;

                for (volatile long n = 0; n < numbers[0]; n++)
                        ;
                busy = now() - begin;
                counters[1] += busy;
                counters[0]++;
                sleep_until(now() + busy * (100 - numbers[1]) / numbers[1]);
        }
}

static void do_calls(const long *numbers) {
        for (;;)
                for (volatile int n = 0; n < 2000; n++)
                        if (n == 0)
                                (void) syscall(SYS_getppid);
}

static void touch_new_page(void) {
        volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (page == MAP_FAILED)
                abort();
        page[0] = 1;
        (void) munmap((void *) page, 4096);
}

static void do_faults(const long *numbers) {
        for (;;)
                for (volatile int n = 0; n < 5000; n++)
                        if (n == 0)
                                touch_new_page();
}

/* Armed, and never due while somebody looks. */
static void do_itimer(const long *numbers) {
        struct itimerval value = { .it_value = { .tv_sec = 100000 } };

        (void) setitimer(ITIMER_PROF, &value, NULL);
        loop();
}

static void on_timer(int signal) {
}

/* PERIOD in µs. */
static void do_timer(const long *numbers) {
        struct itimerspec value = { .it_value.tv_nsec = numbers[0] * 1000,
                .it_interval.tv_nsec = numbers[0] * 1000 };
        timer_t timer;

        (void) signal(SIGALRM, on_timer);
        if (timer_create(CLOCK_MONOTONIC, NULL, &timer) < 0 || timer_settime(timer, 0, &value, NULL) < 0)
                perror("noisy: timer");
        loop();
}

/* CPU OTHER: its thread on OTHER makes the one on CPU forget a page's address, a hundred times a second. */
static void do_unmap(const long *numbers) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, loop_on, (void *) (intptr_t) numbers[0]) != 0)
                abort();
        pin((int) numbers[1]);
        for (;;) {
                touch_new_page();
                sleep_until(now() + NS_PER_SEC / 100);
        }
}

/* The same with a memory barrier. */
static void do_barrier(const long *numbers) {
        pthread_t thread;

        if (syscall(SYS_membarrier, MEMBARRIER_REGISTER_PRIVATE, 0, 0) < 0)
                perror("noisy: membarrier");
        if (pthread_create(&thread, NULL, loop_on, (void *) (intptr_t) numbers[0]) != 0)
                abort();
        pin((int) numbers[1]);
        for (;;) {
                (void) syscall(SYS_membarrier, MEMBARRIER_PRIVATE, 0, 0);
                sleep_until(now() + NS_PER_SEC / 100);
        }
}

/* CPU OTHER: a task on CPU that is woken from OTHER, a hundred times a second. */
static void do_woken(const long *numbers) {
        int pipes[2];
        char byte = 0;

        if (pipe(pipes) < 0)
                abort();
        if (fork() == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void) prctl(PR_SET_NAME, "nz-waker");
                pin((int) numbers[1]);
                for (;;) {
                        sleep_until(now() + NS_PER_SEC / 100);
                        if (write(pipes[1], &byte, 1) < 0)
                                exit(1);
                }
        }
        pin((int) numbers[0]);
        while (read(pipes[0], &byte, 1) == 1)
                ;
}

static const struct {
        const char *name;
        void (*run)(const long *numbers);
        int n_numbers;
} things[] = {
        { "loop", do_loop, 0 },
        { "hog", do_hog, 2 },
        { "calls", do_calls, 0 },
        { "faults", do_faults, 0 },
        { "itimer", do_itimer, 0 },
        { "timer", do_timer, 1 },
        { "unmap", do_unmap, 2 },
        { "barrier", do_barrier, 2 },
        { "woken", do_woken, 2 },
};

int main(int argc, char **argv) {
        long numbers[2] = { 0 };

        for (size_t i = 0; argc > 1 && i < sizeof(things) / sizeof(*things); i++) {
                char name[16];

                if (strcmp(argv[1], things[i].name) != 0 || argc != things[i].n_numbers + 2)
                        continue;
                for (int n = 0; n < things[i].n_numbers; n++)
                        numbers[n] = strtol(argv[n + 2], NULL, 10);
                (void) snprintf(name, sizeof(name), "nz-%s", argv[1]);
                (void) prctl(PR_SET_NAME, name);
                things[i].run(numbers);
        }
        fprintf(stderr, "usage: noisy WHAT [NUMBER...]\n");
        return 2;
}
