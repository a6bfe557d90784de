/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* How a machine gets its kernel command line. */
typedef enum BootEntryKind {
        BOOT_ENTRY_GRUBBY,  /* Fedora, RHEL: grubby(8) edits the entries */
        BOOT_ENTRY_GRUB,    /* Debian, Ubuntu: a file in /etc/default/grub.d, then update-grub(8) */
        BOOT_ENTRY_KERNEL,  /* systemd-boot: /etc/kernel/cmdline, then kernel-install(8) */
        BOOT_ENTRY_UNKNOWN, /* a machine that boots in another way */
} BootEntryKind;

/* What was installed: kept in /var/lib/rtisold/kernel-args, which lasts over a boot. */
typedef struct BootEntry {
        BootEntryKind kind;
        char *profile;
        char **asked; /* the profile's words */
        char **words; /* those of them that were put there: the others were there before */
        bool made;    /* the file (or for GRUB the folder) was not there before */
} BootEntry;

void boot_entry_done(BootEntry *entry);
#define _cleanup_boot_entry_ _cleanup_(boot_entry_done)

/* All below: root is NULL or "" for this machine, else a folder with another one's files, on which nothing is run but
 * what is told so.  Errors are negative errnos, with the sentence *ret_why (the caller's) where it is set. */

BootEntryKind boot_entry_detect(const char *root);
/* What is installed; -ENOENT where nothing is. */
int boot_entry_read(const char *root, BootEntry *ret);
/* Puts words on the command line of the next boot, in place of those there were.  1 where something was changed, 0
 * where it was there already; -EOPNOTSUPP on a machine that boots in another way. */
int boot_entry_install(const char *root, const char *profile, char *const *words, char **ret_why);
/* Takes off what was installed, to the last trace.  1, or 0 where nothing was. */
int boot_entry_remove(const char *root, char **ret_why);

/* For messages: what was or will be changed. */
const char *boot_entry_file(BootEntryKind kind);
