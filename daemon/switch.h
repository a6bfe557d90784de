/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "outcome.h"
#include "profile.h"

/* Which of a plan's differences are written. */
typedef enum SwitchScope {
        SCOPE_ALL,  /* somebody asked for the mode: mend whatever has drifted */
        SCOPE_CPUS, /* a CPU came or went: everything may have changed with it */
        SCOPE_NEW, /* something new appeared (an interrupt, a kernel thread): what others did to known objects
                       is reported as drift, not fought */
} SwitchScope;

typedef struct SwitchRequest {
        const char *mode;
        const Profile *profile; /* NULL: loaded anew */
        const char *by;
        SwitchScope scope;
        bool force, no_disturb;
        bool unasked; /* nobody asks for the mode just now: what was left out on request is not made up for */
} SwitchRequest;

/* A whole switch (design section 4): load, read, plan, journal, apply, verify, commit.  Whether it worked is
 * in *ret; the return value is only ever -ENOMEM.  *ret_profile (may be NULL) is the profile that is in force
 * now, and NULL where the switch did not get there or the request brought its own. */
int switch_run(Kfs *kfs, Journal *journal, const SwitchRequest *request, ApplyProgress progress,
        void *userdata, Outcome *ret, Profile **ret_profile);

/* Takes out of a switch the ops that a narrower scope does not cover, and keeps the records of the ways back among
 * them; pure. */
int switch_narrow(Switch *sw, const Steps *in_force, SwitchScope scope);
