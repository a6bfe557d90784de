/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <net/if.h>

#include "kfs-provider.h"
#include "net.h"
#include "providers.h"

#define NET "/sys/class/net"
#define STATE "/run/ethtool/%u/%s"

int net_channels_parse(const char *text, NetChannels *ret) {
        NetChannels channels;
        int end = 0;

        if (sscanf(text, "combined %u rx %u tx %u %n", &channels.combined, &channels.rx, &channels.tx,
                    &end) < 3 ||
                text[end])
                return -EINVAL;
        *ret = channels;
        return 0;
}

int net_channels_format(const NetChannels *channels, char **ret) {
        return util_asprintf(ret, "combined %u rx %u tx %u", channels->combined, channels->rx, channels->tx);
}

/* `net/INDEX/REST` */
static int split_object(const char *object, unsigned *ret_index, const char **ret_rest) {
        unsigned index;
        int end = 0;

        if (sscanf(object, "net/%u/%n", &index, &end) < 1 || !end)
                return -EINVAL;
        *ret_index = index;
        *ret_rest = object + end;
        return 0;
}

static bool is_state(const char *rest) {
        return streq(rest, "channels") || streq(rest, "channels_max") || streq(rest, "ethtool");
}

int net_provide_file(const char *object, char **ret) {
        const char *rest;
        unsigned index;
        int r = split_object(object, &index, &rest);

        if (r < 0 || !is_state(rest))
                return -EINVAL;
        return util_asprintf(ret, STATE, index, rest);
}

static bool has_index(Kfs *kfs, const char *device, unsigned index) {
        _cleanup_free_ char *path = NULL, *text = NULL;
        unsigned number;

        return util_asprintf(&path, NET "/%s/ifindex", device) >= 0 && kfs_peek(kfs, path, &text) >= 0 &&
                util_parse_unsigned(util_strip(text), &number) >= 0 && number == index;
}

/* The name that a device has now. */
static int device_name(Kfs *kfs, unsigned index, char **ret) {
        _cleanup_strv_ char **names = NULL;
        char name[IF_NAMESIZE];
        int r;

        if (kfs_is_live(kfs))
                return if_indextoname(index, name) ? util_copy(name, ret)
                                                   : (errno == ENXIO ? -ENODEV : -errno);
        r = kfs_list(kfs, NET, &names);
        if (r < 0)
                return r == -ENOENT ? -ENODEV : r;
        STRV_FOREACH (device, names)
                if (has_index(kfs, *device, index))
                        return util_copy(*device, ret);
        return -ENODEV;
}

/* Only the two masks, so that no name leads elsewhere. */
static int queue_file(Kfs *kfs, unsigned index, const char *rest, char **ret) {
        _cleanup_free_ char *device = NULL;
        unsigned queue;
        int end = 0, r;

        if ((sscanf(rest, "rx-%u/rps_cpus%n", &queue, &end) < 1 || !end || rest[end]) &&
                (sscanf(rest, "tx-%u/xps_cpus%n", &queue, &end) < 1 || !end || rest[end]))
                return -EINVAL;
        r = device_name(kfs, index, &device);
        return r ?: util_asprintf(ret, NET "/%s/queues/%s", device, rest);
}

static int state_read_live(unsigned index, const char *rest, char **ret) {
        NetChannels channels;
        int r;

        if (streq(rest, "ethtool")) {
                r = net_ethtool_probe();
                return r ?: util_copy("yes", ret);
        }
        r = net_ethtool_read(index, streq(rest, "channels_max"), &channels);
        return r ?: net_channels_format(&channels, ret);
}

/* A device without such a file has no channels. */
static int state_read(Kfs *kfs, const char *object, unsigned index, const char *rest, char **ret) {
        _cleanup_free_ char *path = NULL, *device = NULL;
        int r;

        if (kfs_is_live(kfs))
                return state_read_live(index, rest, ret);
        r = net_provide_file(object, &path);
        r = r ?: kfs_read(kfs, path, ret);
        if (r != -ENOENT || streq(rest, "ethtool"))
                return r;
        r = device_name(kfs, index, &device);
        return r ?: -EOPNOTSUPP;
}

static int net_provider_read(Kfs *kfs, void *userdata, const char *object, char **ret) {
        _cleanup_free_ char *path = NULL;
        const char *rest;
        unsigned index;
        int r = split_object(object, &index, &rest);

        if (r < 0)
                return r;
        if (is_state(rest))
                return state_read(kfs, object, index, rest, ret);
        r = queue_file(kfs, index, rest, &path);
        return r ?: kfs_read(kfs, path, ret);
}

/* A kernel's file is there or not; a root of files would make one. */
static int check_there(Kfs *kfs, const char *path) {
        _cleanup_free_ char *text = NULL;
        int r = kfs_peek(kfs, path, &text);

        return r < 0 ? r : 0;
}

static int channels_write(Kfs *kfs, const char *object, unsigned index, const char *value) {
        _cleanup_free_ char *path = NULL;
        NetChannels channels;
        int r = net_channels_parse(value, &channels);

        if (r < 0)
                return r;
        if (kfs_is_live(kfs))
                return net_ethtool_write(index, &channels);
        r = net_provide_file(object, &path);
        if (r >= 0 && check_there(kfs, path) == -ENOENT)
                r = -EOPNOTSUPP;
        return r ?: kfs_replace(kfs, path, value);
}

static int net_provider_write(Kfs *kfs, void *userdata, const char *object, const char *value) {
        _cleanup_free_ char *path = NULL;
        const char *rest;
        unsigned index;
        int r = split_object(object, &index, &rest);

        if (r < 0)
                return r;
        if (streq(rest, "channels"))
                return channels_write(kfs, object, index, value);
        if (is_state(rest))
                return -EACCES;
        r = queue_file(kfs, index, rest, &path);
        r = r ?: check_there(kfs, path);
        return r ?: kfs_poke(kfs, path, value);
}

int net_provide(Kfs *kfs) {
        static const KfsProvider provider = {
                .scheme = "net",
                .read = net_provider_read,
                .write = net_provider_write,
        };

        return kfs_provide(kfs, &provider, NULL);
}
