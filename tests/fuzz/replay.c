/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <fcntl.h>

#include "fuzz.h"
#include "kfs-root.h"

/* Gives every file of a folder to a target, once: what was found stays found, with any compiler.  A line of TAP
 * for each. */
int main(int argc, char **argv) {
        struct dirent **entries;
        int n = argc == 2 ? scandir(argv[1], &entries, NULL, alphasort) : -1, count = 0;

        if (n < 0)
                return 2;
        for (int i = 0; i < n; i++) {
                _cleanup_close_ int folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
                _cleanup_free_ char *text = NULL;
                size_t size;

                if (entries[i]->d_name[0] != '.') {
                        fd = openat(folder, entries[i]->d_name, O_RDONLY | O_CLOEXEC);
                        if (fd < 0 || fd_read_all(fd, &text, &size) < 0)
                                return 2;
                        (void) LLVMFuzzerTestOneInput((const uint8_t *) text, size);
                        (void) printf("ok %d - %s\n", ++count, entries[i]->d_name);
                        (void) fflush(stdout);
                }
                free(entries[i]);
        }
        free(entries);
        (void) printf("1..%d\n", count);
        return count > 0 ? 0 : 2;
}
