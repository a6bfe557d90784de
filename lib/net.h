/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "profile.h"
#include "world.h"

/* How many queues of each kind a network device serves, as `ethtool -l` has them; a combined channel is a receive and
 * a transmit queue with one interrupt. (Documentation/networking/ethtool-netlink.rst) */
typedef struct NetChannels {
        unsigned combined, rx, tx;
} NetChannels;

/* `combined 4 rx 0 tx 0`: what `ethtool -L DEVICE` takes. */
int net_channels_parse(const char *text, NetChannels *ret);
int net_channels_format(const NetChannels *channels, char **ret);

/* The counts of a device of this machine, or the most that it can have, by ethtool's netlink family. -EOPNOTSUPP where
 * its driver has none, -ENODEV where the device is gone, -EPROTONOSUPPORT where this kernel lacks the family. */
int net_ethtool_read(unsigned index, bool most, NetChannels *ret);
int net_ethtool_write(unsigned index, const NetChannels *channels);
/* Does this kernel have the family?  0, or an errno. */
int net_ethtool_probe(void);

/* The provider of these objects, where INDEX is the device's number (ifindex): it stays when the device is renamed.
 *
 *   net/INDEX/rx-N/rps_cpus   CPUs that packets of a receive queue are spread over
 *   net/INDEX/tx-N/xps_cpus   CPUs that send through a transmit queue
 *                             (Documentation/networking/scaling.rst)
 *   net/INDEX/channels        see above
 *   net/INDEX/channels_max    the most of each, never written
 *   net/0/ethtool             whether the kernel can be asked for channels
 *
 * -ENODEV where the device is gone, -ENOENT where the queue is not there. On a root that is only files the masks are
 * those of /sys/class/net there, and the rest is in /run/ethtool/INDEX. providers.h registers it.
 *
 * The file that holds such an object on such a root; -EINVAL for all that are files in /sys. */
int net_provide_file(const char *object, char **ret);

/* Reads the devices that the profile has a rule for into world->nets, and what the rules ask for into
 * world->values. */
int net_read(World *world, const Profile *profile);

/* The [net NAME] rule that a device falls under, or NULL. The last one counts: what a profile includes comes first. */
const ProfileNet *net_find_rule(const Profile *profile, const char *device);
/* Is one of the devices of world->nets under this rule? */
bool net_has_device(const Profile *profile, const World *world, const ProfileNet *rule);
/* The rule that a device falls under, where it says `cpus`, for an interrupt of a receive queue; else NULL. */
const ProfileNet *net_find_irq_rule(const Profile *profile, const World *world, const WorldIrq *irq);
