/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "card.h"

#include "../unit/test.h"

#define QUEUES "/sys/class/net/eth0/queues"
#define CHANNELS_MAX 4

/* Nothing but the card is touched: every place where something can fail is about it. */
#define REST                                                                                                \
        "[cpuset rt]\ncpus = 2-3\npartition = none\n[keep_off_sets]\nkthreads = no\nworkqueues = no\n"      \
        "irqs = no\nwatchdog = no\nrcu = no\n"

static const char *const files[][2] = {
        { "/sys/class/net/eth0/ifindex", "2\n" },
        { QUEUES "/rx-0/rps_cpus", "0\n" },
        { QUEUES "/rx-1/rps_cpus", "c\n" },
        { QUEUES "/rx-2/rps_cpus", "8\n" },
        { QUEUES "/tx-0/xps_cpus", "f\n" },
        { QUEUES "/tx-1/xps_cpus", "c\n" },
        { QUEUES "/tx-2/xps_cpus", "2\n" },
        { "/run/ethtool/2/channels", "combined 3 rx 0 tx 0" },
        { "/run/ethtool/2/channels_max", "combined 4 rx 0 tx 0" },
        { "/etc/rtisold/profiles/few.ini",
                "[profile]\nrequire = net\n" REST
                "[net card]\nmatch = eth*\ncombined = 1\nrps = housekeeping\n" },
        { "/etc/rtisold/profiles/many.ini",
                "[profile]\nrequire = net\n" REST
                "[net card]\nmatch = eth*\ncombined = 4\nrps = keep_off_sets\nxps = set:rt\n" },
};

void card_build(Tree *tree) {
        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                tree_put(tree, files[i][0], files[i][1]);
}

static void queue_comes(Kfs *kfs, const char *kind, const char *file, unsigned queue, const char *mask) {
        _cleanup_free_ char *folder = NULL, *path = NULL;

        assert_int_equal(util_asprintf(&folder, QUEUES "/%s-%u", kind, queue), 0);
        assert_int_equal(util_asprintf(&path, "%s/%s", folder, file), 0);
        /* A receive queue that stays keeps its mask. */
        if (kfs_exists(kfs, path) && streq(kind, "rx"))
                return;
        (void) kfs_mkdir(kfs, folder);
        assert_int_equal(kfs_write(kfs, path, mask), 0);
}

static void queue_goes(Kfs *kfs, const char *kind, unsigned queue) {
        _cleanup_free_ char *folder = NULL;

        assert_int_equal(util_asprintf(&folder, QUEUES "/%s-%u", kind, queue), 0);
        (void) kfs_rmdir(kfs, folder);
}

void card_kernel(const char *root, const char *object, const char *value) {
        static const char *const chosen[CHANNELS_MAX] = { "1", "2", "4", "8" };
        _cleanup_kfs_ Kfs *kfs = NULL;
        unsigned channels;

        if (!streq(object, "net/2/channels") || sscanf(value, "combined %u", &channels) < 1)
                return;
        assert_int_equal(kfs_new(root, &kfs), 0);
        for (unsigned i = 0; i < CHANNELS_MAX; i++)
                if (i < channels) {
                        queue_comes(kfs, "rx", "rps_cpus", i, "0");
                        queue_comes(kfs, "tx", "xps_cpus", i, chosen[i]);
                } else {
                        queue_goes(kfs, "rx", i);
                        queue_goes(kfs, "tx", i);
                }
}
