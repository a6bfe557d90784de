/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "apply.h"
#include "kfs.h"
#include "snapshot.h"

/* The boot that the journals are of. */
#define FAULT_BOOT_ID "1a2b"

/* One switch on one tree of files, done over and over with another fault each time. */
typedef struct Fault {
        char *base; /* a folder of this test's own: root/ is the machine, journal/ the journal */
        char *root, *journal;
        /* The machine and the journal before the switch; the machine after one without a fault. */
        Snapshot *before, *journal_before, *after;
        Switch *sw;
        /* What the kernel does by itself behind a write; may be NULL.  May only touch files of the root. */
        void (*kernel)(const char *root, const char *object, const char *value);
        size_t runs;
        unsigned every, place; /* 2: only every other place has its fault; for a part of a long run */
        const char *name;      /* for messages */
} Fault;

/* A folder in memory, empty. */
Fault *fault_new(const char *name);
void fault_free(Fault *fault);
DEFINE_CLEANUP_POINTER(Fault, fault_free)
#define _cleanup_fault_ _cleanup_(fault_freep)

/* A context on the machine, and the journal; the caller frees them. */
Kfs *fault_kfs(const Fault *fault);
Journal *fault_open_journal(const Fault *fault);

/* Takes another switch, and carries it out on the machine as it is. */
void fault_once(const Fault *fault, Switch *sw, ApplyOutcome *ret_outcome, size_t *ret_problems);

/* Takes the switch, and what the machine and the journal are now as before; runs it once without a fault.
 * Ends the test where that fails. */
void fault_prepare(Fault *fault, Switch *sw);

/* Each of these runs the switch once for every place where its fault can be, looks at what is left, and ends
 * the test with a sentence where it is not what was promised. */

/* Every op refused with an errno; the op's own flags say whether that is to undo the switch. */
void fault_refuse(Fault *fault, int error);
/* Every op taken by the kernel, and its object reading otherwise. */
void fault_twist(Fault *fault);
/* Every op's file taking the first half of what is written, and saying so. */
void fault_short(Fault *fault);
/* Every op's file gone between the look at it and the write. */
void fault_vanish(Fault *fault);
/* Every op's object changed by the kernel when the last op is done: what only the look at the whole sees. */
void fault_revert(Fault *fault);
/* Every write done and reported as failed. */
void fault_fail_after(Fault *fault, int error);
/* Every read failing from the first write on, one at a time. */
void fault_reads(Fault *fault, int error);
/* Killed before and after every write and every operation on the journal; with every `again` above 0, killed
 * once more in the recovery, at every again-th place. */
void fault_kill(Fault *fault, size_t again);
/* Every operation on the journal failing. */
void fault_journal(Fault *fault, int error);
/* A switch, done on the machine as it is, writes nothing: not to the kernel and not to the journal. */
void fault_nothing(Fault *fault, const Switch *sw);
/* Leaves the machine and the journal as after a switch without a fault. */
void fault_finish(Fault *fault);
/* A required op failing, and then the undo of every op before it. */
void fault_undo(Fault *fault, int error);
/* One of these.  True where something was left that could not be undone: the machine and the journal stay so. */
bool fault_undo_fails(Fault *fault, const Op *failing, const Op *undo, int error);

/* The switch with room for files of so many bytes only; what apply_switch() returns. */
int fault_with_room(Fault *fault, size_t room, ApplyOutcome *ret_outcome);
/* The same switch with each read(2) giving some bytes only: nothing is otherwise. */
void fault_trickle(Fault *fault);

/* fault-journal.c: the journal's last record torn anywhere; no room for it; one that this boot's daemon did not write. */
void fault_torn(Fault *fault);
void fault_full(Fault *fault);
void fault_foreign(Fault *fault);
