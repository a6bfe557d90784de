/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "profile.h"

/* What the daemon does to the mode when it is stopped. */
typedef enum ConfOnStop { ON_STOP_LEAVE, ON_STOP_GREEN } ConfOnStop;

/* /etc/rtisold/rtisold.conf: an INI file as profiles are, section [daemon]. */
typedef struct Conf {
        char *mode; /* `mode =`: the profile to switch to at boot, or NULL: none, the machine stays as it is
                     */
        ConfOnStop on_stop; /* `on_stop = leave | green` */
} Conf;

#define CONF_FILE "/etc/rtisold/rtisold.conf"

/* Reads CONF_FILE below the context's root; where there is none, *ret holds the defaults.  -EINVAL with
 * every error in *ret_errors; *ret is untouched then.  That the profile exists is not checked here. */
int conf_load(Kfs *kfs, Conf *ret, ProfileErrors *ret_errors);
void conf_done(Conf *conf);
#define _cleanup_conf_ _cleanup_(conf_done)
