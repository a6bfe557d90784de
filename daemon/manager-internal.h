/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "conf.h"
#include "confirm.h"
#include "manager.h"

/* Shared by manager.c (what is in force), manager-journal.c (its record), manager-queue.c (one request after another),
 * manager-requests.c (what each one does) and manager-leases.c (what leases have to do with it). */

/* Who switches when nobody does. */
#define BY_BOOT "boot"
#define BY_STOP "stop"
#define BY_CONFIRM "confirm"
#define BY_LEASE "lease"

typedef enum RequestKind {
        REQUEST_MODE,
        REQUEST_LEASE,
        REQUEST_RELEASE,
        REQUEST_RELOAD,
        REQUEST_MEND,
        REQUEST_PLACE,
        REQUEST_STOP,
} RequestKind;

typedef struct Request {
        struct Request *next;
        RequestKind kind;
        char *mode, *by, *why;
        bool force, no_disturb, confirmed, expired;
        unsigned confirm, pid;
        SwitchScope scope;
        RequestDone done;
        void *userdata;
} Request;

struct Manager {
        sd_event *event;
        sd_event_source *defer;
        Kfs *kfs;
        Journal *journal;
        Conf conf;
        Leases *leases;
        sd_event_source *release_timer; /* a way back from leases that has to wait */
        unsigned release_tries;
        Confirm *confirm;
        Profile *profile;
        char *boot_id, *runtime, *state_file;
        sd_event_source *watches[2]; /* of the folders of the journal and of the state file */
        bool lost;                   /* what was found before the mode is not known: its journal is gone */
        Request *first, *last;
        ManagerHooks hooks;
        void *userdata;
};

/* By the event loop: the queue. */
int on_queue(sd_event_source *source, void *userdata);
/* Everybody who still waits is told that the daemon stops. */
void manager_turn_away(Manager *manager);
/* Queues a look at what the leases that are left need: also after a daemon that was killed on the way back. */
int manager_release_left(Manager *manager);
/* A lease is over, the time to confirm is up. */
void on_released(void *userdata, const Lease *lease);
void on_expired(void *userdata, const char *mode);

/* Says no before the first write. */
int manager_refuse(Outcome *ret, const char *format, ...) _printf_(2, 3);

/* Leases (manager-leases.c): may a mode be switched to under them, what becomes of them behind such a switch, and the
 * requests for one and for the way back. */
int manager_check_leases(Manager *manager, const Request *request, Outcome *ret);
int manager_settle_leases(Manager *manager, const char *mode);
int manager_do_lease(Manager *manager, const Request *request, Outcome *ret, int *ret_fd);
int manager_do_release(Manager *manager, Outcome *ret);

/* Does what a request asks for; *ret_fd is a lease's descriptor, and stays otherwise. */
int manager_run(Manager *manager, const Request *request, Outcome *ret, int *ret_fd);

/* One switch, with all that goes with it: the watchdog, the log, the state file, and those who are told. */
int manager_switch(Manager *manager, const SwitchRequest *request, const char *why, Outcome *ret);
/* The journal, from what the state file says where it is gone. */
int manager_open_journal(Manager *manager, const char *runtime);
/* At the start, once nothing is under way: what was left behind by a mode that no record tells of. */
int manager_find_lost(Manager *manager);
int manager_refuse_lost(Manager *manager, const char *mode, Outcome *ret);
/* Tells of a journal that was removed and had to be written anew. */
int manager_say_restored(Manager *manager, Outcome *outcome);

/* For `rtisoctl status`: what is in force. */
void manager_write_state(Manager *manager);
/* Green, and nothing recorded. */
bool manager_is_idle(const Manager *manager);
void manager_read_conf(Manager *manager);
