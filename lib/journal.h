/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan.h"

/* The record of what is in force and of a switch under way, in one directory (normally
 * /run/rtisold/journal).  Written with fsync-free atomic renames or appends: the file system is a tmpfs, and
 * what must survive is a killed daemon, not a power cut.  Carries a format version and the boot ID; of
 * another boot, it is as if there were none. */
typedef struct Journal Journal;

/* directory: a path of this machine; made where its parent is there.  0, or 1 where what was found is of an
 * unknown version or damaged beyond its last record: then it is kept beside under a name that
 * journal_problem() tells, and the journal is as of a machine in green. */
int journal_open(const char *directory, const char *boot_id, Journal **ret);
void journal_free(Journal *journal);
DEFINE_CLEANUP_POINTER(Journal, journal_free)
#define _cleanup_journal_ _cleanup_(journal_freep)

/* NULL or a sentence: what was wrong with what was found on opening (another boot, a torn last record, …).
 */
const char *journal_problem(const Journal *journal);

/* The file, for messages. */
const char *journal_file(const Journal *journal);
/* Is there a file of this boot?  Without one nothing was begun since boot, or what was is not known. */
bool journal_is_on_disk(const Journal *journal);

/* Puts the directory and the file back, from what this process knows, where somebody removed them while it ran; 1
 * then.  Each write below does so first; journal_take_restored() says once whether one had to. */
int journal_keep(Journal *journal);
bool journal_take_restored(Journal *journal);

/* What is in force, known from elsewhere where the file was lost.  -EBUSY while a switch is under way. */
int journal_adopt(Journal *journal, const char *mode, const char *by, const char *profile_sha256,
        uint64_t since, const Steps *steps);

/* The mode in force (`green` where nothing is) with its steps, since when (µs since the epoch) and by whom.
 */
const char *journal_mode(const Journal *journal);
const Steps *journal_steps(const Journal *journal);
const char *journal_profile_sha256(const Journal *journal);
uint64_t journal_since(const Journal *journal);
const char *journal_by(const Journal *journal);

/* The switch that was begun and neither committed nor undone, or NULL. */
const Switch *journal_unfinished(const Journal *journal);

/* Writes the switch's old values; nothing may be written to the kernel before this returns 0. */
int journal_begin(Journal *journal, const Switch *sw);
/* The switch is through: its records are what is in force. */
int journal_commit(Journal *journal, const Switch *sw, const char *profile_sha256, const char *by);
/* The switch was undone; objects whose undo failed keep their records: `left` (may be NULL) says which. */
int journal_abort(Journal *journal, const Steps *left);

/* Test hook: called before and after each operation on the journal's files; below 0 fails the operation. */
typedef int (*JournalHook)(void *userdata, const char *moment);
void journal_hook(Journal *journal, JournalHook hook, void *userdata);

/* JSON of a step list with its sets (an object), for the journal, the state file and D-Bus-free status. */
struct json_t;
struct json_t *journal_steps_to_json(const Steps *steps);
int journal_steps_from_json(const struct json_t *object, Steps *ret);
