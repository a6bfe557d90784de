/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cpulist.h"
#include "kfs.h"

/* A folder of files that stands for a machine, below $TMPDIR. */
typedef struct Tree {
        char *root;
        Kfs *kfs; /* on that root */
} Tree;

/* These end the test where something fails. */
Tree *tree_new(void);
/* Removes the files too. */
void tree_free(Tree *tree);
DEFINE_CLEANUP_POINTER(Tree, tree_free)
#define _cleanup_tree_ _cleanup_(tree_freep)

/* Writes one file, with the folders above it. */
void tree_put(Tree *tree, const char *path, const char *text);
void tree_putf(Tree *tree, const char *text, const char *path_format, ...) _printf_(3, 4);
void tree_remove(Tree *tree, const char *path);

/* Files from lines of `PATH=TEXT`. */
void tree_fill(Tree *tree, const char *lines);

/* A machine with CPUs 0 to n-1, all online, of as many NUMA nodes; cores of `threads` CPUs each: neighbours,
 * or half a node apart where `apart`. */
void tree_put_cpus(Tree *tree, unsigned nodes, unsigned cpus_per_node, unsigned threads, bool apart);
