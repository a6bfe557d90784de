/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the daemon and its clients agree on.  The same interface is offered on the system bus, where there is
 * one, and on the private socket, where only root gets in and no bus is needed. */
#define RTISOL_BUS_NAME "org.rtisold"
#define RTISOL_OBJECT "/org/rtisold"
#define RTISOL_INTERFACE "org.rtisold.Manager1"
#define RTISOL_POLKIT_ACTION "org.rtisold.set-mode"

#define RTISOL_RUNTIME_DIR "/run/rtisold"
#define RTISOL_PRIVATE_SOCKET RTISOL_RUNTIME_DIR "/private"
#define RTISOL_JOURNAL_DIR RTISOL_RUNTIME_DIR "/journal"
#define RTISOL_STATE_FILE RTISOL_RUNTIME_DIR "/state.json"
#define RTISOL_CONFIG_FILE "/etc/rtisold/rtisold.conf"

/* Methods:
 *
 *   SetMode(s mode, a{sv} options) → a(sss) degraded: step id, state, reason of parts that do not hold
 *   Lease(s mode, s why) → h: closing the last copy of the descriptor releases it; an empty mode is the one in force
 *   ListLeases() → a(sssut): id, mode, why, PID of the holder, since (µs, epoch)
 *   Reload(): reads the profiles anew and mends the mode in force
 *
 * Properties: Mode s, Profiles as, Degraded a(sss), Drift a(ssss) (step id, wanted, live, writer), Version s.
 *
 * Signals: Progress(s step id, u percent), to everybody; Notice(s sentence), to the caller of a method that succeeds,
 * before its answer: warnings, and what was left as it is.
 *
 * A call is answered when the switch is through, which may take minutes on a big machine: set a time-out for it. */

/* Options of SetMode. */
#define RTISOL_OPTION_NO_DISTURB "no-disturb" /* b: leave out steps that disturb other CPUs */
#define RTISOL_OPTION_FORCE "force"     /* b: green although a real-time task runs in a set; ends leases */
#define RTISOL_OPTION_CONFIRM "confirm" /* u: seconds after which the switch is taken back by itself */
#define RTISOL_OPTION_CONFIRMED                                                                             \
        "confirmed"             /* b: keep the mode; the mode named must be the one waiting, or "" */
#define RTISOL_OPTION_WHY "why" /* s: a reason, for the log */
/* --strict is the client's: it looks at the degraded parts that SetMode returns. */

/* Errors.  The message is all sentences there are, one a line.  Behind each: the exit code of rtisoctl. */
#define RTISOL_ERROR_BAD_PROFILE "org.rtisold.Error.BadProfile"        /* 2: every error of every file */
#define RTISOL_ERROR_NO_SUCH_PROFILE "org.rtisold.Error.NoSuchProfile" /* 2: unknown or masked */
#define RTISOL_ERROR_BAD_OPTION "org.rtisold.Error.BadOption"          /* 2: an unknown option of SetMode */
#define RTISOL_ERROR_REFUSED "org.rtisold.Error.Refused"               /* 1: before the first write */
#define RTISOL_ERROR_NOT_BEGUN "org.rtisold.Error.NotBegun"            /* 1: failed before the first write */
#define RTISOL_ERROR_FAILED "org.rtisold.Error.Failed"                 /* 6: failed and undone */
#define RTISOL_ERROR_FAILED_INCOMPLETE "org.rtisold.Error.FailedIncomplete" /* 9: the undo is incomplete */
#define RTISOL_ERROR_NOT_PERMITTED "org.rtisold.Error.NotPermitted"         /* 7 */
