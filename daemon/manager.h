/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "journal.h"
#include "leases.h"
#include "outcome.h"
#include "switch.h"

/* Where the daemon works: the live machine, or a directory that looks like one in tests. */
typedef struct ManagerPaths {
        const char *root;    /* NULL: the live machine */
        const char *runtime; /* the folder of the journal, the state file and the leases: of this machine */
} ManagerPaths;

/* What others are told; each may be NULL.  They must not call back into the manager but for its getters and
 * manager_mend(). */
typedef struct ManagerHooks {
        void (*begin)(void *userdata, const char *mode); /* a switch begins */
        void (*progress)(void *userdata, const char *step, size_t done, size_t total);
        void (*end)(void *userdata, const Outcome *outcome); /* it is through: what is in force may be new */
        void (*removed)(void *userdata); /* somebody removed something from the runtime folder */
} ManagerHooks;

/* Modes: what is in force, and one request after another that changes it. */
typedef struct Manager Manager;

int manager_new(const ManagerPaths *paths, sd_event *event, const ManagerHooks *hooks, void *userdata,
        Manager **ret);
void manager_free(Manager *manager);
DEFINE_CLEANUP_POINTER(Manager, manager_free)
#define _cleanup_manager_ _cleanup_(manager_freep)

/* Once, before the event loop: finishes an undo that was cut short, or adopts the mode in force, or, at the
 * first start since boot, enters the mode that rtisold.conf names.  A mode that cannot be entered leaves the
 * machine green and is no error of the daemon. */
int manager_start(Manager *manager);

/* How a request came out.  fd is the holder's end of a lease (owned by the callee), else -1. */
typedef void (*RequestDone)(void *userdata, const Outcome *outcome, int fd);

typedef struct ModeOptions {
        const char *by, *why;
        bool force, no_disturb, confirmed;
        bool expired;     /* the way back of a switch that nobody confirmed */
        unsigned confirm; /* seconds, 0: no confirmation wanted */
} ModeOptions;

/* Requests are queued and run one after another from the event loop; done (may be NULL) is called once for
 * each. These return -ENOMEM or what else kept the request out of the queue; done is not called then. */
int manager_set_mode(
        Manager *manager, const char *mode, const ModeOptions *options, RequestDone done, void *userdata);
int manager_lease(Manager *manager, const char *mode, const char *why, const char *by, unsigned pid,
        RequestDone done, void *userdata);
int manager_reload(Manager *manager, RequestDone done, void *userdata);
/* Brings the mode in force up to what is true now; one that waits already is widened. */
int manager_mend(Manager *manager, SwitchScope scope);
/* Puts a process that started where the mode wants it; nothing where the mode has nothing to say of it. */
int manager_place(Manager *manager, int pid);
/* Leaves the event loop once the requests before it are through; goes green first where rtisold.conf says so.
 */
int manager_stop(Manager *manager);

const char *manager_mode(const Manager *manager);
/* The profile in force, or NULL: nothing in force, or the profile's file changed since the daemon last ran. */
const Profile *manager_profile(const Manager *manager);
Kfs *manager_kfs(Manager *manager);
Journal *manager_journal(Manager *manager);
const Leases *manager_leases(const Manager *manager);
