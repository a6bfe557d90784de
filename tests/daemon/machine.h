/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "test.h"
#include "tree.h"

/* A daemon of its own process on a tree of files, and a client on its private socket.
 *
 * What the tests tell the daemon from outside goes through files in its runtime folder: `fail` holds the object
 * whose writes fail with EIO, `fail-twice` one that takes nothing but 10, `hup` the object at whose write
 * the daemon gets a SIGHUP, `die` the one at whose write it is killed.  Every write is a line of `writes`. */
typedef struct Machine {
        Tree *tree;
        char *runtime;
        uid_t uid;   /* who may use the daemon's socket */
        bool on_bus; /* the daemon is on the bus of DBUS_SYSTEM_BUS_ADDRESS, too */
        pid_t pid;   /* of the daemon, 0 where none runs */
        sd_bus *bus;
        char *notices;  /* all of them so far, a line each; NULL: none */
        char *degraded; /* of the last SetMode that succeeded: `STEP STATE REASON`, a line each */
} Machine;

/* A tree with 4 CPUs, an interrupt, a sysctl, and the profiles `quick` and `slow` (vm.stat_interval 10 and 20), and
 * `set` (CPUs 2-3), and `wide`, which is as strict as `set` (CPUs 1-3). */
Machine *machine_new(void);
void machine_free(Machine *machine);
DEFINE_CLEANUP_POINTER(Machine, machine_free)
#define _cleanup_machine_ _cleanup_(machine_freep)

void machine_start(Machine *machine);
/* A new connection to its private socket; machine_start() makes the first. */
void machine_connect(Machine *machine);
/* Sends a signal and waits for the end; returns what waitpid() says. */
int machine_end(Machine *machine, int signal);

/* A file of the runtime folder. */
void machine_tell(Machine *machine, const char *name, const char *text);
bool machine_has(Machine *machine, const char *name);
/* What a file of the tree reads, and how often an object was written. */
char *machine_read(Machine *machine, const char *path);
unsigned machine_writes(Machine *machine, const char *object);
/* How many bytes the daemon had allocated when it last wrote. */
size_t machine_memory(Machine *machine);
/* Waits, for 10 s at most, until a file of the tree reads so, or fails the test. */
void machine_await(Machine *machine, const char *path, const char *text);

/* SetMode; options are name, type, value triples, NULL at the end.  Returns the error's name, or NULL; the message
 * goes to *ret_message where that is not NULL.  Both are the caller's. */
char *machine_set_mode(Machine *machine, char **ret_message, const char *mode, ...)
        __attribute__((sentinel));
/* Lease; returns the descriptor, or -1 with the error's name in *ret_error. */
int machine_lease(Machine *machine, const char *mode, const char *why, char **ret_error);
/* ListLeases as text: `1:quick:why `. */
char *machine_leases(Machine *machine);
/* The property Mode. */
char *machine_mode(Machine *machine);

/* How many descriptors the daemon has. */
unsigned machine_descriptors(Machine *machine);

/* The sysctl that the profiles of machine_new() set. */
#define MACHINE_INTERVAL "/proc/sys/vm/stat_interval"
/* The partition of the set of `set`. */
#define MACHINE_PARTITION "/sys/fs/cgroup/rtisol.slice/rtisol-rt.slice/cpuset.cpus.partition"
/* Fail the test unless the mode and the sysctl read so, or the switch succeeds. */
void assert_machine(Machine *machine, const char *mode, const char *interval);
void assert_set_mode(Machine *machine, const char *mode);
