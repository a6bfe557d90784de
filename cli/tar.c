/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tar.h"

#include <inttypes.h>
#include <time.h>

#define BLOCK 512

typedef struct Header {
        char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6],
                version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
} Header;
_Static_assert(sizeof(Header) == BLOCK, "a header is a block");

static int put(FILE *archive, const void *data, size_t size) {
        static const char zeros[BLOCK];
        size_t pad = (BLOCK - size % BLOCK) % BLOCK;

        if (fwrite(data, 1, size, archive) != size || fwrite(zeros, 1, pad, archive) != pad)
                return -EIO;
        return 0;
}

/* The sum of all bytes, the field itself taken for blanks. */
static unsigned checksum(const Header *header) {
        const unsigned char *bytes = (const unsigned char *) header;
        unsigned sum = 0;

        for (size_t i = 0; i < BLOCK; i++)
                sum += bytes[i];
        return sum;
}

static int put_header(FILE *archive, const char *name, char type, size_t size, time_t time) {
        Header header = { .type = type, .magic = "ustar", .version = { '0', '0' } };

        (void) snprintf(header.name, sizeof(header.name), "%s", name);
        (void) snprintf(header.mode, sizeof(header.mode), "%07o", type == '5' ? 0755 : 0644);
        (void) snprintf(header.uid, sizeof(header.uid), "%07o", 0);
        (void) snprintf(header.gid, sizeof(header.gid), "%07o", 0);
        (void) snprintf(header.size, sizeof(header.size), "%011zo", size);
        (void) snprintf(header.mtime, sizeof(header.mtime), "%011" PRIo64, (uint64_t) time);
        memset(header.checksum, ' ', sizeof(header.checksum));
        (void) snprintf(header.checksum, sizeof(header.checksum), "%06o", checksum(&header));
        return put(archive, &header, sizeof(header));
}

static int put_entry(FILE *archive, const char *name, char type, size_t size, time_t time) {
        size_t n = strlen(name) + 1;
        int r = 0;

        if (n > sizeof(((Header *) NULL)->name)) {
                r = put_header(archive, "././@LongLink", 'L', n, 0);
                r = r ?: put(archive, name, n);
        }
        return r ?: put_header(archive, name, type, size, time);
}

int tar_file(FILE *archive, const char *name, const char *data, size_t size, time_t time) {
        int r = put_entry(archive, name, '0', size, time);

        return r ?: put(archive, data, size);
}

int tar_folder(FILE *archive, const char *name, time_t time) {
        return put_entry(archive, name, '5', 0, time);
}

int tar_end(FILE *archive) {
        static const char zeros[2 * BLOCK];
        int r = put(archive, zeros, sizeof(zeros));

        return r < 0 || fflush(archive) == 0 ? r : -errno;
}
