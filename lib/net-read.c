/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <strings.h>

#include "net.h"

#define NET "/sys/class/net"
#define VIRTIO "/sys/bus/virtio/devices"

void world_net_done(WorldNet *net) {
        free(net->name);
        free(net->bus);
        free(net->irqs);
}

const ProfileNet *net_find_rule(const Profile *profile, const char *device) {
        for (size_t i = profile->n_nets; i-- > 0;)
                if (profile_matches(profile->nets[i].match, device))
                        return &profile->nets[i];
        return NULL;
}

bool net_has_device(const Profile *profile, const World *world, const ProfileNet *rule) {
        for (size_t i = 0; i < world->n_nets; i++)
                if (net_find_rule(profile, world->nets[i].name) == rule)
                        return true;
        return false;
}

/* What is not there on this machine is an empty list. */
static int list_names(Kfs *kfs, const char *directory, char ***ret) {
        int r = kfs_list(kfs, directory, ret);

        return r == -ENOMEM ? r : 0;
}

static int count_queues(Kfs *kfs, WorldNet *net) {
        _cleanup_free_ char *directory = NULL;
        _cleanup_strv_ char **names = NULL;
        int r = util_asprintf(&directory, NET "/%s/queues", net->name);

        r = r ?: list_names(kfs, directory, &names);
        STRV_FOREACH (name, names) {
                net->n_rx += util_startswith(*name, "rx-") != NULL;
                net->n_tx += util_startswith(*name, "tx-") != NULL;
        }
        return r;
}

/* A device on the virtio bus has no interrupts of its own: those of its bus are named after its number there. */
static int find_bus(Kfs *kfs, WorldNet *net) {
        _cleanup_strv_ char **names = NULL;
        int r = list_names(kfs, VIRTIO, &names);

        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path = NULL;

                r = r ?: util_asprintf(&path, VIRTIO "/%s/net/%s", *name, net->name);
                if (r >= 0 && kfs_exists(kfs, path))
                        return util_copy(*name, &net->bus);
        }
        return r;
}

static int read_irqs(Kfs *kfs, WorldNet *net) {
        _cleanup_free_ char *directory = NULL;
        _cleanup_strv_ char **names = NULL;
        int r = util_asprintf(&directory, NET "/%s/device/msi_irqs", net->name);

        r = r ?: list_names(kfs, directory, &names);
        STRV_FOREACH (name, names) {
                unsigned irq;

                if (r < 0 || util_parse_unsigned(*name, &irq) < 0)
                        continue;
                r = GROW(net->irqs, net->n_irqs);
                if (r >= 0)
                        net->irqs[net->n_irqs++] = irq;
        }
        return r < 0 ? r : find_bus(kfs, net);
}

static bool asks_channels(const ProfileNet *rule) {
        return rule->combined != PROFILE_UNSET || rule->rx != PROFILE_UNSET || rule->tx != PROFILE_UNSET;
}

/* Where channels are set, all masks are looked at: queues that go lose them. */
static int read_values(World *world, const ProfileNet *rule, const WorldNet *net) {
        bool channels = asks_channels(rule);
        int r = 0;

        if (channels) {
                r = world_readf(world, "net/%u/channels", net->index);
                r = r ?: world_readf(world, "net/%u/channels_max", net->index);
        }
        for (unsigned i = 0; r >= 0 && (channels || rule->rps) && i < net->n_rx; i++)
                r = world_readf(world, "net/%u/rx-%u/rps_cpus", net->index, i);
        for (unsigned i = 0; r >= 0 && (channels || rule->xps) && i < net->n_tx; i++)
                r = world_readf(world, "net/%u/tx-%u/xps_cpus", net->index, i);
        return r;
}

/* A device may go while it is looked at. */
static int read_device(World *world, const ProfileNet *rule, const char *name) {
        _cleanup_free_ char *text = NULL;
        WorldNet net = {};
        int r = kfs_readf(world->kfs, &text, NET "/%s/ifindex", name);

        if (r < 0 || util_parse_unsigned(text, &net.index) < 0)
                return r == -ENOMEM ? r : 0;
        r = util_copy(name, &net.name);
        r = r ?: count_queues(world->kfs, &net);
        if (r >= 0 && rule->cpus)
                r = read_irqs(world->kfs, &net);
        r = r ?: read_values(world, rule, &net);
        r = r ?: GROW(world->nets, world->n_nets);
        if (r < 0) {
                world_net_done(&net);
                return r;
        }
        world->nets[world->n_nets++] = net;
        return 0;
}

int net_read(World *world, const Profile *profile) {
        _cleanup_strv_ char **names = NULL;
        int r;

        if (!profile || profile->n_nets == 0)
                return 0;
        r = list_names(world->kfs, NET, &names);
        STRV_FOREACH (name, names) {
                const ProfileNet *rule = net_find_rule(profile, *name);

                r = r ?: (rule ? read_device(world, rule, *name) : 0);
        }
        return r;
}

/* Interrupts */

static bool has_word(const char *name, const char *const *words) {
        for (; *words; words++)
                if (strcasestr(name, *words))
                        return true;
        return false;
}

/* `eth0`, `eth0-rx-3` and `virtio0-input.1`, of what a driver calls its interrupts. */
static const char *behind_device(const char *action, const char *device) {
        const char *rest = device ? util_startswith(action, device) : NULL;

        return rest && (*rest == '-' || !*rest) ? rest : NULL;
}

/* Of a device's interrupts those that tell of received packets; the others are for its administration, or for what
 * was sent. */
static bool is_receive_queue(const WorldNet *net, const char *action) {
        static const char *const words[] = { "rx", "input", "comp", "queue", NULL };

        return has_word(behind_device(action, net->name) ?: behind_device(action, net->bus) ?: action, words);
}

static bool belongs_to(const WorldNet *net, const WorldIrq *irq, const char *action) {
        for (size_t i = 0; i < net->n_irqs; i++)
                if (net->irqs[i] == irq->irq)
                        return true;
        return behind_device(action, net->name) || behind_device(action, net->bus);
}

static bool serves(const WorldNet *net, const WorldIrq *irq) {
        _cleanup_strv_ char **actions = NULL;

        if (util_strv_split(irq->name, ",", &actions) < 0)
                return false;
        STRV_FOREACH (action, actions)
                if (belongs_to(net, irq, util_strip(*action)) && is_receive_queue(net, util_strip(*action)))
                        return true;
        return false;
}

const ProfileNet *net_find_irq_rule(const Profile *profile, const World *world, const WorldIrq *irq) {
        for (size_t i = 0; i < world->n_nets; i++) {
                const ProfileNet *rule = net_find_rule(profile, world->nets[i].name);

                if (rule && rule->cpus && serves(&world->nets[i], irq))
                        return rule;
        }
        return NULL;
}
