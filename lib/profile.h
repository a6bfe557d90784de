/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cpulist.h"
#include "kfs.h"

#pragma GCC visibility push(default)

/* Where a value was written: for messages and for `profile show`. */
typedef struct ProfileSource {
        char *file;
        unsigned line;
} ProfileSource;

/* One error of a profile.  line is 0 where the file as a whole is meant. */
typedef struct ProfileError {
        char *file;
        unsigned line;
        char *key;     /* `cpuset rt: cpus`, or NULL */
        char *message; /* a sentence: what is wrong, what is allowed, the nearest known word */
} ProfileError;

typedef struct ProfileErrors {
        ProfileError *items;
        size_t n;
} ProfileErrors;

void profile_errors_done(ProfileErrors *errors);
#define _cleanup_profile_errors_ _cleanup_(profile_errors_done)
/* `FILE:LINE: [SECTION] KEY: message`, as a user sees it. */
int profile_error_sentence(const ProfileError *error, char **ret);

typedef enum ProfilePartition { PARTITION_ISOLATED, PARTITION_ROOT, PARTITION_NONE } ProfilePartition;
typedef enum ProfileNohz { NOHZ_OFF, NOHZ_IDLE, NOHZ_FULL } ProfileNohz;
typedef enum ProfileSmt { SMT_WARN, SMT_INCLUDE, SMT_REFUSE } ProfileSmt;
typedef enum ProfilePinned { PINNED_REFUSE, PINNED_ADOPT, PINNED_IGNORE } ProfilePinned;
/* -1 in the int fields below: not set, leave as found. */
#define PROFILE_UNSET (-1)

/* The mechanisms that `require =` may name, as bits. */
typedef enum ProfileRequire {
        REQUIRE_PARTITION = 1 << 0,
        REQUIRE_IRQS = 1 << 1,
        REQUIRE_KTHREADS = 1 << 2,
        REQUIRE_WORKQUEUES = 1 << 3,
        REQUIRE_SKEW_TICK = 1 << 4,
        REQUIRE_NOHZ = 1 << 5,
        REQUIRE_RT_PUSH_PULL = 1 << 6,
        REQUIRE_RT_THROTTLING = 1 << 7,
        REQUIRE_IDLE = 1 << 8,
        REQUIRE_CPUFREQ = 1 << 9,
        REQUIRE_NET = 1 << 10,
} ProfileRequire;

/* The word of one bit (`rt_push_pull`), or NULL. */
const char *profile_require_to_string(ProfileRequire bit);

/* [cpuset NAME] */
typedef struct ProfileSet {
        char *name;
        char *cpus;         /* CPU expression, its grammar already checked */
        char *control_cpus; /* CPU expression or NULL */
        ProfilePartition partition;
        char *mems;                      /* a list, `local`, or NULL: as found */
        int nohz;                        /* ProfileNohz or PROFILE_UNSET */
        int rt_push_pull, rt_throttling; /* 0 off, 1 on, PROFILE_UNSET */
        char *max_cstate;                /* `POLL`, `C1`, a name, `any`, or NULL */
        char *governor;                  /* or NULL */
        ProfileSmt smt;
} ProfileSet;

/* `KEY = VALUE` of [sched_features], [sysctl] and [sysfs]; optional is the dash before the key. */
typedef struct ProfileSetting {
        char *key; /* a feature, a sysctl's name with dots (`net.ipv4.conf.eth0/100.forwarding`: slashes and
                      dots change places in the path, as in sysctl.d), a path below /sys */
        char *value; /* "on"/"off" for features */
        bool optional;
        ProfileSource source;
} ProfileSetting;

/* [irq NAME] */
typedef struct ProfileIrq {
        char *name;
        char *match; /* shell patterns on the action's name, see profile_matches() */
        char *cpus;  /* CPU expression */
} ProfileIrq;

/* [kthread NAME] */
typedef struct ProfileKthread {
        char *name;
        char *match;  /* shell patterns on comm */
        char *policy; /* other | batch | idle | fifo | rr */
        int priority; /* 0 for other, batch, idle; 1 to 99 */
} ProfileKthread;

/* [task NAME] */
typedef struct ProfileTask {
        char *name;
        char *match; /* comm patterns, or NULL */
        char *unit;  /* systemd unit, or NULL; at least one of the two */
        char *set;
        char *thread; /* patterns on a thread's comm, or NULL: all threads */
        char *cpus;   /* CPU expression or NULL */
} ProfileTask;

/* [net NAME] */
#define NET_AUTO (-2)
typedef struct ProfileNet {
        char *name;
        char *match;          /* shell patterns on the device's name */
        char *cpus;           /* `housekeeping` or a CPU expression, or NULL: interrupts of receive queues */
        int combined, rx, tx; /* channel counts, NET_AUTO: one for each of cpus, or PROFILE_UNSET */
        char *rps, *xps;      /* `housekeeping`, `keep_off_sets`, `none`, a CPU expression, or NULL */
} ProfileNet;

typedef struct Profile {
        char *name, *description;
        char *file;       /* where its main file was found */
        unsigned require; /* ProfileRequire bits */
        ProfilePinned pinned;
        bool accept_starvation;
        ProfileSet *sets;
        size_t n_sets;
        int skew_tick; /* 0, 1, PROFILE_UNSET */
        ProfileSetting *features, *sysctls, *sysfs;
        size_t n_features, n_sysctls, n_sysfs;
        /* [keep_off_sets]; all but timers default to yes */
        bool keep_kthreads, keep_workqueues, keep_irqs, keep_timers, keep_watchdog, keep_rcu;
        char **except; /* kernel threads' patterns */
        bool check_kvm_options;
        ProfileIrq *irqs;
        size_t n_irqs;
        ProfileKthread *kthreads;
        size_t n_kthreads;
        ProfileNet *nets;
        size_t n_nets;
        ProfileTask *tasks;
        size_t n_tasks;
        char *sha256;              /* of the merged text, 64 hexadecimal digits */
        struct ProfileLine *lines; /* merged `section key value source`, in order, for profile_show() */
        size_t n_lines;
} Profile;

typedef struct ProfileLine {
        char *section, *key, *value;
        ProfileSource source;
} ProfileLine;

void profile_free(Profile *profile);
DEFINE_CLEANUP_POINTER(Profile, profile_free)
#define _cleanup_profile_ _cleanup_(profile_freep)

/* May a profile have that name?  0, or -EINVAL with a sentence that quotes it. */
int profile_check_name(const char *name, char **ret_why);

/* Loads NAME with its includes and drop-ins from the /etc, /run and /usr/lib/rtisold/profiles of the
 * context's root (the vendor directory is the one built in, and below the root).  All errors of all files
 * are collected: -EINVAL with *ret_errors filled; -ENOENT where no such profile exists, -ESHUTDOWN where it
 * is masked.  `green` always exists: where no file says what it is, it is the profile that asks for nothing.
 */
int profile_load(Kfs *kfs, const char *name, Profile **ret, ProfileErrors *ret_errors);

/* Checks one file alone, without drop-ins, with what it includes (looked for beside it first); path is a path of
 * this machine, not below a root.  0, or -EINVAL with the errors, also where the file is not there. */
int profile_check_file(const char *path, ProfileErrors *ret_errors);

/* Does a name match one of the shell patterns of a text, which white space separates (`ksoftirqd/x
 * ktimers/x`)?  A star matches slashes too. */
bool profile_matches(const char *patterns, const char *name);

/* The merged profile as text that is itself a profile; with sources, each line ends in the comment `;
 * FILE:LINE`. */
int profile_format(const Profile *profile, bool sources, char **ret);

/* What the CPU expressions of a profile come to on one machine; index as in profile->sets. */
typedef struct ProfileSetCpus {
        CpuList cpus;       /* online now */
        CpuList configured; /* with those of the set that are away just now: what cpuset files are given */
        CpuList control_cpus;
} ProfileSetCpus;

/* Names of the profiles that exist (masked ones are left out), sorted. */
int profile_list(Kfs *kfs, char ***ret_names);
/* Files among the profiles whose names no profile may have: paths, in no order. */
int profile_list_misnamed(Kfs *kfs, char ***ret_files);

/* What green is where its files are wrong: the vendor's file alone, or nothing where that is wrong too.  Else a mode
 * could not be left for a slip of the pen. */
int profile_load_plain_green(Kfs *kfs, Profile **ret);

const ProfileSet *profile_set(const Profile *profile, const char *name);

#pragma GCC visibility pop
